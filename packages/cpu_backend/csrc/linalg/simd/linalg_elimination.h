/* LU decomposition of larger matrices, for linalg_lu.h: the same steps, a few columns at a time.
 *
 * A column gets all exchanges and products that are due when its turn comes, from registers, so that the matrix goes
 * through the cache once for every few columns and not for each (Golub and Van Loan, Matrix Computations, 4th ed.,
 * §3.2.11, left-looking). Each element has the same products subtracted in the same order as in lu_group(), each of
 * them rounded, so factors are the same to the bit. Rows are exchanged in the whole matrix, as LAPACK's xGETRF does.
 */

typedef struct {
    Number *a; /* columns n | 1 numbers apart */
    Index stride;
    int n;
    Number *fresh; /* room for the columns of a panel, as they come from memory */
    Lane *swaps;   /* which row was exchanged with row j */
    Lane *order;   /* which row came to row i */
} Elimination;

/* Takes its places in the room for so many columns. */
INLINE Elimination elimination(Number *room, int n) {
    const Index stride = n | 1;
    Number *const fresh = room + n * stride;
    Lane *const swaps = (Lane *)(fresh + TILE_COLUMNS * stride);
    return (Elimination){room, stride, n, fresh, swaps, swaps + n};
}

INLINE Number gather_number(const Number *column, Lane rows) {
    Number result;
    for (int part = 0; part < PARTS; part++)
        ((Lane *)&result)[part] = gather((const Lane *)column + part, integers(rows) * PARTS);
    return result;
}

/* Exchanges row j with a row of each lane. */
INLINE void swap_rows(Number *column, int j, Lane row) {
    const Number above = column[j];
    column[j] = gather_number(column, row);
    for (int part = 0; part < PARTS; part++)
        scatter((Lane *)column + part, integers(row) * PARTS, ((const Lane *)&above)[part]);
}

/* Loads so many columns in the order of rows that the exchanges have led to. */
INLINE void load_ordered(const Elimination *lu, const LaneProblem *problem, const char *from, Index matrix, Number *to,
                         int columns) {
    for (int c = 0; c < columns; c++) {
        const char *column = from + c * matrix_bytes(problem, lu->n, 1);
        (void)load_numbers(problem, column, matrix, lu->fresh + c * lu->stride, lu->n);
    }
    for (int i = 0; i < lu->n; i++)
        for (int c = 0; c < columns; c++)
            to[i + c * lu->stride] = gather_number(lu->fresh + c * lu->stride, lu->order[i]);
}

/* Finds the pivots of so many columns from j on, from which all before are eliminated; answers which are zero. */
INLINE Mask factor_panel(const Elimination *lu, int first, int columns) {
    const int n = lu->n, end = first + columns;
    Mask singular = no_lane();
    for (int j = first; j < end; j++) {
        Number *const column = lu->a + j * lu->stride;
        Lane best = rough_size(column[j]), row = broadcast(j);
        for (int i = j + 1; i < n; i++) {
            const Lane size = rough_size(column[i]);
            row = pick(greater(size, best), broadcast(i), row);
            best = larger(best, size);
        }
        lu->swaps[j] = row;
        for (int c = first; c < end; c++) swap_rows(lu->a + c * lu->stride, j, row);
        const Mask zero = equal(best, broadcast(0.0));
        singular |= zero;
        const Divisor pivot = divisor(choose(zero, number(broadcast(1.0)), column[j]));
        for (int i = j + 1; i < n; i++) {
            column[i] = divide(column[i], pivot);
            for (int c = j + 1; c < end; c++) {
                Number *const other = lu->a + c * lu->stride;
                other[i] = subtract_product(other[i], column[i], other[j]);
            }
        }
    }
    return singular;
}

/* Loads matrices and finds their factors; answers which have a pivot of zero, and which have one that is not finite. */
INLINE Mask eliminate(const Elimination *lu, const LaneProblem *problem, const char *from, Index matrix,
                      Mask *infinite) {
    const int n = lu->n;
    Mask singular = no_lane();
    for (int i = 0; i < n; i++) lu->order[i] = broadcast(i);
    for (int first = 0; first < n; first += TILE_COLUMNS) {
        const int columns = n - first < TILE_COLUMNS ? n - first : TILE_COLUMNS;
        Number *const panel = lu->a + first * lu->stride;
        const char *column = from + first * matrix_bytes(problem, n, 1);
        load_ordered(lu, problem, column, matrix, panel, columns);
        if (columns == TILE_COLUMNS) {
            forward_tile(lu->a, lu->stride, true, panel, lu->stride, 0, first, n, TILE_COLUMNS);
            singular |= factor_panel(lu, first, TILE_COLUMNS);
        } else {
            for (int c = 0; c < columns; c++)
                forward_tile(lu->a, lu->stride, true, panel + c * lu->stride, lu->stride, 0, first, n, 1);
            singular |= factor_panel(lu, first, columns);
        }
        for (int c = 0; c < first; c++)
            for (int j = first; j < first + columns; j++) swap_rows(lu->a + c * lu->stride, j, lu->swaps[j]);
        for (int j = first; j < first + columns; j++) { /* in the order of rows, too, which has no parts */
            const Lane above = lu->order[j];
            lu->order[j] = gather(lu->order, integers(lu->swaps[j]));
            scatter(lu->order, integers(lu->swaps[j]), above);
        }
    }
    *infinite |= not_zero(zeros_of_pivots(lu->a, lu->stride, n));
    return singular;
}

/* The inverse of L U into x, whose columns are as far apart: that of L is lower triangular. */
INLINE void invert(const Elimination *lu, Number *x) {
    const Index stride = lu->stride;
    const int n = lu->n;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) x[i + j * stride] = number(broadcast(i == j));
    int c = 0;
    for (; c + TILE_COLUMNS <= n; c += TILE_COLUMNS)
        forward_tile(lu->a, stride, true, x + c * stride, stride, c, n, n, TILE_COLUMNS);
    for (; c < n; c++) forward_tile(lu->a, stride, true, x + c * stride, stride, c, n, n, 1);
    backward_columns(lu->a, stride, x, stride, n, n);
}

INLINE bool solve_large(const LaneProblem *problem, const char *const *operands, char *const *results, Index groups,
                        Number *room, int n) {
    const Index bytes = matrix_bytes(problem, n, n), column_bytes = matrix_bytes(problem, n, 1);
    const Index right_bytes = problem->right * column_bytes;
    const Elimination lu = elimination(room, n);
    Number *const x = (Number *)(lu.order + n);
    Mask bad = no_lane();
    Lane beyond = broadcast(0.0);
    for (Index group = 0; group < groups; group++) {
        bad |= eliminate(&lu, problem, operands[0] + group * LANES * bytes, bytes, &bad);
        if (are_minute(problem, operands[0] + group * LANES * bytes, bytes, lu.a[0], n * n)) return false;
        for (Index first = 0; first < problem->right; first += RIGHT_AT_ONCE) {
            const int columns = (int)(problem->right - first < RIGHT_AT_ONCE ? problem->right - first : RIGHT_AT_ONCE);
            const Index offset = group * LANES * right_bytes + first * column_bytes;
            for (int c = 0; c < columns; c++)
                load_ordered(&lu, problem, operands[1] + offset + c * column_bytes, right_bytes, x + c * lu.stride, 1);
            forward_columns(lu.a, lu.stride, true, x, lu.stride, n, columns);
            backward_columns(lu.a, lu.stride, x, lu.stride, n, columns);
            beyond += zeros_of_solutions(x, lu.stride, columns);
            store_padded(problem, results[0] + offset, right_bytes, x, lu.stride, n, columns);
        }
    }
    return !any(bad) && !(problem->check && any(not_zero(beyond)));
}

INLINE bool inv_large(const LaneProblem *problem, const char *const *operands, char *const *results, Index groups,
                      Number *room, int n) {
    const Index bytes = matrix_bytes(problem, n, n);
    const Elimination lu = elimination(room, n);
    Number *const x = (Number *)(lu.order + n);
    int place[LANES][LARGEST_SIDE];
    Mask bad = no_lane();
    for (Index group = 0; group < groups; group++) {
        bad |= eliminate(&lu, problem, operands[0] + group * LANES * bytes, bytes, &bad);
        if (are_minute(problem, operands[0] + group * LANES * bytes, bytes, lu.a[0], n * n)) return false;
        invert(&lu, x);
        for (int i = 0; i < n; i++)
            for (int lane = 0; lane < LANES; lane++) place[lane][i] = (int)lu.order[i][lane];
        place_columns(problem, results[0] + group * LANES * bytes, bytes, x, lu.stride, n, n, place, (char *)lu.fresh);
    }
    return !any(bad);
}

INLINE bool det_large(const LaneProblem *problem, const char *const *operands, char *const *results, Index groups,
                      Number *room, int n) {
    const Index bytes = matrix_bytes(problem, n, n), result_bytes = matrix_bytes(problem, 1, 1);
    const Elimination lu = elimination(room, n);
    Mask bad = no_lane();
    for (Index group = 0; group < groups; group++) {
        eliminate(&lu, problem, operands[0] + group * LANES * bytes, bytes, &bad);
        if (are_minute(problem, operands[0] + group * LANES * bytes, bytes, lu.a[0], n * n)) return false;
        Number product = lu_product_group(lu.a, lu.stride, lu.swaps, n);
        store_numbers(problem, results[0] + group * LANES * result_bytes, result_bytes, &product, 1);
    }
    return !any(bad);
}

INLINE bool slogdet_large(const LaneProblem *problem, const char *const *operands, char *const *results, Index groups,
                          Number *room, int n) {
    const Index bytes = matrix_bytes(problem, n, n), sign_bytes = matrix_bytes(problem, 1, 1);
    const Index logarithm_bytes = sign_bytes / PARTS;
    const Elimination lu = elimination(room, n);
    Mask bad = no_lane();
    for (Index group = 0; group < groups; group++) {
        Lane logarithms;
        eliminate(&lu, problem, operands[0] + group * LANES * bytes, bytes, &bad);
        if (are_minute(problem, operands[0] + group * LANES * bytes, bytes, lu.a[0], n * n)) return false;
        Number sign = lu_sign_group(lu.a, lu.stride, lu.swaps, n, &logarithms);
        store_numbers(problem, results[0] + group * LANES * sign_bytes, sign_bytes, &sign, 1);
        store_lanes(results[1] + group * LANES * logarithm_bytes, &logarithms, logarithm_bytes, 1, problem->narrow);
    }
    return !any(bad);
}
