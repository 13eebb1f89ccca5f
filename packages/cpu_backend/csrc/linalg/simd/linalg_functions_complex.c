/* Functions of small matrices with complex elements, one in each lane; batched_simd.h says how. */
#include "linalg/simd/number_complex.h"

#include "linalg/simd/linalg_common.h"
#include "linalg/simd/linalg_rows.h"

#include "linalg/simd/linalg_whole.h"
#include "linalg/simd/linalg_balance.h"
#include "linalg/simd/linalg_exponential.h"
#include "linalg/simd/linalg_roots.h"

const FunctionKernels SIMD_NAME(linalg_functions_complex) = {LANES, sizeof(Number), expm,
                                                             sqrtm, expm_single,    sqrtm_single};
