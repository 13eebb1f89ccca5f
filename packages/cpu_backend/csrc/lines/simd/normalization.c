/* The loops that normalise lines; see ../normalization.h. */
#include "lines/normalization.h"

#include "copy/simd/permute_blocks.h"
#include "reduction/reduce.h"

#include <float.h>
#include <math.h>

#define NAME(f) SIMD_JOIN(f, SUFFIX)

/* Means of squares of F64 below this may have lost what squares below the range would have added. */
#define LEAST_MEAN 0x1p-900

#define T float
#define SUFFIX f32
#define TYPE F32
/* Whether differences and products may be made in T. */
#define FITS(centre, factor) (fabs(centre) <= 0x1p100 && (factor) >= 0x1p-100 && (factor) <= 0x1p100)
#define IN_RANGE(mean) ((void)(mean), true) /* squares of F32 are within the range of double */
#include "lines/simd/turned_body.h"
#include "lines/simd/normalization_body.h"
#undef IN_RANGE
#undef FITS
#undef TYPE
#undef SUFFIX
#undef T

#define T double
#define SUFFIX f64
#define TYPE F64
#define FITS(centre, factor) true
#define IN_RANGE(mean) ((mean) >= LEAST_MEAN && (mean) <= DBL_MAX)
#include "lines/simd/turned_body.h"
#include "lines/simd/normalization_body.h"

#define REAL(name) {name##_f32, name##_f64, NULL, NULL, NULL, NULL, NULL}

const NormalizationKernels SIMD_NAME(normalization_kernels) = {
    .along = {[LAYER_NORM] = REAL(layer_along), [RMS_NORM] = REAL(rms_along)},
    .across = {[LAYER_NORM] = REAL(layer_across), [RMS_NORM] = REAL(rms_across)},
};
