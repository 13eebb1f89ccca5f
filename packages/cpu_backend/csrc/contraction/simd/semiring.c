/* The loops of matrix products in algebras: one inclusion of semiring_body.h per algebra and element type.
 *
 * Sums of max-plus and its like are taken by the processor's own maximum, which forgets NaN: max(term, sum) gives sum
 * where either is NaN. So a sum that is NaN stays NaN, and only a NaN term would be lost. Whoever packs notes which
 * panels can give one, and only products of those take a slower loop, which looks at each term.
 */
#include "contraction/semiring.h"

#include <math.h>
#include <string.h>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
enum { VECTOR_BYTES = 64, RIGHT_VECTORS = 4 }; /* 24 sums, 4 columns and 2 others of 32 registers */
#elif defined(__AVX2__)
enum { VECTOR_BYTES = 32, RIGHT_VECTORS = 2 }; /* 12 sums, 2 columns and 2 others of 16 registers */
#else
enum { VECTOR_BYTES = 16, RIGHT_VECTORS = 2 };
#endif

/* Elements of packed panels, which were copied there as integers (pack.c), and of arrays. */
typedef float Float __attribute__((may_alias));
typedef double Double __attribute__((may_alias));
typedef unsigned char Truth __attribute__((may_alias));

typedef float VectorF32 __attribute__((vector_size(VECTOR_BYTES)));
typedef double VectorF64 __attribute__((vector_size(VECTOR_BYTES)));
typedef unsigned char VectorBool __attribute__((vector_size(VECTOR_BYTES)));
typedef int32_t MaskF32 __attribute__((vector_size(VECTOR_BYTES)));
typedef int64_t MaskF64 __attribute__((vector_size(VECTOR_BYTES)));

static inline VectorF32 chosen_f32(MaskF32 mask, VectorF32 x, VectorF32 y) {
    return (VectorF32)((mask & (MaskF32)x) | (~mask & (MaskF32)y));
}
static inline VectorF64 chosen_f64(MaskF64 mask, VectorF64 x, VectorF64 y) {
    return (VectorF64)((mask & (MaskF64)x) | (~mask & (MaskF64)y));
}

/* The term where it is larger (smaller) than the sum, else the sum, and so the sum where either is NaN (nan_rules.h).
 * */
#if defined(__AVX512F__)
static inline VectorF32 max_ignore_nan_f32(VectorF32 term, VectorF32 sum) {
    return (VectorF32)_mm512_max_ps(term, sum);
}
static inline VectorF64 max_ignore_nan_f64(VectorF64 term, VectorF64 sum) {
    return (VectorF64)_mm512_max_pd(term, sum);
}
static inline VectorF32 min_ignore_nan_f32(VectorF32 term, VectorF32 sum) {
    return (VectorF32)_mm512_min_ps(term, sum);
}
static inline VectorF64 min_ignore_nan_f64(VectorF64 term, VectorF64 sum) {
    return (VectorF64)_mm512_min_pd(term, sum);
}
#elif defined(__AVX2__)
static inline VectorF32 max_ignore_nan_f32(VectorF32 term, VectorF32 sum) {
    return (VectorF32)_mm256_max_ps(term, sum);
}
static inline VectorF64 max_ignore_nan_f64(VectorF64 term, VectorF64 sum) {
    return (VectorF64)_mm256_max_pd(term, sum);
}
static inline VectorF32 min_ignore_nan_f32(VectorF32 term, VectorF32 sum) {
    return (VectorF32)_mm256_min_ps(term, sum);
}
static inline VectorF64 min_ignore_nan_f64(VectorF64 term, VectorF64 sum) {
    return (VectorF64)_mm256_min_pd(term, sum);
}
#else
static inline VectorF32 max_ignore_nan_f32(VectorF32 term, VectorF32 sum) { return chosen_f32(term > sum, term, sum); }
static inline VectorF64 max_ignore_nan_f64(VectorF64 term, VectorF64 sum) { return chosen_f64(term > sum, term, sum); }
static inline VectorF32 min_ignore_nan_f32(VectorF32 term, VectorF32 sum) { return chosen_f32(term < sum, term, sum); }
static inline VectorF64 min_ignore_nan_f64(VectorF64 term, VectorF64 sum) { return chosen_f64(term < sum, term, sum); }
#endif

/* x + y as x * 1 + y, which rounds once and so is the same: processors that add and compare in the same units, but
 * multiply in others, then do both at once. AVX2 has no register left for the 1. */
#if defined(__AVX512F__)
static inline VectorF32 plus_f32(VectorF32 x, VectorF32 y) { return _mm512_fmadd_ps(x, _mm512_set1_ps(1), y); }
static inline VectorF64 plus_f64(VectorF64 x, VectorF64 y) { return _mm512_fmadd_pd(x, _mm512_set1_pd(1), y); }
#else
static inline VectorF32 plus_f32(VectorF32 x, VectorF32 y) { return x + y; }
static inline VectorF64 plus_f64(VectorF64 x, VectorF64 y) { return x + y; }
#endif
static inline VectorF32 times_f32(VectorF32 x, VectorF32 y) { return x * y; }
static inline VectorF64 times_f64(VectorF64 x, VectorF64 y) { return x * y; }
/* Panels hold 0 and 1 (pack.c), lent memory any byte. */
static inline VectorBool truth(VectorBool x) { return (VectorBool)(x != 0) & 1; }
static inline VectorBool either(VectorBool term, VectorBool sum) { return term | sum; }
static inline VectorBool both(VectorBool x, VectorBool y) { return x & y; }

/* The sum where the term is a number, else the term. */
static inline VectorF32 with_nan_f32(VectorF32 term, VectorF32 sum) { return chosen_f32(term != term, term, sum); }
static inline VectorF64 with_nan_f64(VectorF64 term, VectorF64 sum) { return chosen_f64(term != term, term, sum); }
static inline VectorBool as_it_is(VectorBool term, VectorBool sum) {
    (void)term;
    return sum;
}

#define VALUE(x) (x)
#define NAME(f) f##_max_plus_f64
#define T Double
#define VECTOR VectorF64
#define START -INFINITY
#define ADD max_ignore_nan_f64
#define MULTIPLY plus_f64
#define KEEP_NAN with_nan_f64
#define HIGH INFINITY
#define LOW -INFINITY
#include "contraction/simd/semiring_body.h"

#define NAME(f) f##_min_plus_f64
#define T Double
#define VECTOR VectorF64
#define START INFINITY
#define ADD min_ignore_nan_f64
#define MULTIPLY plus_f64
#define KEEP_NAN with_nan_f64
#define HIGH INFINITY
#define LOW -INFINITY
#include "contraction/simd/semiring_body.h"

#define NAME(f) f##_max_times_f64
#define T Double
#define VECTOR VectorF64
#define START -INFINITY
#define ADD max_ignore_nan_f64
#define MULTIPLY times_f64
#define KEEP_NAN with_nan_f64
#define HIGH INFINITY
#define LOW 0
#include "contraction/simd/semiring_body.h"

#define NAME(f) f##_max_plus_f32
#define T Float
#define VECTOR VectorF32
#define START -INFINITY
#define ADD max_ignore_nan_f32
#define MULTIPLY plus_f32
#define KEEP_NAN with_nan_f32
#define HIGH INFINITY
#define LOW -INFINITY
#include "contraction/simd/semiring_body.h"

#define NAME(f) f##_min_plus_f32
#define T Float
#define VECTOR VectorF32
#define START INFINITY
#define ADD min_ignore_nan_f32
#define MULTIPLY plus_f32
#define KEEP_NAN with_nan_f32
#define HIGH INFINITY
#define LOW -INFINITY
#include "contraction/simd/semiring_body.h"

#define NAME(f) f##_max_times_f32
#define T Float
#define VECTOR VectorF32
#define START -INFINITY
#define ADD max_ignore_nan_f32
#define MULTIPLY times_f32
#define KEEP_NAN with_nan_f32
#define HIGH INFINITY
#define LOW 0
#include "contraction/simd/semiring_body.h"

#undef VALUE
#define VALUE(x) truth(x)
#define NAME(f) f##_or_and
#define T Truth
#define VECTOR VectorBool
#define START 0
#define ADD either
#define MULTIPLY both
#define KEEP_NAN as_it_is
#include "contraction/simd/semiring_body.h"

#define LOOPS(of) {WIDTH_##of, marks_##of, multiply_##of, multiply_line_##of}

const SemiringKernels SIMD_NAME(semiring_kernels) = {
    .loops = {
        [MAX_PLUS] = {[F64] = LOOPS(max_plus_f64), [F32] = LOOPS(max_plus_f32)},
        [MIN_PLUS] = {[F64] = LOOPS(min_plus_f64), [F32] = LOOPS(min_plus_f32)},
        [MAX_TIMES] = {[F64] = LOOPS(max_times_f64), [F32] = LOOPS(max_times_f32)},
        [OR_AND] = {[BOOL] = LOOPS(or_and)},
    }};
