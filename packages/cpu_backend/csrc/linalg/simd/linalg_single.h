/* Systems, inverses and determinants of one matrix: registers hold rows of one column, where the routines of linalg_lu.h
 * hold one element of several matrices. For the last few matrices of a batch, or the only one.
 *
 * Each element has the same products subtracted in the same order, each of them rounded, and is divided in the same way,
 * as there; so results, and which matrices are singular, are the same to the bit. Rows are exchanged as an elimination
 * comes to them, multipliers stay where they arose.
 */

#include "linalg/simd/linalg_rows.h"

typedef struct {
    Number *a; /* its factors: so many blocks of rows in each column, zeros behind the last row */
    int n, blocks;
    int *swaps; /* which row was exchanged with row j */
} Single;

/* The first of the largest elements of a column from row j on; whether that is zero. */
INLINE int pivot_row(const Number *column, int j, int blocks, bool *zero) {
    Lane best = broadcast(-1.0), rows = broadcast(j);
    for (int block = j / LANES; block < blocks; block++) {
        const Lane size = rough_size(column[block]), here = rows_of_block(block);
        const Lane left = block > j / LANES ? size : pick(greater(broadcast(j), here), broadcast(-1.0), size);
        const Mask more = greater(left, best);
        best = pick(more, left, best);
        rows = pick(more, here, rows);
    }
    const double most = largest_lane(best);
    *zero = most == 0.0;
    return (int)-largest_lane(pick(equal(best, broadcast(most)), -rows, broadcast(-LARGEST_SIDE)));
}

/* What a step does to every column on the right, and to right-hand sides: exchanges rows and subtracts products with the
 * multipliers of column j. */
INLINE void eliminate_row(const Number *multipliers, Number *column, int j, int row, int blocks) {
    const Number above = row_number(column, j), top = row_number(column, row);
    const Lane here = broadcast(row);
    const int first = j / LANES;
    const Lane rows = rows_of_block(first);
    const Number left = choose(equal(rows, here), above, column[first]);
    const Number less = subtract_product(left, multipliers[first], top);
    const Lane at = broadcast(j);
    column[first] = choose(greater(rows, at), less, choose(equal(rows, at), top, left));
    for (int block = first + 1; block < blocks; block++) {
        const Number former = choose(equal(rows_of_block(block), here), above, column[block]);
        column[block] = subtract_product(former, multipliers[block], top);
    }
}

/* Replaces the matrix by its factors; answers whether one of the pivots is zero, and adds zeros, or NaN where one is not
 * finite. */
INLINE bool factor_single(const Single *lu, int blocks, Lane *spoilt) {
    bool singular = false;
    for (int j = 0; j < lu->n; j++) {
        Number *const column = lu->a + j * blocks;
        bool zero;
        const int row = pivot_row(column, j, blocks, &zero);
        lu->swaps[j] = row;
        singular |= zero;
        const Number above = row_number(column, j), top = row_number(column, row);
        const Divisor pivot = divisor(zero ? number(broadcast(1.0)) : top);
        for (int part = 0; part < PARTS; part++) *spoilt += ((const Lane *)&top)[part] * 0.0;
        for (int i = j / LANES; zero && i < blocks; i++) /* NaN is no pivot beside the zeros behind the last row */
            for (int part = 0; part < PARTS; part++) *spoilt += ((const Lane *)(column + i))[part] * 0.0;
        for (int block = j / LANES; block < blocks; block++) {
            const Lane rows = rows_of_block(block);
            const Number former = choose(equal(rows, broadcast(row)), above, column[block]);
            const Number kept = choose(equal(rows, broadcast(j)), top, former);
            column[block] = choose(greater(rows, broadcast(j)), divide(former, pivot), kept);
        }
        for (int c = j + 1; c < lu->n; c++) eliminate_row(column, lu->a + c * blocks, j, row, blocks);
    }
    return singular;
}

/* The solutions of so many right-hand sides. */
INLINE void substitute_single(const Single *lu, Number *x, int columns, int blocks) {
    for (int j = 0; j < lu->n; j++)
        for (int c = 0; c < columns; c++) eliminate_row(lu->a + j * blocks, x + c * blocks, j, lu->swaps[j], blocks);
    for (int j = lu->n - 1; j >= 0; j--) {
        const Number *const column = lu->a + j * blocks;
        const ElementDivisor pivot = divisor_at(divisor(row_number(column, j)), 0);
        const int last = j / LANES;
        const Lane rows = rows_of_block(last), at = broadcast(j);
        for (int c = 0; c < columns; c++) {
            Number *const right = x + c * blocks;
            const Number found = number_of(divide_element(element_of(row_number(right, j)), pivot));
            for (int block = 0; block < last; block++)
                right[block] = subtract_product(right[block], column[block], found);
            const Number less = subtract_product(right[last], column[last], found);
            right[last] = choose(greater(at, rows), less, choose(equal(rows, at), found, right[last]));
        }
    }
}

/* Loads a matrix and finds its factors. */
typedef enum { FINE, SINGULAR, REFUSED } Outcome;
INLINE Outcome load_and_factor(const LaneProblem *problem, const char *from, const Single *lu, int blocks) {
    const int n = lu->n;
    Lane spoilt = broadcast(0.0), unread = spoilt;
    for (int j = 0; j < n; j++)
        load_rows(lu->a + j * blocks, from + j * matrix_bytes(problem, n, 1), n, problem->narrow, &unread);
    const bool singular = factor_single(lu, blocks, &spoilt);
    if (any(not_zero(spoilt))) return REFUSED;
    const Lane first_pivot = largest_part(row_number(lu->a, 0));
    if (any(greater(broadcast(0x1p-900), first_pivot)) && one_is_minute(problem, from, 0, n * n, 1)) return REFUSED;
    return singular ? SINGULAR : FINE;
}

INLINE bool solve_one(const LaneProblem *problem, const char *const *operands, char *const *results, const Single *lu,
                      int blocks) {
    const Index column = matrix_bytes(problem, lu->n, 1);
    Number *const x = lu->a + lu->n * blocks;
    if (load_and_factor(problem, operands[0], lu, blocks) != FINE) return false;
    Lane beyond = broadcast(0.0), unread = beyond;
    for (Index first = 0; first < problem->right; first += RIGHT_AT_ONCE) {
        const int columns = (int)smaller(problem->right - first, RIGHT_AT_ONCE);
        for (int c = 0; c < columns; c++)
            load_rows(x + c * blocks, operands[1] + (first + c) * column, lu->n, problem->narrow, &unread);
        substitute_single(lu, x, columns, blocks);
        beyond += zeros_of_solutions(x, blocks, columns);
        for (int c = 0; c < columns; c++)
            store_rows(results[0] + (first + c) * column, x + c * blocks, lu->n, problem->narrow);
    }
    return !(problem->check && any(not_zero(beyond)));
}

INLINE bool inv_one(const LaneProblem *problem, const char *const *operands, char *const *results, const Single *lu,
                    int blocks) {
    const int n = lu->n;
    const Index column = matrix_bytes(problem, n, 1);
    Number *const x = lu->a + n * blocks;
    if (load_and_factor(problem, operands[0], lu, blocks) != FINE) return false;
    for (int c = 0; c < n; c++)
        for (int block = 0; block < blocks; block++)
            x[c * blocks + block] =
                number(pick(equal(rows_of_block(block), broadcast(c)), broadcast(1.0), broadcast(0.0)));
    substitute_single(lu, x, n, blocks);
    for (int c = 0; c < n; c++) store_rows(results[0] + c * column, x + c * blocks, n, problem->narrow);
    return true;
}

/* The pivots and exchanges as lu_scaled_product() wants them. */
INLINE void single_pivots(const Single *lu, Number *pivots, Lane *swaps, int blocks) {
    for (int j = 0; j < lu->n; j++) {
        pivots[j] = row_number(lu->a + j * blocks, j);
        swaps[j] = broadcast(lu->swaps[j]);
    }
}

INLINE void store_one(const LaneProblem *problem, char *to, Number x) {
    Lane *const parts = (Lane *)&x;
    for (int part = 0; part < PARTS; part++) {
        if (problem->narrow) ((float *)to)[part] = (float)parts[part][0];
        else ((double *)to)[part] = parts[part][0];
    }
}

INLINE bool det_one(const LaneProblem *problem, const char *const *operands, char *const *results, const Single *lu,
                    int blocks) {
    if (load_and_factor(problem, operands[0], lu, blocks) == REFUSED) return false;
    Number *const pivots = lu->a + lu->n * blocks;
    Lane *const swaps = (Lane *)(pivots + lu->n);
    single_pivots(lu, pivots, swaps, blocks);
    store_one(problem, results[0], lu_product_group(pivots, 0, swaps, lu->n));
    return true;
}

INLINE bool slogdet_one(const LaneProblem *problem, const char *const *operands, char *const *results, const Single *lu,
                        int blocks) {
    if (load_and_factor(problem, operands[0], lu, blocks) == REFUSED) return false;
    Number *const pivots = lu->a + lu->n * blocks;
    Lane *const swaps = (Lane *)(pivots + lu->n);
    single_pivots(lu, pivots, swaps, blocks);
    Lane logarithms;
    store_one(problem, results[0], lu_sign_group(pivots, 0, swaps, lu->n, &logarithms));
    if (problem->narrow) *(float *)results[1] = (float)logarithms[0];
    else *(double *)results[1] = logarithms[0];
    return true;
}

/* Defines a LaneRoutine by name_one(): for so many matrices, not groups. Most small ones fit into one block. */
#define SINGLE_ROUTINE(name, ...)                                                                                      \
    static bool name##_single(const LaneProblem *problem, const char *const *operands, char *const *results,           \
                              Index count, void *room) {                                                               \
        const int n = problem->rows;                                                                                   \
        const Index bytes = matrix_bytes(problem, n, n), column = matrix_bytes(problem, n, 1);                         \
        const Index result_bytes[] = {__VA_ARGS__};                                                                    \
        int swaps[LARGEST_SIDE];                                                                                       \
        const Single lu = {room, n, (n + LANES - 1) / LANES, swaps};                                                   \
        for (Index i = 0; i < count; i++) {                                                                            \
            const char *const from[] = {operands[0] + i * bytes, operands[1] + i * problem->right * column};           \
            char *const to[] = {results[0] + i * result_bytes[0], results[1] + i * result_bytes[1]};                   \
            if (!(lu.blocks == 1 ? name##_one(problem, from, to, &lu, 1)                                               \
                                 : name##_one(problem, from, to, &lu, lu.blocks)))                                     \
                return false;                                                                                          \
        }                                                                                                              \
        return true;                                                                                                   \
    }
SINGLE_ROUTINE(solve, problem->right *column, 0)
SINGLE_ROUTINE(inv, bytes, 0)
SINGLE_ROUTINE(det, matrix_bytes(problem, 1, 1), 0)
SINGLE_ROUTINE(slogdet, matrix_bytes(problem, 1, 1), matrix_bytes(problem, 1, 1) / PARTS)
