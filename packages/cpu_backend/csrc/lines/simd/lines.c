/* The loops along and across lines; see ../lines.h. */
#include "lines/lines.h"

#include "core/simd/nan_rules.h"
#include "core/simd/pairs.h"
#include "copy/simd/permute_blocks.h"
#include "elementwise/simd/exponential_types.h"
#include "elementwise/vectormath.h"
#include "reduction/reduce.h"

#include <math.h>

#if defined(__AVX512F__)
#include "lines/simd/extremes_vectors.h"
#endif

enum { FOUND_AT_ONCE = 1 << 12 }; /* elements of a line in which an extreme and its place are looked for in one pass */

#define NAME(f) SIMD_JOIN(f, SUFFIX)

#define T float
#define S float
#define SUFFIX f32
#define TYPE F32
#define WRAPPING float
#define SUMS float
#define IS_NAN(x) ((x) != (x))
#define LOWEST -INFINITY
#define HIGHEST INFINITY
#include "lines/simd/turned_body.h"
#include "lines/simd/extremes_body.h"
#include "lines/simd/scans_body.h"
#include "lines/simd/softmax_body.h"
#include "lines/simd/short_body.h"
#undef SUMS
#undef HIGHEST
#undef LOWEST
#undef IS_NAN
#undef WRAPPING
#undef TYPE
#undef SUFFIX
#undef S
#undef T

#define T double
#define S double
#define SUFFIX f64
#define TYPE F64
#define WRAPPING double
#define SUMS double
#define IS_NAN(x) ((x) != (x))
#define LOWEST -INFINITY
#define HIGHEST INFINITY
#include "lines/simd/turned_body.h"
#include "lines/simd/extremes_body.h"
#include "lines/simd/scans_body.h"
#include "lines/simd/softmax_body.h"
#include "lines/simd/short_body.h"
#undef SUMS
#undef HIGHEST
#undef LOWEST
#undef IS_NAN
#undef WRAPPING
#undef TYPE
#undef SUFFIX
#undef S
#undef T

#define T int32_t
#define SUFFIX i32
#define TYPE I32
#define IS_NAN(x) false
#define LOWEST INT32_MIN
#define HIGHEST INT32_MAX
#define WHOLES
#define WRAPPING uint64_t
#define SUMS int64_t
#include "lines/simd/turned_body.h"
#include "lines/simd/extremes_body.h"
#include "lines/simd/short_body.h"
#undef WRAPPING
#undef HIGHEST
#undef LOWEST
#undef IS_NAN
#undef TYPE
#undef SUFFIX
#undef T

#define T int64_t
#define S int64_t
#define SUFFIX i64
#define TYPE I64
#define WRAPPING uint64_t
#define IS_NAN(x) false
#define LOWEST INT64_MIN
#define HIGHEST INT64_MAX
#include "lines/simd/turned_body.h"
#include "lines/simd/extremes_body.h"
#include "lines/simd/scans_body.h"
#include "lines/simd/short_body.h"
#undef SUMS
#undef WHOLES
#undef HIGHEST
#undef LOWEST
#undef IS_NAN
#undef WRAPPING
#undef TYPE
#undef SUFFIX
#undef S
#undef T

#define T int64_t
#define WRAPPING uint64_t
#define S int32_t
#define SUFFIX i32
#include "lines/simd/scans_body.h"
#undef SUFFIX
#undef S

#define S uint8_t
#define SUFFIX truths
#define TRUTHS
#include "lines/simd/scans_body.h"
#undef TRUTHS
#undef SUFFIX
#undef S
#undef WRAPPING
#undef T

#define COMPLEX
#define T PairF32
#define S PairF32
#define WRAPPING PairF32
#define SUFFIX c32
#define TYPE C32
#define PART float
#include "lines/simd/scans_body.h"
#include "lines/simd/short_pairs.h"
#undef PART
#undef TYPE
#undef SUFFIX
#undef WRAPPING
#undef S
#undef T

#define T PairF64
#define S PairF64
#define WRAPPING PairF64
#define SUFFIX c64
#define TYPE C64
#define PART double
#include "lines/simd/scans_body.h"
#include "lines/simd/short_pairs.h"
#undef PART
#undef TYPE
#undef SUFFIX
#undef WRAPPING
#undef S
#undef T
#undef COMPLEX

#undef NAME
#define BODY "lines/simd/truths_body.h"
#include "core/simd/every_type.h"

#if defined(__AVX512F__)
enum { PLACES = 8 };
#elif defined(__AVX2__)
enum { PLACES = 4 };
#else
enum { PLACES = 2 };
#endif
typedef int64_t Places __attribute__((vector_size(PLACES * sizeof(int64_t))));

/* A vector of keys with all keys, one after the other; of those before a key, an equal one is as good as a smaller one. */
static void ranks(Index count, const int64_t *restrict keys, int64_t *restrict ranks) {
    Places own = {0};
    for (int lane = 0; lane < PLACES; lane++) own[lane] = lane;
    for (Index first = 0; first < count; first += PLACES) {
        const Index behind = smaller(count, first + PLACES);
        Places mine, found = {0};
        memcpy(&mine, keys + first, sizeof mine);
        for (Index j = 0; j < first; j++) found -= (Places){0} + keys[j] <= mine;
        for (Index j = first; j < behind; j++) {
            const Places key = (Places){0} + keys[j];
            found -= (key < mine) | ((key == mine) & (own > j - first));
        }
        for (Index j = behind; j < count; j++) found -= (Places){0} + keys[j] < mine;
        memcpy(ranks + first, &found, sizeof found);
    }
}

#define EVERY(name) {name##_f32, name##_f64, NULL, NULL, name##_i32, name##_i64, NULL}
#define SCANS(name) {name##_f32, name##_f64, name##_c32, name##_c64, name##_i32, name##_i64, name##_truths}
#define REAL(name) {name##_f32, name##_f64, NULL, NULL, NULL, NULL, NULL}

const LineKernels SIMD_NAME(line_kernels) = {
    .along = {[ARGMAX] = EVERY(argmax_along),
              [ARGMIN] = EVERY(argmin_along),
              [CUMSUM] = SCANS(cumsum_along),
              [CUMPROD] = SCANS(cumprod_along),
              [SOFTMAX] = REAL(softmax_along),
              [LOG_SOFTMAX] = REAL(log_softmax_along)},
    .across = {[ARGMAX] = EVERY(argmax_across),
               [ARGMIN] = EVERY(argmin_across),
               [CUMSUM] = SCANS(cumsum_across),
               [CUMPROD] = SCANS(cumprod_across),
               [SOFTMAX] = REAL(softmax_across),
               [LOG_SOFTMAX] = REAL(log_softmax_across)},
    .extremes = {EVERY(argmax_pieces), EVERY(argmin_pieces)},
    .places = {EVERY(argmax_place), EVERY(argmin_place)},
    .folds = {[LINE_SUM] = {short_sum_f32, short_sum_f64, short_sum_c32, short_sum_c64, short_sum_i32, short_sum_i64},
              [LINE_LARGEST] = EVERY(short_largest),
              [LINE_LEAST] = EVERY(short_least),
              [LINE_MEAN] = REAL(short_mean),
              [LINE_SPREAD] = REAL(short_spread),
              [LINE_SQUARES] = REAL(short_squares),
              [LINE_PRODUCT] = {[C32] = short_product_c32, [C64] = short_product_c64},
              [LINE_ANY] = {any_f32, any_f64, any_c32, any_c64, any_i32, any_i64, any_bool},
              [LINE_ALL] = {all_f32, all_f64, all_c32, all_c64, all_i32, all_i64, all_bool}},
    .ranks = ranks,
};
