/* LU decomposition with partial pivoting: linear systems, inverses, determinants.
 *
 * Rows are exchanged as LAPACK's xGETRF exchanges them (Golub and Van Loan, Matrix Computations, 4th ed., §3.4), so
 * the pivots are the same. Every lane has a pivot row of its own, found by comparing and moved by selecting.
 * Multipliers stay where they arose, as in LINPACK: to apply the factors to a right-hand side, exchange and eliminate
 * step by step.
 */

#include "linalg/simd/linalg_minute.h"
#include "linalg/simd/linalg_pivots.h"
#include "linalg/simd/linalg_elimination.h"

/* Replaces a by its factors; the diagonal holds the pivots, and swaps[j] which row was exchanged with row j. Answers
 * which matrices have a pivot of zero; their other pivots are found all the same. */
INLINE Mask lu_group(Number *a, Lane *swaps, int n) {
    Mask singular = no_lane();
    for (int j = 0; j < n; j++) {
        Number *column = a + j * n;
        Lane best = rough_size(column[j]), row = broadcast(j);
        for (int i = j + 1; i < n; i++) {
            Lane size = rough_size(column[i]);
            row = pick(greater(size, best), broadcast(i), row);
            best = larger(best, size);
        }
        swaps[j] = row;
        Mask here[LARGEST_SIDE];
        for (int i = j + 1; i < n; i++) here[i] = equal(row, broadcast(i));

        Number former = column[j];
        for (int i = j + 1; i < n; i++) column[j] = choose(here[i], column[i], column[j]);
        Mask zero = equal(best, broadcast(0.0));
        singular |= zero;
        Divisor pivot = divisor(choose(zero, number(broadcast(1.0)), column[j]));
        for (int i = j + 1; i < n; i++) column[i] = divide(choose(here[i], former, column[i]), pivot);

        for (int c = j + 1; c < n; c++) {
            Number *other = a + c * n;
            Number above = other[j], top = above;
            for (int i = j + 1; i < n; i++) top = choose(here[i], other[i], top);
            other[j] = top;
            for (int i = j + 1; i < n; i++)
                other[i] = subtract_product(choose(here[i], above, other[i]), column[i], top);
        }
    }
    return singular;
}

/* Loads matrices and replaces them by their factors; answers which are singular or not finite. */
INLINE Mask lu_load_group(const LaneProblem *problem, const char *from, Index bytes, Number *a, Lane *swaps, int n) {
    const Mask bad = load_numbers(problem, from, bytes, a, n * n);
    return bad | lu_group(a, swaps, n);
}

/* Replaces so many right-hand sides by the solutions. */
INLINE void lu_solve_group(const Number *a, const Lane *swaps, int n, Number *x, int columns) {
    for (int j = 0; j < n; j++) {
        Mask here[LARGEST_SIDE];
        for (int i = j + 1; i < n; i++) here[i] = equal(swaps[j], broadcast(i));
        for (int c = 0; c < columns; c++) {
            Number *right = x + c * n;
            Number above = right[j], top = above;
            for (int i = j + 1; i < n; i++) top = choose(here[i], right[i], top);
            right[j] = top;
            for (int i = j + 1; i < n; i++)
                right[i] = subtract_product(choose(here[i], above, right[i]), a[i + j * n], top);
        }
    }
    for (int j = n - 1; j >= 0; j--) {
        Divisor pivot = divisor(a[j + j * n]);
        for (int c = 0; c < columns; c++) {
            Number *right = x + c * n;
            right[j] = divide(right[j], pivot);
            for (int i = 0; i < j; i++) right[i] = subtract_product(right[i], a[i + j * n], right[j]);
        }
    }
}

INLINE bool solve_groups(const LaneProblem *problem, const char *const *operands, char *const *results, Index groups,
                         Number *room, int n) {
    if (n > LARGEST_MASKED_SIDE) return solve_large(problem, operands, results, groups, room, n);
    const Index bytes = matrix_bytes(problem, n, n), column_bytes = matrix_bytes(problem, n, 1);
    const Index right_bytes = problem->right * column_bytes;
    const int at_once = (int)(problem->right < RIGHT_AT_ONCE ? problem->right : RIGHT_AT_ONCE);
    Mask bad = no_lane();
    for (Index group = 0; group < groups; group++) {
        Number *const a = room, *const x = a + n * n;
        Lane *const swaps = (Lane *)(x + n * at_once);
        bad |= lu_load_group(problem, operands[0] + group * LANES * bytes, bytes, a, swaps, n);
        if (are_minute(problem, operands[0] + group * LANES * bytes, bytes, a[0], n * n)) return false;
        for (Index first = 0; first < problem->right; first += RIGHT_AT_ONCE) {
            const int columns = (int)(problem->right - first < RIGHT_AT_ONCE ? problem->right - first : RIGHT_AT_ONCE);
            const Index offset = group * LANES * right_bytes + first * column_bytes;
            bad |= load_numbers(problem, operands[1] + offset, right_bytes, x, n * columns);
            lu_solve_group(a, swaps, n, x, columns);
            store_numbers(problem, results[0] + offset, right_bytes, x, n * columns);
        }
    }
    return !any(bad);
}

INLINE bool inv_groups(const LaneProblem *problem, const char *const *operands, char *const *results, Index groups,
                       Number *room, int n) {
    if (n > LARGEST_MASKED_INVERSE) return inv_large(problem, operands, results, groups, room, n);
    const Index bytes = matrix_bytes(problem, n, n);
    Mask bad = no_lane();
    for (Index group = 0; group < groups; group++) {
        Number *const a = room, *const x = a + n * n;
        Lane *const swaps = (Lane *)(x + n * n);
        bad |= lu_load_group(problem, operands[0] + group * LANES * bytes, bytes, a, swaps, n);
        if (are_minute(problem, operands[0] + group * LANES * bytes, bytes, a[0], n * n)) return false;
        set_identity(x, n);
        lu_solve_group(a, swaps, n, x, n);
        store_numbers(problem, results[0] + group * LANES * bytes, bytes, x, n * n);
    }
    return !any(bad);
}

INLINE bool det_groups(const LaneProblem *problem, const char *const *operands, char *const *results, Index groups,
                       Number *room, int n) {
    if (n > LARGEST_MASKED_SIDE) return det_large(problem, operands, results, groups, room, n);
    const Index bytes = matrix_bytes(problem, n, n), result_bytes = matrix_bytes(problem, 1, 1);
    Mask bad = no_lane();
    for (Index group = 0; group < groups; group++) {
        Number *const a = room;
        Lane *const swaps = (Lane *)(a + n * n);
        bad |= load_numbers(problem, operands[0] + group * LANES * bytes, bytes, a, n * n);
        lu_group(a, swaps, n);
        if (are_minute(problem, operands[0] + group * LANES * bytes, bytes, a[0], n * n)) return false;
        Number product = lu_product_group(a, n, swaps, n);
        store_numbers(problem, results[0] + group * LANES * result_bytes, result_bytes, &product, 1);
    }
    return !any(bad);
}

INLINE bool slogdet_groups(const LaneProblem *problem, const char *const *operands, char *const *results, Index groups,
                           Number *room, int n) {
    const Index bytes = matrix_bytes(problem, n, n), sign_bytes = matrix_bytes(problem, 1, 1);
    const Index logarithm_bytes = sign_bytes / PARTS;
    Mask bad = no_lane();
    for (Index group = 0; group < groups; group++) {
        Number *const a = room;
        Lane *const swaps = (Lane *)(a + n * n);
        Lane logarithms;
        bad |= load_numbers(problem, operands[0] + group * LANES * bytes, bytes, a, n * n);
        lu_group(a, swaps, n);
        if (are_minute(problem, operands[0] + group * LANES * bytes, bytes, a[0], n * n)) return false;
        Number sign = lu_sign_group(a, n, swaps, n, &logarithms);
        store_numbers(problem, results[0] + group * LANES * sign_bytes, sign_bytes, &sign, 1);
        store_lanes(results[1] + group * LANES * logarithm_bytes, &logarithms, logarithm_bytes, 1, problem->narrow);
    }
    return !any(bad);
}

SQUARE_ROUTINE(solve, SOLVE_ROOM(LARGEST_CONSTANT_SIDE, RIGHT_AT_ONCE))
SQUARE_ROUTINE(inv, INV_ROOM(LARGEST_CONSTANT_SIDE))
SQUARE_ROUTINE(det, DET_ROOM(LARGEST_CONSTANT_SIDE))
SQUARE_ROUTINE(slogdet, DET_ROOM(LARGEST_CONSTANT_SIDE))
