/* Small matrices with complex elements, one in each lane; batched_simd.h says how. */
#include "linalg/simd/number_complex.h"

#include "linalg/simd/linalg_routines.h"

const LaneKernels SIMD_NAME(linalg_complex) = {
    .width = LANES,
    .number_bytes = sizeof(Number),
    .routines =
        {
            [CHOLESKY] = cholesky,
            [QR] = qr,
            [EIGH] = eigh,
            [SVD] = svd,
            [EIGVALSH] = eigvalsh,
            [SVDVALS] = svdvals,
            [LSTSQ] = lstsq,
        },
    .singles =
        {
            [CHOLESKY] = cholesky_single,
            [QR] = qr_single,
#if LANES > 2
            [EIGH] = eigh_single,
            [SVD] = svd_single,
            [EIGVALSH] = eigvalsh_single,
            [SVDVALS] = svdvals_single,
            [LSTSQ] = lstsq_single,
#endif
        },
};
