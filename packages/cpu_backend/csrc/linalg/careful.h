/* Systems, inverses and determinants by an elimination that scales matrices away from the limits of the range and
 * divides by its pivots, where LAPACK multiplies by reciprocals, which may be infinite. Slow: for the few matrices that
 * need it. */
#ifndef TENSOR_CPU_CAREFUL_H
#define TENSOR_CPU_CAREFUL_H

#include "core/common.h"

/* Matrices are column-major [n, n], and lost; exchanges has room for n. False where a pivot is zero. */
bool careful_solve_f64(double *matrix, Index n, double *sides, Index columns, int64_t *exchanges);
bool careful_solve_c64(double *matrix, Index n, double *sides, Index columns, int64_t *exchanges);
bool careful_inv_f64(double *matrix, Index n, double *inverse, int64_t *exchanges);
bool careful_inv_c64(double *matrix, Index n, double *inverse, int64_t *exchanges);
void careful_det_f64(double *matrix, Index n, double *determinant, int64_t *exchanges);
void careful_det_c64(double *matrix, Index n, double *determinant, int64_t *exchanges);

#endif
