/* Reductions of complex matrices; reduction.h says what they are for. */
#include "linalg/simd/number_complex.h"

#include <string.h>

#include "linalg/simd/reduction_body.h"

const ReductionKernels SIMD_NAME(reduction_complex) = {room, reduce, turn};
