/* Copies single matrices of F32, F64, C32 or C64 and of any strides into column-major blocks for LAPACK, and finds NaN
 * and infinities on the way. Results need no way back but rounding: LAPACK writes them where they stay. */
#ifndef TENSOR_CPU_MATRIX_COPY_H
#define TENSOR_CPU_MATRIX_COPY_H

#include "core/common.h"

/* Copies a matrix of F32, F64, C32 or C64 into a block without gaps, as doubles or pairs of doubles; answers whether
 * every element was finite. Strides may have any sign. */
bool matrix_load(ElementType type, const char *source, Index rows, Index columns, Index row_stride, Index column_stride,
                 double *block);

/* Copies one of F32 or C32 as floats; answers the largest magnitude of a part: infinite, or NaN, where one of them is. */
float matrix_load_floats(ElementType type, const char *source, Index rows, Index columns, Index row_stride,
                         Index column_stride, float *block);

/* That of so many floats. */
float largest_float(const float *block, Index count);

/* Whether none of so many doubles is NaN or infinite. */
bool all_finite(const double *block, Index count);

/* Rounds a block of doubles to floats; count counts doubles. */
void matrix_round(const double *block, Index count, float *result);

#endif
