/* What every routine for small matrices uses; include number_real.h or number_complex.h first. */
#include "linalg/simd/lane_memory.h"
#include "linalg/batched_simd.h"

#include <string.h>

INLINE Index matrix_bytes(const LaneProblem *problem, Index rows, Index columns) {
    return rows * columns * PARTS * (Index)(problem->narrow ? sizeof(float) : sizeof(double));
}

/* Loads so many numbers of each matrix of a group, which lie so many bytes apart; answers which matrices are not
 * finite. */
INLINE Mask load_numbers(const LaneProblem *problem, const char *from, Index bytes, Number *numbers, int count) {
    load_lanes((Lane *)numbers, from, bytes, count * PARTS, problem->narrow);
    return not_finite((Lane *)numbers, count * PARTS);
}

enum { LARGEST_PREFETCHED = 8192 }; /* bytes of a group; more would drive from the nearest cache what is computed */

/* Asks for the operands of the group so many groups later. A core that computes between its loads finds out too late
 * what comes next: systems of 8 rows of F64 that come from memory take 0.6 to 0.8 of the time. */
INLINE void prefetch_group(const char *group, Index matrix, Index ahead) {
    if (LANES * matrix > LARGEST_PREFETCHED) return;
    const char *const later = group + ahead * LANES * matrix;
    for (Index at = 0; at < LANES * matrix; at += 64) __builtin_prefetch(later + at);
}

/* Asks for the lines that results of this group go to, unless they go past the caches. */
INLINE void prefetch_results(const LaneProblem *problem, char *group, Index matrix) {
    if (LANES * matrix > LARGEST_PREFETCHED || problem->streams) return;
    for (Index at = 0; at < LANES * matrix; at += 64) __builtin_prefetch(group + at, 1);
}

INLINE void store_numbers(const LaneProblem *problem, char *to, Index bytes, const Number *numbers, int count) {
    const bool streams = problem->streams && has_whole_lines(to, bytes, count * PARTS, problem->narrow);
    if (streams) stream_lanes(to, (const Lane *)numbers, bytes, count * PARTS, problem->narrow);
    else store_lanes(to, (const Lane *)numbers, bytes, count * PARTS, problem->narrow);
}

INLINE void set_identity(Number *a, int n) {
    for (int i = 0; i < n * n; i++) a[i] = number(broadcast(i % (n + 1) == 0));
}

/* Numbers from one column to the next of a larger matrix: odd, for columns a power of two apart share few sets of a
 * cache. Columns of small matrices follow one another. */
INLINE Index padded(int rows) { return rows > LARGEST_JACOBI_SIDE ? rows | 1 : rows; }

/* Between such columns and the matrices of a group; loading answers which are not finite. */
INLINE Mask load_padded(const LaneProblem *problem, const char *from, Index matrix, Number *a, Index stride, int rows,
                        int columns) {
    if (stride == rows) return load_numbers(problem, from, matrix, a, rows * columns);
    Mask bad = no_lane();
    for (int j = 0; j < columns; j++)
        bad |= load_numbers(problem, from + j * matrix_bytes(problem, rows, 1), matrix, a + j * stride, rows);
    return bad;
}

INLINE void store_padded(const LaneProblem *problem, char *to, Index matrix, const Number *a, Index stride, int rows,
                         int columns) {
    if (stride == rows) store_numbers(problem, to, matrix, a, rows * columns);
    else
        for (int j = 0; j < columns; j++)
            store_numbers(problem, to + j * matrix_bytes(problem, rows, 1), matrix, a + j * stride, rows);
}

/* rows x columns becomes columns x rows, nothing conjugated. */
INLINE void transpose_numbers(Number *to, Index to_stride, const Number *from, Index from_stride, int rows,
                              int columns) {
    for (int block = 0; block < columns; block += 8)
        for (int i = 0; i < rows; i++)
            for (int j = block; j < columns && j < block + 8; j++) to[j + i * to_stride] = from[i + j * from_stride];
}

/* The columns of a, of so many numbers each, where `place` of a lane puts them. The room is that of one column. */
INLINE void place_columns(const LaneProblem *problem, char *to, Index matrix, const Number *a, Index stride, int rows,
                          int columns, int (*place)[LARGEST_SIDE], char *room) {
    const Index bytes = matrix_bytes(problem, rows, 1);
    for (int j = 0; j < columns; j++) {
        store_numbers(problem, room, bytes, a + j * stride, rows);
        for (int lane = 0; lane < LANES; lane++)
            memcpy(to + lane * matrix + place[lane][j] * bytes, room + lane * bytes, (size_t)bytes);
    }
}

/* Makes every zero positive. Lanes that need no rotation get the identity, whose products of zeros have signs that depend
 * on when the other lanes are done; and a matrix has the same bits in every place of a batch. */
INLINE void drop_signs_of_zeros(Number *numbers, Index count) {
    for (Index i = 0; i < count * PARTS; i++) ((Lane *)numbers)[i] += broadcast(0.0);
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
 * same and one of the commonest. Those of up to LARGEST_CONSTANT_SIDE need so many numbers of room on the stack. */
#define ROUTINE(name, little_numbers, constant_side, SIDES, ...)                                                       \
    static bool name(const LaneProblem *problem, const char *const *operands, char *const *results, Index groups,      \
                     void *room) {                                                                                     \
        Number little[little_numbers];                                                                                 \
        bool good;                                                                                                     \
        switch (constant_side) {                                                                                       \
        case 2: good = name##_groups(problem, operands, results, groups, little, SIDES(2)); break;                     \
        case 3: good = name##_groups(problem, operands, results, groups, little, SIDES(3)); break;                     \
        case 4: good = name##_groups(problem, operands, results, groups, little, SIDES(4)); break;                     \
        case 6: good = name##_groups(problem, operands, results, groups, room, SIDES(6)); break;                       \
        case 8: good = name##_groups(problem, operands, results, groups, room, SIDES(8)); break;                       \
        default: good = name##_groups(problem, operands, results, groups, room, __VA_ARGS__);                          \
        }                                                                                                              \
        if (problem->streams) finish_streams();                                                                        \
        return good;                                                                                                   \
    }
#define ONE_SIDE(n) n
#define BOTH_SIDES(n) n, n
#define SQUARE_ROUTINE(name, little_numbers) ROUTINE(name, little_numbers, problem->rows, ONE_SIDE, problem->rows)
#define RECTANGULAR_ROUTINE(name, little_numbers)                                                                      \
    ROUTINE(name, little_numbers, problem->rows == problem->columns ? problem->rows : 0, BOTH_SIDES, problem->rows,    \
            problem->columns)

/* Defines the LaneRoutine of single matrices by name_each(), which takes sides, and last whether matrices come alone. */
#define ALONE_ROUTINE(name, ...)                                                                                       \
    static bool name##_single(const LaneProblem *problem, const char *const *operands, char *const *results,           \
                              Index count, void *room) {                                                               \
        return name##_each(problem, operands, results, count, room, __VA_ARGS__, true);                                \
    }
