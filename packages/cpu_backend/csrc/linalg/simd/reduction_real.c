/* Reductions of real matrices; reduction.h says what they are for. */
#include "linalg/simd/number_real.h"

#include "linalg/simd/reflections_body.h"

#include "linalg/simd/bidiagonal_body.h"
#include "linalg/simd/tridiagonal_body.h"

const ReductionKernels SIMD_NAME(reduction_real) = {
    bidiagonal_room, bidiagonalize, turn_singular, tridiagonal_room, tridiagonalize, turn_eigen,
};
