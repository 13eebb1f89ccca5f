/* The loops of sums that are made in double, for the compiler to vectorise along a row; see ../reduce.h. */
#include "reduction/reduce.h"

#include <math.h>
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

typedef float Floats __attribute__((vector_size(16)));
typedef double Doubles __attribute__((vector_size(32))); /* as many; half a cache line, as in reduce.c */
typedef int64_t Bits __attribute__((vector_size(32)));

enum { LANE_COUNT = sizeof(Doubles) / sizeof(double), VECTORS = WIDE_ROW / LANE_COUNT };

/* What is added up: of one element x, and of a vector of them, with the centre c. */
static inline double total_of(double x, double c) { return (void)c, x; }
static inline Doubles totals_of(Doubles x, Doubles c) { return (void)c, x; }
static inline double square_of(double x, double c) { return (void)c, x * x; }
static inline Doubles squares_of(Doubles x, Doubles c) { return (void)c, x * x; }
static inline double deviation_of(double x, double c) { return (x - c) * (x - c); }
static inline Doubles deviations_of(Doubles x, Doubles c) { return (x - c) * (x - c); }
static inline double size_of(double x, double c) { return (void)c, fabs(x); }
static inline Doubles sizes_of(Doubles x, Doubles c) { return (void)c, (Doubles)((Bits)x & INT64_MAX); }

static inline double sum_of(double x, double y) { return x + y; }
static inline Doubles sums_of(Doubles x, Doubles y) { return x + y; }

/* Of sizes: those of doubles are in the order of their bits, taken as integers, and NaN is larger than all. */
static inline Doubles larger_ones(Doubles x, Doubles y) {
    Bits second = (Bits)((Bits)x < (Bits)y);
    return (Doubles)(((Bits)x & ~second) | ((Bits)y & second));
}
#if defined(__AVX512F__)
typedef double Eight __attribute__((vector_size(64)));
static inline Eight totals_of_eight(Eight x, Eight c) { return (void)c, x; }
static inline Eight squares_of_eight(Eight x, Eight c) { return (void)c, x * x; }
static inline Eight deviations_of_eight(Eight x, Eight c) { return (x - c) * (x - c); }
static inline Eight sizes_of_eight(Eight x, Eight c) { return (void)c, (Eight)_mm512_abs_pd((__m512d)x); }
static inline Eight sums_of_eight(Eight x, Eight y) { return x + y; }
static inline Eight larger_ones_eight(Eight x, Eight y) { return (Eight)_mm512_max_epi64((__m512i)x, (__m512i)y); }
#endif
static inline double larger_one(double x, double y) {
    int64_t first, second;
    memcpy(&first, &x, sizeof first);
    memcpy(&second, &y, sizeof second);
    return first < second ? y : x;
}

#define PLUS sum_of
#define JOINED sums_of
#define NAME(f) SIMD_JOIN(f, sums)
#include "reduction/simd/reduce_wide_join.h"

#define PLUS larger_one
#define JOINED larger_ones
#define NAME(f) SIMD_JOIN(f, largest)
#include "reduction/simd/reduce_wide_join.h"

#if defined(__AVX2__)
#define WIDENED(x) (Doubles) _mm256_cvtps_pd((__m128)(x)) /* GCC makes two instructions of the next line, and joins */
#else
#define WIDENED(x) __builtin_convertvector(x, Doubles)
#endif
#define EIGHT(address) (Eight) _mm512_cvtps_pd(_mm256_loadu_ps(address))
#define S float
#define LANES Floats
#define SUFFIX f32
#include "reduction/simd/reduce_wide_types.h"
#undef WIDENED
#undef EIGHT

#define WIDENED(x) x
#define EIGHT(address) (Eight) _mm512_loadu_pd(address)
#define S double
#define LANES Doubles
#define SUFFIX f64
#include "reduction/simd/reduce_wide_types.h"

const WideKernels SIMD_NAME(wide_kernels) = {
    .loops = {
        [TOTAL] =
            {
                [F32] = {rows_total_f32, join_sums, parts_sums, line_total_f32},
                [F64] = {rows_total_f64, join_sums, parts_sums, line_total_f64},
            },
        [SQUARES] =
            {
                [F32] = {rows_square_f32, join_sums, parts_sums, line_square_f32},
                [F64] = {rows_square_f64, join_sums, parts_sums, line_square_f64},
            },
        [DEVIATIONS] =
            {
                [F32] = {rows_deviation_f32, join_sums, parts_sums, line_deviation_f32},
                [F64] = {rows_deviation_f64, join_sums, parts_sums, line_deviation_f64},
            },
        [SIZES] =
            {
                [F32] = {rows_size_f32, join_sums, parts_sums, line_size_f32},
                [F64] = {rows_size_f64, join_sums, parts_sums, line_size_f64},
            },
        [LARGEST_SIZE] =
            {
                [F32] = {rows_largest_f32, join_largest, parts_largest, line_largest_f32},
                [F64] = {rows_largest_f64, join_largest, parts_largest, line_largest_f64},
            },
    }};
