/* The loops of small products (stack.h, ../stack.c), each for every floating and complex type. */
#include "contraction/stack.h"
#include "reduction/simd/sums.h"

#define BODY "contraction/simd/stack_lanes.h"
#include "core/simd/every_type.h"
#undef BODY

#define BYTES 16
#define PREFIX _mm_
#define WORDS_OF_VECTOR __m128i
#define W(f) f##_16
#include "contraction/simd/stack_width.h"
#undef BYTES
#undef PREFIX
#undef WORDS_OF_VECTOR
#undef W

#if defined(__AVX2__)
#define BYTES 32
#define PREFIX _mm256_
#define WORDS_OF_VECTOR __m256i
#define W(f) f##_32
#include "contraction/simd/stack_width.h"
#undef BYTES
#undef PREFIX
#undef WORDS_OF_VECTOR
#undef W
#endif

#if defined(__AVX512F__)
#define BYTES 64
#define PREFIX _mm512_
#define W(f) f##_64
#include "contraction/simd/stack_width.h"
#undef BYTES
#undef PREFIX
#undef W
#endif

/* The shortest vectors that hold all rows, else the longest. */
#if defined(__AVX512F__)
#define CHOOSE_WIDTH(f, bytes) ((bytes) <= 16 ? f##_16 : (bytes) <= 32 ? f##_32 : f##_64)
#elif defined(__AVX2__)
#define CHOOSE_WIDTH(f, bytes) ((bytes) <= 16 ? f##_16 : f##_32)
#else
#define CHOOSE_WIDTH(f, bytes) f##_16
#endif
#define BY_ROWS(type, bytes)                                                                                           \
    static void rows_##type(const StackProblem *p, const char *a, const char *b, char *c, Index count) {               \
        CHOOSE_WIDTH(by_rows_##type, p->rows * (bytes))(p, a, b, c, count);                                            \
    }
BY_ROWS(f32, 4)
BY_ROWS(f64, 8)
BY_ROWS(c32, 8)
BY_ROWS(c64, 16)

const StackKernels SIMD_NAME(stack_kernels) = {{
    [F32] = {rows_f32, by_lanes_f32, LANES_f32},
    [F64] = {rows_f64, by_lanes_f64, LANES_f64},
    [C32] = {rows_c32, by_lanes_c32, LANES_c32},
    [C64] = {rows_c64, by_lanes_c64, LANES_c64},
}};
