/* Conversions between element types that are defined for every value: C's own, which are NumPy's.
 *
 * Towards a float type they round to nearest, towards a real one they drop the imaginary part, and Bool is whether the
 * value differs from zero. Conversions to integers that may not fit say whether all did.
 */
#include "copy/convert.h"

#include <complex.h>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#define FROM float
#define NAME(to) f32_to_##to
#define FLOATING_ONLY
#include "copy/simd/convert_body.h"

#define FROM double
#define NAME(to) f64_to_##to
#define FLOATING_ONLY
#include "copy/simd/convert_body.h"

#define FROM float _Complex
#define PARTS float
#define NAME(to) c32_to_##to
#define FLOATING_ONLY
#include "copy/simd/convert_body.h"

#define FROM double _Complex
#define PARTS double
#define NAME(to) c64_to_##to
#define FLOATING_ONLY
#include "copy/simd/convert_body.h"

#define FROM int32_t
#define NAME(to) i32_to_##to
#include "copy/simd/convert_body.h"

#define FROM int64_t
#define NAME(to) i64_to_##to
#include "copy/simd/convert_body.h"

#define FROM uint8_t /* a Bool: true is whatever is not 0 */
#define VALUE(x) ((x) != 0)
#define NAME(to) bool_to_##to
#include "copy/simd/convert_body.h"

/* Values v with LOW <= v < END have an integer part that fits; so nearly all do, and one that does not is 0 here, which
 * C can convert. */
#define CHECKED(name, FROM, TO, FLAG, PARTS, LOW, END)                                                                 \
    static bool name(const void *source, void *target, Index count) {                                                  \
        const FROM *from = source;                                                                                     \
        TO *to = target;                                                                                               \
        FLAG outside = 0;                                                                                              \
        INDEPENDENT                                                                                                    \
        for (Index k = 0; k < count; k++) {                                                                            \
            const FROM value = from[PARTS * k];                                                                        \
            const bool fits = value >= (LOW) && value < (END);                                                         \
            outside |= (FLAG)!fits;                                                                                    \
            to[k] = (TO)(fits ? value : 0);                                                                            \
        }                                                                                                              \
        return outside == 0;                                                                                           \
    }
#define BEYOND_I32 (-0x1.00000001fffffp31) /* the last number of F64 above -2^31 - 1 */
CHECKED(f32_checked_i32, float, int32_t, int32_t, 1, -0x1p31f, 0x1p31f)
CHECKED(f32_checked_i64, float, int64_t, int64_t, 1, -0x1p63f, 0x1p63f)
CHECKED(f64_checked_i32, double, int32_t, int32_t, 1, BEYOND_I32, 0x1p31)
CHECKED(f64_checked_i64, double, int64_t, int64_t, 1, -0x1p63, 0x1p63)

#if defined(__AVX512F__)
/* Where no magnitude reaches 2^31, or 2^63, all fit: the greatest one is that of the greatest bits without the sign, NaN
 * and infinities being greater than any. Else all are looked at one by one. Two comparisons of each vector took a seventh
 * longer. */
#define CHECKED_VECTORS(name, one_by_one, FROM, TO, LANES, epi, epu, ps, CONVERT_AND_STORE, END)                       \
    static bool name(const void *source, void *target, Index count) {                                                  \
        const FROM *from = source;                                                                                     \
        TO *to = target;                                                                                               \
        __m512i greatest = _mm512_setzero_si512();                                                                     \
        Index left = count;                                                                                            \
        for (; left >= (LANES); left -= (LANES), from += (LANES), to += (LANES)) {                                     \
            const __auto_type values = _mm512_loadu_##ps(from);                                                        \
            greatest = _mm512_max_##epu(greatest, _mm512_slli_##epi(BITS_OF_##ps(values), 1));                         \
            CONVERT_AND_STORE;                                                                                         \
        }                                                                                                              \
        const __m512i end = _mm512_slli_##epi(BITS_OF_##ps(_mm512_set1_##ps(END)), 1);                                 \
        if (_mm512_cmpge_##epu##_mask(greatest, end) != 0) return one_by_one(source, target, count);                   \
        return one_by_one(from, to, left);                                                                             \
    }
#define BITS_OF_ps _mm512_castps_si512
#define BITS_OF_pd _mm512_castpd_si512
CHECKED_VECTORS(f32_vectors_i32, f32_checked_i32, float, int32_t, 16, epi32, epu32, ps,
                _mm512_storeu_si512(to, _mm512_cvttps_epi32(values)), 0x1p31f)
CHECKED_VECTORS(f64_vectors_i32, f64_checked_i32, double, int32_t, 8, epi64, epu64, pd,
                _mm256_storeu_si256((void *)to, _mm512_cvttpd_epi32(values)), 0x1p31)
CHECKED_VECTORS(f64_vectors_i64, f64_checked_i64, double, int64_t, 8, epi64, epu64, pd,
                _mm512_storeu_si512(to, _mm512_cvttpd_epi64(values)), 0x1p63)
#else
#define f32_vectors_i32 f32_checked_i32
#define f64_vectors_i32 f64_checked_i32
#define f64_vectors_i64 f64_checked_i64
#endif

CHECKED(c32_checked_i32, float, int32_t, int32_t, 2, -0x1p31f, 0x1p31f)
CHECKED(c32_checked_i64, float, int64_t, int64_t, 2, -0x1p63f, 0x1p63f)
CHECKED(c64_checked_i32, double, int32_t, int32_t, 2, BEYOND_I32, 0x1p31)
CHECKED(c64_checked_i64, double, int64_t, int64_t, 2, -0x1p63, 0x1p63)
CHECKED(i64_checked_i32, int64_t, int32_t, int64_t, 1, INT32_MIN, (int64_t)INT32_MAX + 1)

const ConvertKernels SIMD_NAME(convert_kernels) = {
    .loop =
        {
            [F32] = {[F64] = f32_to_f64, [C32] = f32_to_c32, [C64] = f32_to_c64, [BOOL] = f32_to_bool},
            [F64] = {[F32] = f64_to_f32, [C32] = f64_to_c32, [C64] = f64_to_c64, [BOOL] = f64_to_bool},
            [C32] = {[F32] = c32_to_f32, [F64] = c32_to_f64, [C64] = c32_to_c64, [BOOL] = c32_to_bool},
            [C64] = {[F32] = c64_to_f32, [F64] = c64_to_f64, [C32] = c64_to_c32, [BOOL] = c64_to_bool},
            [I32] = {[F32] = i32_to_f32,
                     [F64] = i32_to_f64,
                     [C32] = i32_to_c32,
                     [C64] = i32_to_c64,
                     [I64] = i32_to_i64,
                     [BOOL] = i32_to_bool},
            [I64] =
                {[F32] = i64_to_f32, [F64] = i64_to_f64, [C32] = i64_to_c32, [C64] = i64_to_c64, [BOOL] = i64_to_bool},
            [BOOL] = {[F32] = bool_to_f32,
                      [F64] = bool_to_f64,
                      [C32] = bool_to_c32,
                      [C64] = bool_to_c64,
                      [I32] = bool_to_i32,
                      [I64] = bool_to_i64},
        },
    .checked =
        {
            [F32] = {[I32] = f32_vectors_i32, [I64] = f32_checked_i64},
            [F64] = {[I32] = f64_vectors_i32, [I64] = f64_vectors_i64},
            [C32] = {[I32] = c32_checked_i32, [I64] = c32_checked_i64},
            [C64] = {[I32] = c64_checked_i32, [I64] = c64_checked_i64},
            [I64] = {[I32] = i64_checked_i32},
        },
};
