/* One matrix of doubles or pairs of them reduced by reflections to two diagonals, or a Hermitian one to three, and the
 * vectors of those turned into the matrix's own: what LAPACK's xGEBRD and xORMBR, xSYTRD and xORMTR do, for matrices that
 * stay in the caches. simd/bidiagonal_body.h and simd/tridiagonal_body.h say how.
 */
#ifndef TENSOR_CPU_REDUCTION_H
#define TENSOR_CPU_REDUCTION_H

#include "core/common.h"
#include "core/cpu.h"

typedef struct {
    const double *a; /* column-major, without gaps; the largest element is between 2^-300 and 2^300 */
    Index rows, columns;
    double *diagonal, *beside; /* of the reduced matrix: SHORTER numbers of the one, and one less of the other */
    double *room;              /* so many numbers at a multiple of 64 bytes; keeps the reflections */
} Reduction;

/* Real vectors: of the j-th the i-th number is at [i * row + j * column]. */
typedef struct {
    const double *numbers;
    Index row, column;
} Vectors;

typedef struct {
    /* To an upper bidiagonal matrix. Given its singular vectors, SHORTER of so many numbers: u [rows, shorter] and
     * vh [shorter, columns] of the matrix. */
    Index (*bidiagonal_room)(Index rows, Index columns);
    void (*bidiagonalize)(const Reduction *problem);
    void (*turn_singular)(const Reduction *problem, Vectors left, Vectors right, double *u, double *vh);
    /* Of a Hermitian matrix, of which the lower triangle is read, to a tridiagonal one; from its real eigenvectors those
     * of the matrix. */
    Index (*tridiagonal_room)(Index rows);
    void (*tridiagonalize)(const Reduction *problem);
    void (*turn_eigen)(const Reduction *problem, Vectors vectors, double *turned);
} ReductionKernels;

SIMD_TABLE(ReductionKernels, reduction_real);
SIMD_TABLE(ReductionKernels, reduction_complex);

#endif
