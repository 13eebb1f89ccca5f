/* The loops of reductions, for the compiler to vectorise along a row; see ../reduce.h.
 *
 * NaN is propagated by largest and least, as in NumPy (nan_rules.h).
 */
#include "reduction/reduce.h"
#include "core/simd/nan_rules.h"
#include "core/simd/pairs.h"

#include <string.h>
#if defined(__AVX512F__)
#include <immintrin.h>

typedef __m512 VectorOf_ps;
typedef __m512d VectorOf_pd;
typedef __mmask16 MaskOf_ps;
typedef __mmask8 MaskOf_pd;
#endif

/* Half a cache line, also where registers are larger: operands are rarely aligned to lines, and half as many of these
 * loads straddle two (measured over 216 MB with AVX-512: 9 % faster). */
typedef float Floats __attribute__((vector_size(32)));
typedef double Doubles __attribute__((vector_size(32)));
typedef uint64_t Wholes __attribute__((vector_size(32)));

#define S float
#define SUFFIX f32
#define LETTERS ps
#define A float
#define WIDE float
#define LANES Floats
#define LARGER max_propagate_nan_f32(y, x)
#define SMALLER min_propagate_nan_f32(y, x)
#include "reduction/simd/reduce_types.h"

#define S double
#define SUFFIX f64
#define LETTERS pd
#define A double
#define WIDE double
#define LANES Doubles
#define LARGER max_propagate_nan_f64(y, x)
#define SMALLER min_propagate_nan_f64(y, x)
#include "reduction/simd/reduce_types.h"

#define S int32_t
#define SUFFIX i32
#define A int64_t
#define WIDE uint64_t
#define LARGER x > y ? x : y
#define SMALLER x < y ? x : y
#include "reduction/simd/reduce_types.h"

#define S int64_t
#define SUFFIX i64
#define A int64_t
#define WIDE uint64_t
#define LANES Wholes
#define LARGER x > y ? x : y
#define SMALLER x < y ? x : y
#include "reduction/simd/reduce_types.h"

/* How many of at most MOST_IN_LINE elements are true, counted in the bytes of vectors. */
static Index trues(Index count, const uint8_t *a) {
    typedef uint8_t Bytes __attribute__((vector_size(32)));
    typedef uint64_t Words __attribute__((vector_size(32)));
    enum { WIDTH = sizeof(Bytes), WORDS = WIDTH / sizeof(uint64_t) };
    _Static_assert(MOST_IN_LINE / (2 * WIDTH) <= UINT8_MAX, "a byte counts those of one lane");
    Bytes held[2] = {{0}, {0}};
    Index i = 0, found = 0;
    for (; i + 2 * WIDTH <= count; i += 2 * WIDTH)
        for (int k = 0; k < 2; k++) {
            Bytes x;
            memcpy(&x, a + i + k * WIDTH, sizeof x);
            held[k] -= (Bytes)(x != 0); /* all ones, which is -1, where it is true */
        }
    for (int k = 0; k < 2; k++) {
        const Words bytes = (Words)held[k];
        const Words pairs = (bytes & 0x00ff00ff00ff00ff) + (bytes >> 8 & 0x00ff00ff00ff00ff);
        for (int j = 0; j < WORDS; j++) found += (Index)(pairs[j] * 0x0001000100010001 >> 48);
    }
    for (; i < count; i++) found += a[i] != 0;
    return found;
}

#define LINE_OF_TRUTH(name, A, FOUND)                                                                                  \
    static void line_##name##_truth(Index count, const void *source, void *fold) {                                     \
        const A found = (A)(FOUND);                                                                                    \
        memcpy(fold, &found, sizeof found);                                                                            \
    }
LINE_OF_TRUTH(sum, int64_t, trues(count, source))
LINE_OF_TRUTH(product, int64_t, trues(count, source) == count)
LINE_OF_TRUTH(largest, uint8_t, trues(count, source) > 0)
LINE_OF_TRUTH(least, uint8_t, trues(count, source) == count)
#undef LINE_OF_TRUTH

#define S uint8_t /* true is whatever is not 0 */
#define SUFFIX truth
#define VALUE(x) ((x) != 0)
#define A int64_t
#define WIDE uint64_t
#define LARGER x | y
#define SMALLER x &y
#define OWN_LINES
#include "reduction/simd/reduce_types.h"
#undef OWN_LINES

/* Products of complex elements; their sums are those of the parts. */
#define OF_VECTORS
#define NAME(f) SIMD_JOIN(f, SIMD_JOIN(FOLD, SUFFIX))
#define VALUE(x) (x)
#define S PairF32
#define A PairF32
#define WRAPPING PairF32
#define LANES PairsF32
#define SUFFIX c32
#define FOLD product
#define JOIN PAIR_PRODUCT(y, x)
#include "reduction/simd/reduce_body.h"
#undef S
#undef A
#undef WRAPPING
#undef LANES
#undef SUFFIX

#define S PairF64
#define A PairF64
#define WRAPPING PairF64
#define LANES PairsF64
#define SUFFIX c64
#define FOLD product
#define JOIN PAIR_PRODUCT(y, x)
#include "reduction/simd/reduce_body.h"
#undef S
#undef A
#undef WRAPPING
#undef LANES
#undef SUFFIX
#undef OF_VECTORS
#undef VALUE
#undef NAME

#define LOOPS(fold, suffix)                                                                                            \
    rows_##fold##_##suffix, join_##fold##_##suffix, parts_##fold##_##suffix, line_##fold##_##suffix
#define LOOPS_APART(fold, suffix) LOOPS(fold, suffix), line_apart_##fold##_##suffix

const ReduceKernels SIMD_NAME(reduce_kernels) = {
    .loops[SUM][F32] = {LOOPS_APART(sum, f32)},
    .loops[SUM][F64] = {LOOPS_APART(sum, f64)},
    .loops[SUM][I32] = {LOOPS(sum, i32)},
    .loops[SUM][I64] = {LOOPS_APART(sum, i64)},
    .loops[SUM][BOOL] = {LOOPS(sum, truth)},
    .loops[PRODUCT][F32] = {LOOPS_APART(product, f32)},
    .loops[PRODUCT][F64] = {LOOPS_APART(product, f64)},
    .loops[PRODUCT][C32] = {LOOPS_APART(product, c32)},
    .loops[PRODUCT][C64] = {LOOPS_APART(product, c64)},
    .loops[PRODUCT][I32] = {LOOPS(product, i32)},
    .loops[PRODUCT][I64] = {LOOPS_APART(product, i64)},
    .loops[PRODUCT][BOOL] = {LOOPS(product, truth)},
    .loops[LARGEST][F32] = {LOOPS(largest, f32)},
    .loops[LARGEST][F64] = {LOOPS(largest, f64)},
    .loops[LARGEST][I32] = {LOOPS(largest, i32)},
    .loops[LARGEST][I64] = {LOOPS(largest, i64)},
    .loops[LARGEST][BOOL] = {LOOPS(largest, truth)},
    .loops[LEAST][F32] = {LOOPS(least, f32)},
    .loops[LEAST][F64] = {LOOPS(least, f64)},
    .loops[LEAST][I32] = {LOOPS(least, i32)},
    .loops[LEAST][I64] = {LOOPS(least, i64)},
    .loops[LEAST][BOOL] = {LOOPS(least, truth)},
};
