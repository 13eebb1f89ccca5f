/* Singular values of two diagonals, eigenvalues of three, and vectors: implicit QR iterations on one small matrix
 * (simd/diagonals.c). Of larger ones divide and conquer takes less time.
 */
#ifndef TENSOR_CPU_DIAGONALS_H
#define TENSOR_CPU_DIAGONALS_H

#include "core/common.h"
#include "core/cpu.h"

typedef struct {
    Index count;
    double *values, *beside; /* COUNT numbers on the diagonal, replaced by what is looked for, and one less beside it */
    double *vectors, *right; /* COUNT columns of STRIDE numbers; those of `right` are right singular vectors */
    Index stride;            /* a multiple of 8; what follows the COUNT numbers of a column is 0 */
    double *room;            /* of DIAGONALS_ROOM(count, stride) numbers; all three where lane vectors may lie */
} Diagonals;

#define DIAGONALS_ROOM(count, stride) ((count) * ((stride) + 6))

/* Whether they converge. The largest number is between 2^-301 and 2^301. */
typedef struct {
    bool (*singular)(const Diagonals *of); /* of an upper bidiagonal matrix; descending */
    bool (*eigen)(const Diagonals *of);    /* of a symmetric tridiagonal one; ascending */
} DiagonalKernels;

SIMD_TABLE(DiagonalKernels, diagonal_kernels);

#endif
