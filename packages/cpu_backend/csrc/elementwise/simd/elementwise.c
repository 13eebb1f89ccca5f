/* The loops of the elementwise machine, for every operation and type of element; see ../elementwise.h.
 *
 * They are written for the compiler to vectorise. An operation that is missing in the table has no instruction.
 */
#include "elementwise/elementwise.h"
#include "copy/simd/permute_blocks.h"
#include "core/moved_bytes.h"
#include "core/simd/nan_rules.h"
#include "core/simd/pairs.h"
#include "elementwise/simd/exponential_types.h"
#include "elementwise/simd/complex_functions.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include <string.h>

#define NAME(f) SIMD_JOIN(f, SUFFIX)

/* Elements that are computed before it is asked whether one of them was beyond the formula. */
enum { FEW_AT_ONCE = 256 };

#define T float
#define SUFFIX f32
#define BITS uint32_t
#define FUNCTION(name) name##f
#include "elementwise/simd/elementwise_real_body.h"

#define T double
#define SUFFIX f64
#define BITS uint64_t
#define FUNCTION(name) name
#include "elementwise/simd/elementwise_real_body.h"

#define T float
#define SUFFIX c32
#define BITS uint32_t
#define FUNCTION(name) name##f
#define REAL_NAME(name) name##_f32
#include "elementwise/simd/elementwise_complex_body.h"

#define T double
#define SUFFIX c64
#define BITS uint64_t
#define FUNCTION(name) name
#define REAL_NAME(name) name##_f64
#include "elementwise/simd/elementwise_complex_body.h"

#define T int32_t
#define SUFFIX i32
#define WRAPPING uint32_t
#include "elementwise/simd/elementwise_integer_body.h"

#define T int64_t
#define SUFFIX i64
#define WRAPPING uint64_t
#include "elementwise/simd/elementwise_integer_body.h"

#define T uint8_t
#define SUFFIX truth
#include "elementwise/simd/elementwise_bool_body.h"

#if defined(__AVX512F__)
static inline Index choose_fours(uint32_t *d, const uint8_t *a, const uint32_t *b, const uint32_t *c, Index n) {
    Index i = 0;
    for (; i + 16 <= n; i += 16) {
        const __m128i chosen = _mm_loadu_si128((const void *)(a + i));
        const __m512i others = _mm512_loadu_si512(c + i);
        _mm512_storeu_si512(d + i, _mm512_mask_loadu_epi32(others, _mm_test_epi8_mask(chosen, chosen), b + i));
    }
    return i;
}

static inline Index choose_eights(uint64_t *d, const uint8_t *a, const uint64_t *b, const uint64_t *c, Index n) {
    Index i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m128i chosen = _mm_loadl_epi64((const void *)(a + i));
        const __m512i others = _mm512_loadu_si512(c + i);
        const __mmask8 mask = (__mmask8)_mm_test_epi8_mask(chosen, chosen);
        _mm512_storeu_si512(d + i, _mm512_mask_loadu_epi64(others, mask, b + i));
    }
    return i;
}
#define CHOOSE_FOURS choose_fours
#define CHOOSE_EIGHTS choose_eights
#else
#define CHOOSE_FOURS(d, a, b, c, n) 0
#define CHOOSE_EIGHTS(d, a, b, c, n) 0
#endif

#define T uint8_t
#define SUFFIX 1
#include "elementwise/simd/elementwise_where.h"
#define T uint32_t
#define SUFFIX 4
#define CHOOSE CHOOSE_FOURS
#include "elementwise/simd/elementwise_where.h"
#define T uint64_t
#define SUFFIX 8
#define CHOOSE CHOOSE_EIGHTS
#include "elementwise/simd/elementwise_where.h"
#define T Pair
#define SUFFIX 16
#include "elementwise/simd/elementwise_where.h"

#define T float
#define SUFFIX f32
#include "elementwise/simd/elementwise_convert_body.h"
#define T double
#define SUFFIX f64
#include "elementwise/simd/elementwise_convert_body.h"
#define T int32_t
#define SUFFIX i32
#include "elementwise/simd/elementwise_convert_body.h"
#define T int64_t
#define SUFFIX i64
#include "elementwise/simd/elementwise_convert_body.h"
#define T uint8_t
#define SUFFIX truth
#define VALUE(x) ((x) != 0)
#include "elementwise/simd/elementwise_convert_body.h"

static void widen_i32(Index n, void *result, const void *first, const void *second, Third third) {
    int64_t *d = result;
    const int32_t *a = first;
    (void)second, (void)third;
    for (Index i = 0; i < n; i++) d[i] = a[i];
}

static void bool_to_i32(Index n, void *result, const void *first, const void *second, Third third) {
    int32_t *d = result;
    const uint8_t *a = first;
    (void)second, (void)third;
    for (Index i = 0; i < n; i++) d[i] = a[i] != 0;
}

static void bool_to_i64(Index n, void *result, const void *first, const void *second, Third third) {
    int64_t *d = result;
    const uint8_t *a = first;
    (void)second, (void)third;
    for (Index i = 0; i < n; i++) d[i] = a[i] != 0;
}

static void c32_to_c64(Index n, void *result, const void *first, const void *second, Third third) {
    to_f64_f32(2 * n, result, first, second, third);
}

static void c64_to_c32(Index n, void *result, const void *first, const void *second, Third third) {
    to_f32_f64(2 * n, result, first, second, third);
}

static void c32_to_bool(Index n, void *result, const void *first, const void *second, Third third) {
    uint8_t *d = result;
    const float *a = first;
    (void)second, (void)third;
    for (Index i = 0; i < n; i++) d[i] = (a[2 * i] != 0) | (a[2 * i + 1] != 0);
}

static void c64_to_bool(Index n, void *result, const void *first, const void *second, Third third) {
    uint8_t *d = result;
    const double *a = first;
    (void)second, (void)third;
    for (Index i = 0; i < n; i++) d[i] = (a[2 * i] != 0) | (a[2 * i + 1] != 0);
}

static void same_1(Index n, void *result, const void *first, const void *second, Third third) {
    (void)second, (void)third;
    move_bytes(result, first, (size_t)n);
}

static void same_4(Index n, void *result, const void *first, const void *second, Third third) {
    same_1(4 * n, result, first, second, third);
}

static void same_8(Index n, void *result, const void *first, const void *second, Third third) {
    same_1(8 * n, result, first, second, third);
}

static void same_16(Index n, void *result, const void *first, const void *second, Third third) {
    same_1(16 * n, result, first, second, third);
}

#if defined(__AVX512F__)
/* The processor's own square root takes eight times as long as a product. Newton's method from an estimate of 14 bits
 * gives the same number: the last step, a product and a remainder that are rounded once, rounds correctly (Peter Markstein,
 * Computation of elementary functions on the IBM RISC System/6000 processor, IBM Journal of Research and Development 34,
 * 1990). What lies far from 1, and zeros, infinities and NaN, are left to the processor. */
static void roots_f64(Index n, void *result, const void *first, const void *second, Third third) {
    double *d = result;
    const double *a = first;
    const __m512d half = _mm512_set1_pd(0.5);
    Index i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m512d x = _mm512_loadu_pd(a + i);
        const __mmask8 ordinary = _mm512_cmp_pd_mask(x, _mm512_set1_pd(0x1p-960), _CMP_GT_OQ) &
                                  _mm512_cmp_pd_mask(x, _mm512_set1_pd(0x1p960), _CMP_LT_OQ);
        if (ordinary != 0xff) {
            _mm512_storeu_pd(d + i, _mm512_sqrt_pd(x));
            continue;
        }
        const __m512d estimate = _mm512_rsqrt14_pd(x);
        __m512d root = _mm512_mul_pd(x, estimate), inverse = _mm512_mul_pd(estimate, half), rest;
        for (int step = 0; step < 2; step++) {
            rest = _mm512_fnmadd_pd(inverse, root, half);
            root = _mm512_fmadd_pd(root, rest, root);
            inverse = _mm512_fmadd_pd(inverse, rest, inverse);
        }
        rest = _mm512_fnmadd_pd(root, root, x);
        _mm512_storeu_pd(d + i, _mm512_fmadd_pd(rest, inverse, root));
    }
    sqrt_f64(n - i, d + i, a + i, second, third);
}

/* One step less; tried on every mantissa with an even and an odd exponent. */
static void roots_f32(Index n, void *result, const void *first, const void *second, Third third) {
    float *d = result;
    const float *a = first;
    const __m512 half = _mm512_set1_ps(0.5f);
    Index i = 0;
    for (; i + 16 <= n; i += 16) {
        const __m512 x = _mm512_loadu_ps(a + i);
        const __mmask16 ordinary = _mm512_cmp_ps_mask(x, _mm512_set1_ps(0x1p-90f), _CMP_GT_OQ) &
                                   _mm512_cmp_ps_mask(x, _mm512_set1_ps(0x1p90f), _CMP_LT_OQ);
        if (ordinary != 0xffff) {
            _mm512_storeu_ps(d + i, _mm512_sqrt_ps(x));
            continue;
        }
        const __m512 estimate = _mm512_rsqrt14_ps(x);
        __m512 root = _mm512_mul_ps(x, estimate), inverse = _mm512_mul_ps(estimate, half);
        const __m512 step = _mm512_fnmadd_ps(inverse, root, half);
        root = _mm512_fmadd_ps(root, step, root);
        inverse = _mm512_fmadd_ps(inverse, step, inverse);
        const __m512 rest = _mm512_fnmadd_ps(root, root, x);
        _mm512_storeu_ps(d + i, _mm512_fmadd_ps(rest, inverse, root));
    }
    sqrt_f32(n - i, d + i, a + i, second, third);
}
#else
#define roots_f32 sqrt_f32
#define roots_f64 sqrt_f64
#endif

#include "elementwise/simd/elementwise_magnitudes.h"

#define T float
#define SUFFIX f32
#include "elementwise/simd/elementwise_rows.h"
#define T double
#define SUFFIX f64
#include "elementwise/simd/elementwise_rows.h"

#include "elementwise/simd/elementwise_strided.h"
#define STEPS(name) {name##_steps_f32, name##_steps_f64, NULL, NULL, name##_steps_i32, name##_steps_i64}
#define TURNED(first, second)                                                                                          \
    {first##_turned_f32, second##_turned_f32}, { first##_turned_f64, second##_turned_f64 }
#define TURNED_PAIRS(first, second)                                                                                    \
    {first##_turned_c32, second##_turned_c32}, { first##_turned_c64, second##_turned_c64 }

#define ROWS(first, second)                                                                                            \
    {first##_rows_f32, second##_rows_f32}, { first##_rows_f64, second##_rows_f64 }
#if defined(__AVX512F__)
#include "elementwise/simd/elementwise_masks.h"
#define TRUE_ROWS(first, second)                                                                                       \
    {first##_rows_masks_f32, second##_rows_masks_f32}, { first##_rows_masks_f64, second##_rows_masks_f64 }
#define TRUTHS(name, type) name##_masks_##type
#else
#define TRUE_ROWS ROWS
#define TRUTHS(name, type) name##_##type
#endif

COMPLEX_LOOP(sqrt_c32, float, sqrt_parts, SQRT_ORDINARY, csqrt)
COMPLEX_LOOP(sqrt_c64, double, sqrt_parts, SQRT_ORDINARY, csqrt)

const ElementwiseKernels SIMD_NAME(elementwise_kernels) = {
    .rows = {[ADD] = {ROWS(add, add)},
             [SUBTRACT] = {ROWS(subtract_from, subtract)},
             [MULTIPLY] = {ROWS(multiply, multiply)},
             [DIVIDE] = {ROWS(divide_by, divide)},
             [EQUAL] = {TRUE_ROWS(equal, equal)},
             [NOT_EQUAL] = {TRUE_ROWS(not_equal, not_equal)},
             [LESS] = {TRUE_ROWS(greater, less)},
             [LESS_EQUAL] = {TRUE_ROWS(greater_equal, less_equal)},
             [GREATER] = {TRUE_ROWS(less, greater)},
             [GREATER_EQUAL] = {TRUE_ROWS(less_equal, greater_equal)}},
    .turned = {[ADD] = {TURNED(add, add), TURNED_PAIRS(add, add)},
               [SUBTRACT] = {TURNED(subtract, subtract_from), TURNED_PAIRS(subtract, subtract_from)},
               [MULTIPLY] = {TURNED(multiply, multiply), TURNED_PAIRS(multiply, multiply)},
               [DIVIDE] = {TURNED(divide, divide_by)}},
    .steps = {[ADD] = STEPS(add),
              [SUBTRACT] = STEPS(subtract),
              [MULTIPLY] = STEPS(multiply),
              [DIVIDE] = {divide_steps_f32, divide_steps_f64}},
    .loops = {
        [ADD] = {add_f32, add_f64, add_c32, add_c64, add_i32, add_i64, bitwise_or_truth},
        [SUBTRACT] = {subtract_f32, subtract_f64, subtract_c32, subtract_c64, subtract_i32, subtract_i64},
        [MULTIPLY] = {multiply_f32, multiply_f64, multiply_c32, multiply_c64, multiply_i32, multiply_i64,
                      bitwise_and_truth},
        [DIVIDE] = {divide_f32, divide_f64, divide_c32, divide_c64},
        [FLOOR_DIVIDE] = {floor_divide_f32, floor_divide_f64},
        [REMAINDER] = {remainder_f32, remainder_f64},
        [FMOD] = {fmod_f32, fmod_f64},
        [HYPOT] = {hypot_f32, hypot_f64},
        [COPYSIGN] = {copysign_f32, copysign_f64},
        [NEXTAFTER] = {nextafter_f32, nextafter_f64},
        [MAXIMUM] = {[F32] = maximum_f32,
                     [F64] = maximum_f64,
                     [I32] = maximum_i32,
                     [I64] = maximum_i64,
                     [BOOL] = bitwise_or_truth},
        [MINIMUM] = {[F32] = minimum_f32,
                     [F64] = minimum_f64,
                     [I32] = minimum_i32,
                     [I64] = minimum_i64,
                     [BOOL] = bitwise_and_truth},
        [CLIP] = {[F32] = clip_f32, [F64] = clip_f64, [I32] = clip_i32, [I64] = clip_i64},
        [NEAR] = {[F32] = TRUTHS(near, f32), [F64] = TRUTHS(near, f64)},
        [EQUAL] = {TRUTHS(equal, f32), TRUTHS(equal, f64), equal_c32, equal_c64, equal_i32, equal_i64, equal_truth},
        [NOT_EQUAL] = {TRUTHS(not_equal, f32), TRUTHS(not_equal, f64), not_equal_c32, not_equal_c64, not_equal_i32,
                       not_equal_i64, bitwise_xor_truth},
        [LESS] = {[F32] = TRUTHS(less, f32),
                  [F64] = TRUTHS(less, f64),
                  [I32] = less_i32,
                  [I64] = less_i64,
                  [BOOL] = less_truth},
        [LESS_EQUAL] = {[F32] = TRUTHS(less_equal, f32),
                        [F64] = TRUTHS(less_equal, f64),
                        [I32] = less_equal_i32,
                        [I64] = less_equal_i64,
                        [BOOL] = less_equal_truth},
        [GREATER] = {[F32] = TRUTHS(greater, f32),
                     [F64] = TRUTHS(greater, f64),
                     [I32] = greater_i32,
                     [I64] = greater_i64,
                     [BOOL] = greater_truth},
        [GREATER_EQUAL] = {[F32] = TRUTHS(greater_equal, f32),
                           [F64] = TRUTHS(greater_equal, f64),
                           [I32] = greater_equal_i32,
                           [I64] = greater_equal_i64,
                           [BOOL] = greater_equal_truth},
        [LOGICAL_AND] = {[BOOL] = bitwise_and_truth},
        [LOGICAL_OR] = {[BOOL] = bitwise_or_truth},
        [LOGICAL_XOR] = {[BOOL] = bitwise_xor_truth},
        [BITWISE_AND] = {[I32] = bitwise_and_i32, [I64] = bitwise_and_i64, [BOOL] = bitwise_and_truth},
        [BITWISE_OR] = {[I32] = bitwise_or_i32, [I64] = bitwise_or_i64, [BOOL] = bitwise_or_truth},
        [BITWISE_XOR] = {[I32] = bitwise_xor_i32, [I64] = bitwise_xor_i64, [BOOL] = bitwise_xor_truth},
        [LEFT_SHIFT] = {[I32] = left_shift_i32, [I64] = left_shift_i64},
        [RIGHT_SHIFT] = {[I32] = right_shift_i32, [I64] = right_shift_i64},
        [WHERE] = {where_4, where_8, where_8, where_16, where_4, where_8, where_1},
        [NEGATIVE] = {negative_f32, negative_f64, negative_c32, negative_c64, negative_i32, negative_i64},
        [ABSOLUTE] = {absolute_f32, absolute_f64, absolute_c32, absolute_c64, absolute_i32, absolute_i64},
        [CONJUGATE] = {same_4, same_8, conjugate_c32, conjugate_c64, same_4, same_8},
        [SIGN] = {[F32] = sign_f32, [F64] = sign_f64, [I32] = sign_i32, [I64] = sign_i64},
        [LOGICAL_NOT] = {[BOOL] = invert_truth},
        [INVERT] = {[I32] = invert_i32, [I64] = invert_i64, [BOOL] = invert_truth},
        [SQRT] = {roots_f32, roots_f64, sqrt_c32, sqrt_c64},
        [CUBE] = {cube_f32, cube_f64},
        [HALF_POWER] = {half_powers_f32, half_powers_f64},
        [LOGISTIC] = {logistic_loop_f32, logistic_loop_f64},
        [SILU] = {silu_f32, silu_f64},
        [GELU_TANH] = {gelu_tanh_f32, gelu_tanh_f64},
        [FLOOR] = {floor_f32, floor_f64},
        [CEIL] = {ceil_f32, ceil_f64},
        [TRUNC] = {trunc_f32, trunc_f64},
        [ROUND] = {round_f32, round_f64},
        [ISNAN] = {isnan_f32, isnan_f64, isnan_c32, isnan_c64},
        [ISINF] = {isinf_f32, isinf_f64, isinf_c32, isinf_c64},
        [ISFINITE] = {isfinite_f32, isfinite_f64, isfinite_c32, isfinite_c64},
        [REAL_PART] = {[C32] = real_part_c32, [C64] = real_part_c64},
        [IMAGINARY_PART] = {[C32] = imaginary_part_c32, [C64] = imaginary_part_c64},
        [JOIN_PARTS] = {[F32] = join_parts_c32, [F64] = join_parts_c64},
        [TO_F32] =
            {[F32] = to_f32_f32, [F64] = to_f32_f64, [I32] = to_f32_i32, [I64] = to_f32_i64, [BOOL] = to_f32_truth},
        [TO_F64] =
            {[F32] = to_f64_f32, [F64] = to_f64_f64, [I32] = to_f64_i32, [I64] = to_f64_i64, [BOOL] = to_f64_truth},
        [TO_C32] = {to_c32_f32, to_c32_f64, same_8, c64_to_c32, to_c32_i32, to_c32_i64, to_c32_truth},
        [TO_C64] = {to_c64_f32, to_c64_f64, c32_to_c64, same_16, to_c64_i32, to_c64_i64, to_c64_truth},
        [TO_I32] = {[I32] = same_4, [BOOL] = bool_to_i32},
        [TO_I64] = {[I32] = widen_i32, [I64] = same_8, [BOOL] = bool_to_i64},
        [TO_BOOL] = {to_bool_f32, to_bool_f64, c32_to_bool, c64_to_bool, to_bool_i32, to_bool_i64, to_bool_truth},
    }};
