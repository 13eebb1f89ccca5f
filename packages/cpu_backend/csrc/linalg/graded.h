/* Singular values and eigenvalues of small matrices whose elements are of very different sizes: squares of small ones, or
 * their products, are no doubles any more. Rotations as in simd/linalg_svd.h and simd/linalg_eigh.h, in long double,
 * whose range has room for them. Slow: for the few matrices that need it.
 */
#ifndef TENSOR_CPU_GRADED_H
#define TENSOR_CPU_GRADED_H

#include "core/common.h"

#include <float.h>

/* Whether long double has the range; else the functions do nothing and answer true. */
#define HAS_LONG_RANGE (LDBL_MAX_EXP >= 16384)

enum { LARGEST_GRADED_SIDE = 16 };

/* Matrices are compact and column-major, of numbers of so many parts, 1 or 2: [m, n], u [m, k], values [k] descending, vh
 * [k, n], where k is the shorter side. Without u and vh, which are NULL then, the values alone. False where memory is
 * short, or rotations do not end. */
bool graded_svd(const double *matrix, int m, int n, int parts, double *u, double *values, double *vh);

/* Of the lower triangle [n, n]: values [n] ascending, vectors [n, n], NULL for the values alone. */
bool graded_eigh(const double *matrix, int n, int parts, double *values, double *vectors);

#endif
