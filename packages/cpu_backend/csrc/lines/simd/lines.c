/* The loops along and across lines; see ../lines.h. */
#include "lines/lines.h"

#include "core/simd/nan_rules.h"
#include "copy/simd/permute_blocks.h"
#include "elementwise/simd/exponential_types.h"
#include "reduction/reduce.h"

#define NAME(f) SIMD_JOIN(f, SUFFIX)

#define T float
#define SUFFIX f32
#define TYPE F32
#define WRAPPING float
#define IS_NAN(x) ((x) != (x))
#include "lines/simd/turned_body.h"
#include "lines/simd/extremes_body.h"
#include "lines/simd/scans_body.h"
#include "lines/simd/softmax_body.h"
#include "lines/simd/short_body.h"
#undef IS_NAN
#undef WRAPPING
#undef TYPE
#undef SUFFIX
#undef T

#define T double
#define SUFFIX f64
#define TYPE F64
#define WRAPPING double
#define IS_NAN(x) ((x) != (x))
#include "lines/simd/turned_body.h"
#include "lines/simd/extremes_body.h"
#include "lines/simd/scans_body.h"
#include "lines/simd/softmax_body.h"
#include "lines/simd/short_body.h"
#undef IS_NAN
#undef WRAPPING
#undef TYPE
#undef SUFFIX
#undef T

#define T int32_t
#define SUFFIX i32
#define TYPE I32
#define IS_NAN(x) false
#include "lines/simd/turned_body.h"
#include "lines/simd/extremes_body.h"
#undef IS_NAN
#undef TYPE
#undef SUFFIX
#undef T

#define T int64_t
#define SUFFIX i64
#define TYPE I64
#define WRAPPING uint64_t
#define IS_NAN(x) false
#include "lines/simd/turned_body.h"
#include "lines/simd/extremes_body.h"
#include "lines/simd/scans_body.h"
#undef IS_NAN
#undef WRAPPING
#undef TYPE
#undef SUFFIX
#undef T

#define EVERY(name) {name##_f32, name##_f64, NULL, NULL, name##_i32, name##_i64, NULL}
#define NUMBERS(name) {name##_f32, name##_f64, NULL, NULL, NULL, name##_i64, NULL}
#define REAL(name) {name##_f32, name##_f64, NULL, NULL, NULL, NULL, NULL}

const LineKernels SIMD_NAME(line_kernels) = {
    .along = {[ARGMAX] = EVERY(argmax_along),
              [ARGMIN] = EVERY(argmin_along),
              [CUMSUM] = NUMBERS(cumsum_along),
              [CUMPROD] = NUMBERS(cumprod_along),
              [SOFTMAX] = REAL(softmax_along),
              [LOG_SOFTMAX] = REAL(log_softmax_along)},
    .across = {[ARGMAX] = EVERY(argmax_across),
               [ARGMIN] = EVERY(argmin_across),
               [CUMSUM] = NUMBERS(cumsum_across),
               [CUMPROD] = NUMBERS(cumprod_across),
               [SOFTMAX] = REAL(softmax_across),
               [LOG_SOFTMAX] = REAL(log_softmax_across)},
    .extremes = {EVERY(argmax_pieces), EVERY(argmin_pieces)},
    .places = {EVERY(argmax_place), EVERY(argmin_place)},
    .folds = {[LINE_SUM] = REAL(short_sum),
              [LINE_LARGEST] = REAL(short_largest),
              [LINE_LEAST] = REAL(short_least),
              [LINE_MEAN] = REAL(short_mean),
              [LINE_SPREAD] = REAL(short_spread),
              [LINE_SQUARES] = REAL(short_squares)},
};
