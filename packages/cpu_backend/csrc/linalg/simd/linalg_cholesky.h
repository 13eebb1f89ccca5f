/* Cholesky decomposition A = L Lᴴ, column by column (Golub and Van Loan, Matrix Computations, 4th ed., §4.2.5). */

/* Replaces a by its factor; reads the lower triangle alone and clears the upper one. Answers which matrices are not
 * positive definite. */
INLINE Mask cholesky_group(Number *a, int n) {
    Mask bad = no_lane();
    for (int j = 0; j < n; j++) {
        Lane pivot = real_part(a[j + j * n]);
        for (int k = 0; k < j; k++) pivot = -add_square(-pivot, a[j + k * n]);
        bad |= complement(greater(pivot, broadcast(0.0)));
        Lane side = root(pivot);
        a[j + j * n] = number(side);
        for (int i = j + 1; i < n; i++) {
            Number sum = a[i + j * n];
            for (int k = 0; k < j; k++) sum = subtract_product(sum, a[i + k * n], conjugate(a[j + k * n]));
            a[i + j * n] = divide_by_real(sum, side);
        }
        for (int i = 0; i < j; i++) a[i + j * n] = number(broadcast(0.0));
    }
    return bad;
}

INLINE bool cholesky_groups(const LaneProblem *problem, const char *const *operands, char *const *results, Index groups,
                            Number *room, int n) {
    const Index bytes = matrix_bytes(problem, n, n);
    Mask bad = no_lane();
    for (Index group = 0; group < groups; group++) {
        Number *const a = room;
        bad |= load_numbers(problem, operands[0] + group * LANES * bytes, bytes, a, n * n);
        bad |= cholesky_group(a, n);
        store_numbers(problem, results[0] + group * LANES * bytes, bytes, a, n * n);
    }
    return !any(bad);
}

SQUARE_ROUTINE(cholesky, CHOLESKY_ROOM(LARGEST_CONSTANT_SIDE))
