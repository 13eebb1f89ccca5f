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
        const Quotient by_side = quotient_by(side);
        a[j + j * n] = number(side);
        for (int i = j + 1; i < n; i++) {
            Number sum = a[i + j * n];
            for (int k = 0; k < j; k++) sum = subtract_product(sum, a[i + k * n], conjugate(a[j + k * n]));
            a[i + j * n] = divide_by(sum, by_side);
        }
        for (int i = 0; i < j; i++) a[i + j * n] = number(broadcast(0.0));
    }
    return bad;
}

/* The same for larger matrices, whose columns are so many numbers apart, a few columns at a time from registers; for so
 * many groups, a constant, side by side, as each column waits for a root and a quotient of the one before. */
INLINE Mask cholesky_tiled(Number *groups, Index stride, int n, int many) {
    Mask bad = no_lane();
    for (int first = 0; first < n; first += TILE_COLUMNS) {
        const int end = first + TILE_COLUMNS < n ? first + TILE_COLUMNS : n;
        for (int g = 0; g < many; g++) {
            Number *const a = groups + g * n * stride, *const panel = a + first * stride;
            const TileFactor above = {a + first, 1, stride};
            if (end == first + TILE_COLUMNS)
                subtract_rows(panel + first, stride, n - first, TILE_COLUMNS, a + first, stride, above, true, first);
            else
                for (int c = 0; c < end - first; c++)
                    subtract_rows(panel + first + c * stride, stride, n - first, 1, a + first, stride,
                                  (TileFactor){above.at + c, 1, stride}, true, first);
        }
        for (int j = first; j < end; j++) {
            Lane side[AT_ONCE];
            Quotient by_side[AT_ONCE];
            for (int g = 0; g < many; g++) {
                const Lane pivot = real_part(groups[g * n * stride + j + j * stride]);
                side[g] = root(pivot);
                by_side[g] = quotient_by(side[g]);
                bad |= complement(greater(pivot, broadcast(0.0)));
            }
            for (int g = 0; g < many; g++) {
                Number *const a = groups + g * n * stride, *const column = a + j * stride;
                for (int i = 0; i < j; i++) column[i] = number(broadcast(0.0));
                column[j] = number(side[g]);
                for (int i = j + 1; i < n; i++) {
                    column[i] = divide_by(column[i], by_side[g]);
                    for (int c = j + 1; c < end && c <= i; c++)
                        a[i + c * stride] = subtract_product(a[i + c * stride], column[i], conjugate(column[c]));
                }
            }
        }
    }
    return bad;
}

/* The same with the number of rows as a constant, so that nothing is left of loops. */
INLINE Mask cholesky_whole(Number *groups, int n, int many) {
    Mask bad = no_lane();
#pragma GCC unroll 8
    for (int j = 0; j < n; j++) {
        Lane side[AT_ONCE];
        Quotient by_side[AT_ONCE];
#pragma GCC unroll 2
        for (int g = 0; g < many; g++) {
            const Lane pivot = real_part(groups[g * n * n + j + j * n]);
            side[g] = root(pivot);
            by_side[g] = quotient_by(side[g]);
            bad |= complement(greater(pivot, broadcast(0.0)));
        }
#pragma GCC unroll 2
        for (int g = 0; g < many; g++) {
            Number *const a = groups + g * n * n, *const column = a + j * n;
#pragma GCC unroll 8
            for (int i = 0; i < j; i++) column[i] = number(broadcast(0.0));
            column[j] = number(side[g]);
#pragma GCC unroll 8
            for (int i = j + 1; i < n; i++) column[i] = divide_by(column[i], by_side[g]);
#pragma GCC unroll 8
            for (int c = j + 1; c < n; c++)
#pragma GCC unroll 8
                for (int i = c; i < n; i++)
                    a[i + c * n] = subtract_product(a[i + c * n], column[i], conjugate(column[c]));
        }
    }
    return bad;
}

/* So many groups side by side, from one on. */
INLINE Mask cholesky_side_by_side(const LaneProblem *problem, const char *from, char *to, Number *a, int n, int many) {
    const bool whole = __builtin_constant_p(n) && n <= LARGEST_PAIRED_SIDE;
    const Index bytes = matrix_bytes(problem, n, n), stride = whole ? n : n | 1;
    Mask bad = no_lane();
    for (int g = 0; g < many; g++) {
        bad |= load_padded(problem, from + g * LANES * bytes, bytes, a + g * n * stride, stride, n, n);
        prefetch_group(from + g * LANES * bytes, bytes, many);
    }
    bad |= whole ? cholesky_whole(a, n, many) : cholesky_tiled(a, stride, n, many);
    for (int g = 0; g < many; g++)
        store_padded(problem, to + g * LANES * bytes, bytes, a + g * n * stride, stride, n, n);
    return bad;
}

INLINE bool cholesky_groups(const LaneProblem *problem, const char *const *operands, char *const *results, Index groups,
                            Number *room, int n) {
    const Index bytes = matrix_bytes(problem, n, n);
    Mask bad = no_lane();
    Index group = 0;
    for (; n > LARGEST_CONSTANT_SIDE && n <= LARGEST_PAIRED_SIDE && group + 2 <= groups; group += 2)
        bad |= cholesky_side_by_side(problem, operands[0] + group * LANES * bytes, results[0] + group * LANES * bytes,
                                     room, n, AT_ONCE);
    for (; group < groups; group++) {
        const char *const from = operands[0] + group * LANES * bytes;
        char *const to = results[0] + group * LANES * bytes;
        if (n > LARGEST_CONSTANT_SIDE) bad |= cholesky_side_by_side(problem, from, to, room, n, 1);
        else {
            bad |= load_numbers(problem, from, bytes, room, n * n);
            prefetch_group(from, bytes, 1);
            bad |= cholesky_group(room, n);
            store_numbers(problem, to, bytes, room, n * n);
        }
    }
    return !any(bad);
}

SQUARE_ROUTINE(cholesky, CHOLESKY_ROOM(LARGEST_CONSTANT_SIDE))
