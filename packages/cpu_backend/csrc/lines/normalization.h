/* Lines made to have mean 0 and variance 1, or mean square 1, along one axis of an operand without gaps (lines.h). */
#ifndef TENSOR_CPU_NORMALIZATION_H
#define TENSOR_CPU_NORMALIZATION_H

#include "lines/lines.h"

typedef enum { LAYER_NORM, RMS_NORM, NORMALIZATIONS } Normalization;

/* As Along and Across of lines.h, with what is added to the mean of squares under the root. False where that mean leaves
 * the range of normal numbers, or is none: somebody else has to compute such lines then. */
typedef bool (*NormalizeAlong)(Index lines, Index length, double epsilon, const void *source, void *result,
                               void *scratch);
typedef bool (*NormalizeAcross)(Index length, Index columns, Index stride, double epsilon, const void *source,
                                void *result, void *scratch);

typedef struct {
    NormalizeAlong along[NORMALIZATIONS][ELEMENT_TYPES]; /* by the type of the operand; NULL where there is none */
    NormalizeAcross across[NORMALIZATIONS][ELEMENT_TYPES];
} NormalizationKernels;

SIMD_TABLE(NormalizationKernels, normalization_kernels);

#endif
