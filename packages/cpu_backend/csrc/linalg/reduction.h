/* One matrix of doubles or pairs of them reduced to two diagonals by reflections, and the singular vectors of those
 * diagonals turned into the matrix's own: what LAPACK's xGEBRD and xORMBR do, for matrices that stay in a second-level
 * cache. simd/reduction_body.h says how.
 *
 * A wide matrix is reduced as its adjoint is, which is tall: *longer* by *shorter*.
 */
#ifndef TENSOR_CPU_REDUCTION_H
#define TENSOR_CPU_REDUCTION_H

#include "core/common.h"
#include "core/cpu.h"

typedef struct {
    const double *a; /* column-major, without gaps */
    Index rows, columns;
    double *diagonal, *beside; /* the upper bidiagonal matrix: SHORTER and SHORTER - 1 numbers */
    double *room;              /* of room() numbers, at a multiple of 64 bytes; keeps the reflections */
} Bidiagonalization;

typedef struct {
    Index (*room)(Index rows, Index columns);
    /* The largest element is between 2^-300 and 2^300. */
    void (*reduce)(const Bidiagonalization *problem);
    /* Given the singular vectors of the bidiagonal matrix, left ones and adjoint right ones, SHORTER x SHORTER real
     * numbers each, column-major: u [rows, shorter] and vh [shorter, columns] of the matrix. */
    void (*turn)(const Bidiagonalization *problem, const double *left, const double *right, double *u, double *vh);
} ReductionKernels;

SIMD_TABLE(ReductionKernels, reduction_real);
SIMD_TABLE(ReductionKernels, reduction_complex);

#endif
