/* What implicit QR iterations on two diagonals hold for nothing, in lanes (linalg_tridiagonal.h, linalg_bidiagonal.h)
 * and of one matrix (diagonals.c). The largest element is about 1.
 */
#ifndef TENSOR_CPU_IMPLICIT_QR_H
#define TENSOR_CPU_IMPLICIT_QR_H

enum { MOST_SWEEPS_A_VALUE = 30 };

static const double ROUNDING_UNIT = 0x1p-53;
static const double NO_ROTATION = 0x1p-900;        /* a square of elements that are zero beside the others */
static const double NO_LINK = 0x1p-440;            /* the square of one beside the diagonal that is */
static const double NEGLIGIBLE_TERM = 8 * 0x1p-53; /* beside a singular value */
static const double SHIFTED_SPREAD = 128.0; /* times rows: how far apart values may be where a block is shifted */

#endif
