/* What every routine for small matrices uses; include number_real.h or number_complex.h first. */
#include "linalg/simd/lane_memory.h"
#include "linalg/batched_simd.h"

INLINE Index matrix_bytes(const LaneProblem *problem, Index rows, Index columns) {
    return rows * columns * PARTS * (Index)(problem->narrow ? sizeof(float) : sizeof(double));
}

/* Loads so many numbers of each matrix of a group, which lie so many bytes apart; answers which matrices are not
 * finite. */
INLINE Mask load_numbers(const LaneProblem *problem, const char *from, Index bytes, Number *numbers, int count) {
    load_lanes((Lane *)numbers, from, bytes, count * PARTS, problem->narrow);
    return not_finite((Lane *)numbers, count * PARTS);
}

INLINE void store_numbers(const LaneProblem *problem, char *to, Index bytes, const Number *numbers, int count) {
    store_lanes(to, (const Lane *)numbers, bytes, count * PARTS, problem->narrow);
}

INLINE void set_identity(Number *a, int n) {
    for (int i = 0; i < n * n; i++) a[i] = number(broadcast(i % (n + 1) == 0));
}

/* The adjoint of a matrix; the columns of both are so many numbers apart. */
INLINE void adjoint(Number *to, Index to_stride, const Number *from, Index from_stride, int rows, int columns) {
    for (int j = 0; j < columns; j++)
        for (int i = 0; i < rows; i++) to[j + i * to_stride] = conjugate(from[i + j * from_stride]);
}

/* Scales so many numbers by the power of two that makes the largest of them about 2^target; answers that power. */
INLINE Lane scale_numbers(Number *numbers, int count, double target) {
    Lane most = broadcast(0.0);
    for (int i = 0; i < count; i++) most = larger(largest_part(numbers[i]), most);
    const Lane factor = scale_to(most, target);
    for (int i = 0; i < count; i++) numbers[i] = scaled(numbers[i], factor);
    return factor;
}

/* Defines a LaneRoutine by name_groups(), which takes the sides of the matrices last: as constants where all are the
 * same and one of the commonest, which need so many numbers of room on the stack. */
#define ROUTINE(name, little_numbers, constant_side, SIDES, ...)                                                       \
    static bool name(const LaneProblem *problem, const char *const *operands, char *const *results, Index groups,      \
                     void *room) {                                                                                     \
        Number little[little_numbers];                                                                                 \
        switch (constant_side) {                                                                                       \
        case 2: return name##_groups(problem, operands, results, groups, little, SIDES(2));                            \
        case 3: return name##_groups(problem, operands, results, groups, little, SIDES(3));                            \
        case 4: return name##_groups(problem, operands, results, groups, little, SIDES(4));                            \
        default: return name##_groups(problem, operands, results, groups, room, __VA_ARGS__);                          \
        }                                                                                                              \
    }
#define ONE_SIDE(n) n
#define BOTH_SIDES(n) n, n
#define SQUARE_ROUTINE(name, little_numbers) ROUTINE(name, little_numbers, problem->rows, ONE_SIDE, problem->rows)
#define RECTANGULAR_ROUTINE(name, little_numbers)                                                                      \
    ROUTINE(name, little_numbers, problem->rows == problem->columns ? problem->rows : 0, BOTH_SIDES, problem->rows,    \
            problem->columns)
