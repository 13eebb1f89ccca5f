/* LU decomposition with partial pivoting: linear systems, inverses, determinants.
 *
 * Rows are exchanged as LAPACK's xGETRF exchanges them (Golub and Van Loan, Matrix Computations, 4th ed., §3.4), so
 * the pivots are the same. Every lane has a pivot row of its own, found by comparing and moved by selecting.
 * Multipliers stay where they arose, as in LINPACK: to apply the factors to a right-hand side, exchange and eliminate
 * step by step.
 */

#include "linalg/simd/linalg_range.h"
#include "linalg/simd/linalg_pivots.h"
#include "linalg/simd/linalg_elimination.h"

/* A row of a column, among those of which the largest becomes the pivot. */
typedef struct {
    Lane size, row;
    Number number;
} Candidate;

/* The second where it is larger. */
INLINE Candidate better_of(Candidate first, Candidate second) {
    const Mask better = greater(second.size, first.size);
    return (Candidate){pick(better, second.size, first.size), pick(better, second.row, first.row),
                       choose(better, second.number, first.number)};
}

/* The first of the largest of so many, two by two, as each comparison waits for those before. */
INLINE Candidate best_of(Candidate *rows, int count) {
#pragma GCC unroll 4
    for (int level = 0; level < 4; level++) {
#pragma GCC unroll 8
        for (int i = 0; i < count / 2; i++) rows[i] = better_of(rows[2 * i], rows[2 * i + 1]);
        if (count % 2) rows[count / 2] = rows[count - 1];
        count = (count + 1) / 2;
    }
    return rows[0];
}

/* Exchanges the first of so many rows of a column with the row of the pivot, and subtracts what it is multiplied by from
 * the others. */
INLINE void lu_subtract(Number *x, const Number *multipliers, const Bits *here, int rows) {
    const Number above = x[0];
#pragma GCC unroll 16
    for (int i = 1; i < rows; i++) x[0] = choose_whole(here[i], x[i], x[0]);
#pragma GCC unroll 16
    for (int i = 1; i < rows; i++) x[i] = subtract_product(choose_whole(here[i], above, x[i]), multipliers[i], x[0]);
}

/* Which of so many rows is the one of the pivot, `row` from the first. */
INLINE void lu_rows(Lane row, int rows, Bits *here) {
#pragma GCC unroll 16
    for (int i = 1; i < rows; i++) here[i] = whole_mask(equal(row, broadcast(i)));
}

INLINE void copy_rows(Number *to, const Number *from, int rows) {
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) to[i] = from[i];
}

/* Finds the pivot of column j of n, of which so many rows are left, exchanges rows, and divides what is below. First it
 * subtracts what is due to the pivot before. Answers where it is zero. */
INLINE Mask lu_pivot(Number *a, Lane *swaps, int n, int j, int rows) {
    Number *const column = a + j + j * n;
    Number due[LARGEST_MASKED_SIDE + 1], *const x = due + 1;
    Candidate candidates[LARGEST_MASKED_SIDE];
    copy_rows(x, column, rows);
    if (j > 0) {
        Bits here[LARGEST_MASKED_SIDE + 1];
        due[0] = column[-1];
        lu_rows(swaps[j - 1] - (double)(j - 1), rows + 1, here);
        lu_subtract(due, column - n - 1, here, rows + 1);
        column[-1] = due[0];
    }
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) candidates[i] = (Candidate){rough_size(x[i]), broadcast(i), x[i]};
    const Candidate best = best_of(candidates, rows);
    const Mask zero = equal(best.size, broadcast(0.0));
    const Divisor by = divisor(choose(zero, number(broadcast(1.0)), best.number));
    swaps[j] = best.row + (double)j;
    column[0] = best.number;
#pragma GCC unroll 16
    for (int i = 1; i < rows; i++) column[i] = divide(choose(equal(best.row, broadcast(i)), x[0], x[i]), by);
    return zero;
}

/* What columns behind the next pivot's get from that of column j, from which on so many rows are left. */
INLINE void lu_rest(Number *a, const Lane *swaps, int n, int j, int rows) {
    Number *const column = a + j + j * n;
    Number multipliers[LARGEST_MASKED_SIDE + 1], x[LARGEST_MASKED_SIDE + 1];
    Bits here[LARGEST_MASKED_SIDE + 1];
    lu_rows(swaps[j] - (double)j, rows, here);
    copy_rows(multipliers, column, rows);
    for (int c = 2; c < rows; c++) {
        copy_rows(x, column + c * n, rows);
        lu_subtract(x, multipliers, here, rows);
        copy_rows(column + c * n, x, rows);
    }
}

/* A step: a pivot is looked for before columns behind it get what is due, which fills the time in which it waits. */
INLINE Mask lu_step(Number *a, Lane *swaps, int n, int j, int rows) {
    const Mask zero = lu_pivot(a, swaps, n, j, rows);
    if (j > 0) lu_rest(a, swaps, n, j - 1, rows + 1);
    return zero;
}

/* Replaces a by its factors; the diagonal holds the pivots, and swaps[j] which row was exchanged with row j. Answers
 * which matrices have a pivot of zero; their other pivots are found all the same. */
INLINE Mask lu_steps(Number *a, Lane *swaps, int n) {
    Mask singular = no_lane();
#pragma GCC unroll 8
    for (int j = 0; j < n; j++) singular |= lu_step(a, swaps, n, j, n - j);
    return singular;
}

/* What a row of so many above it gets from right-hand sides, going up; the row itself is divided by the pivot. */
INLINE void lu_back_step(const Number *a, int n, int j, Number *x, int columns, int above) {
    const Divisor pivot = divisor(a[j + j * n]);
    for (int c = 0; c < columns; c++) {
        Number *const right = x + c * n;
        const Number found = right[j] = divide(right[j], pivot);
#pragma GCC unroll 16
        for (int i = 0; i < above; i++) right[i] = subtract_product(right[i], a[i + j * n], found);
    }
}

/* The same going down, with rows exchanged. */
INLINE void lu_forward_step(const Number *a, const Lane *swaps, int n, int j, Number *x, int columns, int rows) {
    Bits here[LARGEST_MASKED_SIDE];
    lu_rows(swaps[j] - (double)j, rows, here);
    for (int c = 0; c < columns; c++) lu_subtract(x + j + c * n, a + j + j * n, here, rows);
}

/* Replaces so many right-hand sides by the solutions. */
INLINE void lu_solve_steps(const Number *a, const Lane *swaps, int n, Number *x, int columns) {
#pragma GCC unroll 8
    for (int j = 0; j < n; j++) lu_forward_step(a, swaps, n, j, x, columns, n - j);
#pragma GCC unroll 8
    for (int j = n - 1; j >= 0; j--) lu_back_step(a, n, j, x, columns, j);
}

/* Both with the number of rows as a constant: what a step does to a column then has no loop, and stays in registers. Up
 * to 8 rows whole matrices are taken so, beyond steps, which matrices of all sides have in common. */
#define LU_OF_SIDE(side)                                                                                               \
    static __attribute__((noinline)) Mask lu_of_##side(Number *a, Lane *swaps) { return lu_steps(a, swaps, side); }    \
    static __attribute__((noinline)) void lu_solve_##side(const Number *a, const Lane *swaps, Number *x,               \
                                                          int columns) {                                               \
        lu_solve_steps(a, swaps, side, x, columns);                                                                    \
    }
#define LU_STEP_OF(rows)                                                                                               \
    static __attribute__((noinline)) Mask lu_step_##rows(Number *a, Lane *swaps, int n) {                              \
        return lu_step(a, swaps, n, n - rows, rows);                                                                   \
    }                                                                                                                  \
    static __attribute__((noinline)) void lu_forward_##rows(const Number *a, const Lane *swaps, int n, Number *x,      \
                                                            int columns) {                                             \
        lu_forward_step(a, swaps, n, n - rows, x, columns, rows);                                                      \
    }                                                                                                                  \
    static __attribute__((noinline)) void lu_back_##rows(const Number *a, int n, Number *x, int columns) {             \
        lu_back_step(a, n, rows - 1, x, columns, rows - 1);                                                            \
    }
#define EACH_WHOLE_SIDE(DO) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8)
#define EACH_STEP(DO) EACH_WHOLE_SIDE(DO) DO(9) DO(10) DO(11) DO(12) DO(13) DO(14) DO(15) DO(16)
EACH_WHOLE_SIDE(LU_OF_SIDE)
EACH_STEP(LU_STEP_OF)
#define LU_AT_SIDE(side) [side] = lu_of_##side,
#define LU_SOLVE_AT_SIDE(side) [side] = lu_solve_##side,
#define LU_STEP_AT(rows) [rows] = lu_step_##rows,
#define LU_FORWARD_AT(rows) [rows] = lu_forward_##rows,
#define LU_BACK_AT(rows) [rows] = lu_back_##rows,

static Mask (*const LU[])(Number *, Lane *) = {EACH_WHOLE_SIDE(LU_AT_SIDE)};
static void (*const LU_SOLVE[])(const Number *, const Lane *, Number *, int) = {EACH_WHOLE_SIDE(LU_SOLVE_AT_SIDE)};
static Mask (*const LU_STEP[])(Number *, Lane *, int) = {EACH_STEP(LU_STEP_AT)};
static void (*const LU_FORWARD[])(const Number *, const Lane *, int, Number *, int) = {EACH_STEP(LU_FORWARD_AT)};
static void (*const LU_BACK[])(const Number *, int, Number *, int) = {EACH_STEP(LU_BACK_AT)};
enum { LARGEST_WHOLE_SIDE = 8 };

/* Of so few rows, where a routine has them as a constant, the steps take no longer than a call. */
enum { LARGEST_INLINE_SIDE = 3 };

INLINE Mask lu_group(Number *a, Lane *swaps, int n) {
    if (__builtin_constant_p(n) && n <= LARGEST_INLINE_SIDE) return lu_steps(a, swaps, n);
    if (n <= LARGEST_WHOLE_SIDE) return LU[n](a, swaps);
    Mask singular = no_lane();
    for (int rows = n; rows > 0; rows--) singular |= LU_STEP[rows](a, swaps, n);
    return singular;
}

INLINE void lu_solve_group(const Number *a, const Lane *swaps, int n, Number *x, int columns) {
    if (__builtin_constant_p(n) && n <= LARGEST_INLINE_SIDE) lu_solve_steps(a, swaps, n, x, columns);
    else if (n <= LARGEST_WHOLE_SIDE) LU_SOLVE[n](a, swaps, x, columns);
    else {
        for (int rows = n; rows > 0; rows--) LU_FORWARD[rows](a, swaps, n, x, columns);
        for (int rows = n; rows > 0; rows--) LU_BACK[rows](a, n, x, columns);
    }
}

/* Loads matrices and replaces them by their factors; answers which are singular, and adds zeros, or NaN where a pivot is
 * not finite. */
INLINE Mask lu_load_group(const LaneProblem *problem, const char *from, Index bytes, Number *a, Lane *swaps, int n,
                          Lane *infinite) {
    (void)load_numbers(problem, from, bytes, a, n * n);
    prefetch_group(from, bytes, 1);
    const Mask singular = lu_group(a, swaps, n);
    *infinite += zeros_of_pivots(a, n, n);
    return singular;
}

INLINE bool solve_groups(const LaneProblem *problem, const char *const *operands, char *const *results, Index groups,
                         Number *room, int n) {
    if (n > LARGEST_MASKED_SIDE) return solve_large(problem, operands, results, groups, room, n);
    const Index bytes = matrix_bytes(problem, n, n), column_bytes = matrix_bytes(problem, n, 1);
    const Index right_bytes = problem->right * column_bytes;
    const int at_once = (int)(problem->right < RIGHT_AT_ONCE ? problem->right : RIGHT_AT_ONCE);
    Mask singular = no_lane();
    Lane infinite = broadcast(0.0), beyond = infinite;
    for (Index group = 0; group < groups; group++) {
        Number *const a = room, *const x = a + n * n;
        Lane *const swaps = (Lane *)(x + n * at_once);
        singular |= lu_load_group(problem, operands[0] + group * LANES * bytes, bytes, a, swaps, n, &infinite);
        prefetch_group(operands[1] + group * LANES * right_bytes, right_bytes, 1);
        if (are_minute(problem, operands[0] + group * LANES * bytes, bytes, a[0], n * n)) return false;
        for (Index first = 0; first < problem->right; first += RIGHT_AT_ONCE) {
            const int columns = (int)(problem->right - first < RIGHT_AT_ONCE ? problem->right - first : RIGHT_AT_ONCE);
            const Index offset = group * LANES * right_bytes + first * column_bytes;
            (void)load_numbers(problem, operands[1] + offset, right_bytes, x, n * columns);
            lu_solve_group(a, swaps, n, x, columns);
            beyond += zeros_of_solutions(x, n, columns);
            store_numbers(problem, results[0] + offset, right_bytes, x, n * columns);
        }
    }
    return !any(singular | not_zero(infinite)) && !(problem->check && any(not_zero(beyond)));
}

INLINE bool inv_groups(const LaneProblem *problem, const char *const *operands, char *const *results, Index groups,
                       Number *room, int n) {
    if (n > LARGEST_MASKED_SIDE) return inv_large(problem, operands, results, groups, room, n);
    const Index bytes = matrix_bytes(problem, n, n);
    Mask singular = no_lane();
    Lane infinite = broadcast(0.0);
    for (Index group = 0; group < groups; group++) {
        Number *const a = room, *const x = a + n * n;
        Lane *const swaps = (Lane *)(x + n * n);
        singular |= lu_load_group(problem, operands[0] + group * LANES * bytes, bytes, a, swaps, n, &infinite);
        if (are_minute(problem, operands[0] + group * LANES * bytes, bytes, a[0], n * n)) return false;
        prefetch_results(problem, results[0] + group * LANES * bytes, bytes);
        set_identity(x, n);
        lu_solve_group(a, swaps, n, x, n);
        store_numbers(problem, results[0] + group * LANES * bytes, bytes, x, n * n);
    }
    return !any(singular | not_zero(infinite));
}

INLINE bool det_groups(const LaneProblem *problem, const char *const *operands, char *const *results, Index groups,
                       Number *room, int n) {
    if (n > LARGEST_MASKED_SIDE) return det_large(problem, operands, results, groups, room, n);
    const Index bytes = matrix_bytes(problem, n, n), result_bytes = matrix_bytes(problem, 1, 1);
    Lane infinite = broadcast(0.0);
    for (Index group = 0; group < groups; group++) {
        Number *const a = room;
        Lane *const swaps = (Lane *)(a + n * n);
        (void)lu_load_group(problem, operands[0] + group * LANES * bytes, bytes, a, swaps, n, &infinite);
        if (are_minute(problem, operands[0] + group * LANES * bytes, bytes, a[0], n * n)) return false;
        Number product = lu_product_group(a, n, swaps, n);
        store_numbers(problem, results[0] + group * LANES * result_bytes, result_bytes, &product, 1);
    }
    return !any(not_zero(infinite));
}

INLINE bool slogdet_groups(const LaneProblem *problem, const char *const *operands, char *const *results, Index groups,
                           Number *room, int n) {
    if (n > LARGEST_MASKED_SIDE) return slogdet_large(problem, operands, results, groups, room, n);
    const Index bytes = matrix_bytes(problem, n, n), sign_bytes = matrix_bytes(problem, 1, 1);
    const Index logarithm_bytes = sign_bytes / PARTS;
    Lane infinite = broadcast(0.0);
    for (Index group = 0; group < groups; group++) {
        Number *const a = room;
        Lane *const swaps = (Lane *)(a + n * n);
        Lane logarithms;
        (void)lu_load_group(problem, operands[0] + group * LANES * bytes, bytes, a, swaps, n, &infinite);
        if (are_minute(problem, operands[0] + group * LANES * bytes, bytes, a[0], n * n)) return false;
        Number sign = lu_sign_group(a, n, swaps, n, &logarithms);
        store_numbers(problem, results[0] + group * LANES * sign_bytes, sign_bytes, &sign, 1);
        store_lanes(results[1] + group * LANES * logarithm_bytes, &logarithms, logarithm_bytes, 1, problem->narrow);
    }
    return !any(not_zero(infinite));
}

SQUARE_ROUTINE(solve, SOLVE_ROOM(LARGEST_CONSTANT_SIDE, RIGHT_AT_ONCE))
SQUARE_ROUTINE(inv, INV_ROOM(LARGEST_CONSTANT_SIDE))
SQUARE_ROUTINE(det, DET_ROOM(LARGEST_CONSTANT_SIDE))
SQUARE_ROUTINE(slogdet, DET_ROOM(LARGEST_CONSTANT_SIDE))
