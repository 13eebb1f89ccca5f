/* Linear systems with complex elements, one in each lane; batched_simd.h says how.
 *
 * Compiled without fused multiply-adds, unlike linalg_complex.c: each product is rounded before it is subtracted, so
 * the rounding errors of a multiplier and of its product can cancel, and a row that is a multiple of another leaves the
 * zero that it leaves on every other processor.
 */
#include "linalg/simd/number_complex.h"

#include "linalg/simd/linalg_common.h"
#include "linalg/simd/linalg_tiles.h"
#include "linalg/simd/linalg_lu.h"
#include "linalg/simd/linalg_columns.h"
#include "linalg/simd/linalg_triangular.h"
#include "linalg/simd/linalg_single.h"
#include "linalg/simd/linalg_closed.h"

const LaneKernels SIMD_NAME(linalg_lu_complex) = {
    .width = LANES,
    .number_bytes = sizeof(Number),
    .routines = {[SOLVE] = solve,
                 [INV] = inv,
                 [DET] = determinants,
                 [SLOGDET] = slogdet,
                 [FORWARD] = forward,
                 [BACKWARD] = backward,
                 [FORWARD_TRANSPOSED] = forward_transposed,
                 [BACKWARD_TRANSPOSED] = backward_transposed},
    .singles = {[SOLVE] = solve_single,
                [INV] = inv_single,
                [DET] = determinants_single,
                [SLOGDET] = slogdet_single,
                [FORWARD] = forward_single,
                [BACKWARD] = backward_single},
};
