/* Small matrices with real elements, one in each lane; batched_simd.h says how. */
#include "linalg/simd/number_real.h"

#include "linalg/simd/linalg_routines.h"

const LaneKernels SIMD_NAME(linalg_real) = {
    .width = LANES,
    .number_bytes = sizeof(Number),
    .routines = {[LANE_CHOLESKY] = cholesky, [LANE_QR] = qr, [LANE_EIGH] = eigh, [LANE_SVD] = svd},
};
