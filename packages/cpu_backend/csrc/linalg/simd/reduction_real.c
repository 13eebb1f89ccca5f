/* Reductions of real matrices; reduction.h says what they are for. */
#include "linalg/simd/number_real.h"

#include <string.h>

#include "linalg/simd/reduction_body.h"

const ReductionKernels SIMD_NAME(reduction_real) = {room, reduce, turn};
