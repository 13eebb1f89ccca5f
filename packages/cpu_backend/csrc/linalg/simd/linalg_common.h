/* What every routine for small matrices uses; include number_real.h or number_complex.h first. */
#include "linalg/simd/lane_memory.h"
#include "linalg/batched_simd.h"

INLINE Index matrix_bytes(const LaneProblem *problem, Index rows, Index columns) {
    return rows * columns * PARTS * (Index)(problem->narrow ? sizeof(float) : sizeof(double));
}

/* Scales so many numbers by the power of two that makes the largest of them about 2^target; answers that power. */
INLINE Lane scale_numbers(Number *numbers, int count, double target) {
    Lane most = broadcast(0.0);
    for (int i = 0; i < count; i++) most = larger(largest_part(numbers[i]), most);
    const Lane factor = scale_to(most, target);
    for (int i = 0; i < count; i++) numbers[i] = scaled(numbers[i], factor);
    return factor;
}
