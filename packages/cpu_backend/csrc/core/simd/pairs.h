/* Complex elements as vectors of their two parts, unaligned but to a part, and their products. */
#ifndef TENSOR_CPU_SIMD_PAIRS_H
#define TENSOR_CPU_SIMD_PAIRS_H

#include <stdint.h>

typedef float PairF32 __attribute__((vector_size(8), aligned(4), may_alias));
typedef double PairF64 __attribute__((vector_size(16), aligned(8), may_alias));
typedef float PairsF32 __attribute__((vector_size(32)));
typedef double PairsF64 __attribute__((vector_size(32)));

/* x y, of vectors whose real parts twice, whose imaginary parts twice, whose parts exchanged and whose signs of what is
 * subtracted are given. Of a product of many, y is the one of all before it, which is ready sooner so. */
#define PRODUCT_OF_PAIRS(name, Vector, Word, REAL, IMAGINARY, EXCHANGED, SIGNS)                                        \
    static inline Vector name(Vector x, Vector y) {                                                                    \
        typedef Word Words __attribute__((vector_size(sizeof(Vector))));                                               \
        const Vector real = REAL, imaginary = IMAGINARY, exchanged = EXCHANGED;                                        \
        const Words signs = SIGNS;                                                                                     \
        return real * y + (Vector)((Words)imaginary ^ signs) * exchanged;                                              \
    }
#define LIST(...) {__VA_ARGS__}
PRODUCT_OF_PAIRS(product_of_pair_f32, PairF32, int32_t, LIST(x[0], x[0]), LIST(x[1], x[1]), LIST(y[1], y[0]),
                 LIST(INT32_MIN, 0))
PRODUCT_OF_PAIRS(product_of_pair_f64, PairF64, int64_t, LIST(x[0], x[0]), LIST(x[1], x[1]), LIST(y[1], y[0]),
                 LIST(INT64_MIN, 0))
PRODUCT_OF_PAIRS(product_of_pairs_f32, PairsF32, int32_t, LIST(x[0], x[0], x[2], x[2], x[4], x[4], x[6], x[6]),
                 LIST(x[1], x[1], x[3], x[3], x[5], x[5], x[7], x[7]),
                 LIST(y[1], y[0], y[3], y[2], y[5], y[4], y[7], y[6]),
                 LIST(INT32_MIN, 0, INT32_MIN, 0, INT32_MIN, 0, INT32_MIN, 0))
PRODUCT_OF_PAIRS(product_of_pairs_f64, PairsF64, int64_t, LIST(x[0], x[0], x[2], x[2]), LIST(x[1], x[1], x[3], x[3]),
                 LIST(y[1], y[0], y[3], y[2]), LIST(INT64_MIN, 0, INT64_MIN, 0))
#undef LIST
#undef PRODUCT_OF_PAIRS

/* Of one pair, or of several side by side. */
#define PAIR_PRODUCT(x, y)                                                                                             \
    _Generic((x),                                                                                                      \
        PairF32: product_of_pair_f32,                                                                                  \
        PairF64: product_of_pair_f64,                                                                                  \
        PairsF32: product_of_pairs_f32,                                                                                \
        PairsF64: product_of_pairs_f64)(x, y)

#endif
