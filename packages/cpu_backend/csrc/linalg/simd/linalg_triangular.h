/* Substitution: systems of triangular matrices (Golub and Van Loan, Matrix Computations, 4th ed., §3.1).
 *
 * Forward goes down from the first unknown, backward up from the last one. Transposed, the matrix is the other triangle,
 * read along its rows. The other triangle may hold anything, and a zero on the diagonal gives what IEEE 754 says; where
 * that is to be checked, elements that are not finite and such zeros need another look. An element beside the diagonal is
 * multiplied by parts of solutions, which are not finite either then.
 */

/* The lanes in which a diagonal has a zero, or what is not finite. */
INLINE Mask bad_on_diagonal(const Number *a, Index stride, int n) {
    Mask bad = no_lane();
    for (int i = 0; i < n; i++)
        bad |= equal(largest_part(a[i + i * stride]), broadcast(0.0)) |
               not_finite((const Lane *)&a[i + i * stride], PARTS);
    return bad;
}

/* Loads the triangle that is read, turned to where its rows are equations; its columns are so many numbers apart. */
INLINE void load_triangle(const LaneProblem *problem, const char *from, Index matrix, Number *a, Index stride,
                          Number *column, int n, bool lower, bool transposed) {
    for (int j = 0; j < n; j++) {
        const int most = n < 4 ? n : 4; /* fewer take longer */
        const int first = !lower ? 0 : j < n - most ? j : n - most;
        const int end = lower ? n : j + 1 > most ? j + 1 : most;
        Number *const to = transposed ? column : a + j * stride;
        load_numbers(problem, from + matrix_bytes(problem, n, j) + matrix_bytes(problem, first, 1), matrix, to + first,
                     end - first);
        for (int i = first; transposed && i < end; i++) a[j + i * stride] = column[i];
    }
}

INLINE bool substitute_large(const LaneProblem *problem, const char *const *operands, char *const *results,
                             Index groups, Number *room, int n, bool forward, bool transposed) {
    const Index bytes = matrix_bytes(problem, n, n), column_bytes = matrix_bytes(problem, n, 1);
    const Index right_bytes = problem->right * column_bytes, stride = n | 1;
    Number *const a = room, *const column = a + n * stride, *const x = column + n;
    Mask bad = no_lane();
    for (Index group = 0; group < groups; group++) {
        const char *const matrices = operands[0] + group * LANES * bytes;
        load_triangle(problem, matrices, bytes, a, stride, column, n, forward != transposed, transposed);
        bad |= bad_on_diagonal(a, stride, n);
        for (Index first = 0; first < problem->right; first += RIGHT_AT_ONCE) {
            const int columns = (int)(problem->right - first < RIGHT_AT_ONCE ? problem->right - first : RIGHT_AT_ONCE);
            const Index offset = group * LANES * right_bytes + first * column_bytes;
            (void)load_padded(problem, operands[1] + offset, right_bytes, x, stride, n, columns);
            if (forward) forward_columns(a, stride, false, x, stride, n, columns);
            else backward_columns(a, stride, x, stride, n, columns);
            for (int c = 0; c < columns; c++) bad |= not_finite((const Lane *)(x + c * stride), n * PARTS);
            store_padded(problem, results[0] + offset, right_bytes, x, stride, n, columns);
        }
    }
    return !(problem->check && any(bad));
}

INLINE bool substitute_groups(const LaneProblem *problem, const char *const *operands, char *const *results,
                              Index groups, Number *room, int n, bool forward, bool transposed) {
    if (!transposed && goes_along_columns(FORWARD, problem))
        return substitute_columns(problem, operands, results, groups * LANES, room, n, forward);
    if (n > LARGEST_CONSTANT_SIDE && n != 6 && n != 8) /* no constant of SQUARE_ROUTINE */
        return substitute_large(problem, operands, results, groups, room, n, forward, transposed);
    const Index bytes = matrix_bytes(problem, n, n), column_bytes = matrix_bytes(problem, n, 1);
    const Index right_bytes = problem->right * column_bytes;
    const int down = transposed ? n : 1, along = transposed ? 1 : n; /* from one row or column to the next */
    Mask bad = no_lane();
    for (Index group = 0; group < groups; group++) {
        Number *const a = room, *const x = a + n * n;
        (void)load_numbers(problem, operands[0] + group * LANES * bytes, bytes, a, n * n);
        bad |= bad_on_diagonal(a, n, n);
        for (Index first = 0; first < problem->right; first += RIGHT_AT_ONCE) {
            const int columns = (int)(problem->right - first < RIGHT_AT_ONCE ? problem->right - first : RIGHT_AT_ONCE);
            const Index offset = group * LANES * right_bytes + first * column_bytes;
            (void)load_numbers(problem, operands[1] + offset, right_bytes, x, n * columns);
#pragma GCC unroll 8
            for (int step = 0; step < n; step++) {
                const int j = forward ? step : n - 1 - step, from = forward ? j + 1 : 0, to = forward ? n : j;
                const Divisor pivot = divisor(a[j + j * n]);
                for (int c = 0; c < columns; c++) {
                    Number *const right = x + c * n;
                    const Number found = right[j] = divide(right[j], pivot);
#pragma GCC unroll 8
                    for (int i = from; i < to; i++)
                        right[i] = subtract_product(right[i], a[i * down + j * along], found);
                }
            }
            store_numbers(problem, results[0] + offset, right_bytes, x, n * columns);
            bad |= not_finite((const Lane *)x, n * columns * PARTS);
        }
    }
    return !(problem->check && any(bad));
}

#define SUBSTITUTION(name, forward, transposed)                                                                        \
    INLINE bool name##_groups(const LaneProblem *problem, const char *const *operands, char *const *results,           \
                              Index groups, Number *room, int n) {                                                     \
        return substitute_groups(problem, operands, results, groups, room, n, forward, transposed);                    \
    }                                                                                                                  \
    SQUARE_ROUTINE(name, SUBSTITUTION_ROOM(LARGEST_CONSTANT_SIDE, RIGHT_AT_ONCE))
SUBSTITUTION(forward, true, false)
SUBSTITUTION(backward, false, false)
SUBSTITUTION(forward_transposed, true, true)
SUBSTITUTION(backward_transposed, false, true)
