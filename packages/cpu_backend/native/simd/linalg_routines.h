/* The routines for one kind of elements; linalg_real.c and linalg_complex.c say which, by including number_*.h first.
 *
 * Every routine has a part with the side n as a constant, which the compiler makes once for each of the commonest
 * sides and once for any side.
 */
#include "lane_memory.h"
#include "lanes.h"

INLINE Index matrix_bytes(const LaneProblem *problem, Index rows, Index columns) {
    return rows * columns * PARTS * (Index)(problem->narrow ? sizeof(float) : sizeof(double));
}

#include "linalg_cholesky.h"
#include "linalg_lu.h"
