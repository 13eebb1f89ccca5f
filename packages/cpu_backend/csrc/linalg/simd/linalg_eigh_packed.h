/* Eigenvalues and eigenvectors of single Hermitian matrices of 5 to 8 rows, by the rotations of linalg_eigh.h with a lane
 * for every column (linalg_packed.h). All rows are in registers, and both triangles are kept.
 */
#if LANES == 8

/* The elements that the next round rotates away, conjugated in the upper lanes, for pairs of rows a half apart. */
INLINE Number packed_corner(const Number *rows, int half) {
    Number of_pair[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        const int pair = i < half ? i : half - 1;
        of_pair[i] = choose(LOWER_LANES, rows[half + pair], rows[pair]);
    }
    return choose(0xcc, choose(0x88, of_pair[3], of_pair[2]), choose(0x22, of_pair[1], of_pair[0]));
}

/* choose() by a mask that the compiler knows, which has lanes of both kinds or not. */
INLINE Number choose_known(Mask mask, Number yes, Number no) {
    return mask == 0 ? no : mask == (Mask)~0 ? yes : choose(mask, yes, no);
}

/* The two rows of pair i, turned by columns and by rows, where the next round wants them. A block whose row comes after
 * its column is turned by columns first, and one that comes before by rows, as its mirror image is. */
INLINE void eigh_turn_pair(const Number *rows, Number *next, int i, int half, Number turn, Number moved_turn,
                           Number left, const Moves *moves) {
    const Number upper_turn = conjugate(spread(turn, i)), lower_turn = conjugate(spread(turn, 4 + i));
    const Number upper = permuted(rows[i], moves->moved), upper_crossed = permuted(rows[i], moves->crossed);
    const Number lower = permuted(rows[half + i], moves->moved);
    const Number lower_crossed = permuted(rows[half + i], moves->crossed);
    Mask columns_first = i + 1 < half ? 0 : (Mask)~0; /* what becomes of its own block is known */
#pragma GCC unroll 4
    for (int j = 0; j < i; j++)
        columns_first |=
            (Mask)(1u << lane_of(next_place(j, half), half) | 1u << lane_of(next_place(half + j, half), half));
    const Number first = choose_known(columns_first, moved_turn, upper_turn);
    const Number last = choose_known(columns_first, upper_turn, moved_turn);
    const Number lower_first = choose_known(columns_first, moved_turn, lower_turn);
    const Number lower_last = choose_known(columns_first, lower_turn, moved_turn);
    const Number x = add_product(upper, first, choose_known(columns_first, upper_crossed, lower));
    const Number x_other = add_product(choose_known(columns_first, lower, upper_crossed), first, lower_crossed);
    const Number y = add_product(lower, lower_first, choose_known(columns_first, lower_crossed, upper));
    const Number y_other = add_product(choose_known(columns_first, upper, lower_crossed), lower_first, upper_crossed);
    const Mask of_first = (Mask)(1u << lane_of(next_place(i, half), half));
    const Mask of_second = (Mask)(1u << lane_of(next_place(half + i, half), half));
    next[next_place(i, half)] = choose(of_second, left, add_product(x, last, x_other));
    next[next_place(half + i, half)] = choose(of_first, left, add_product(y, lower_last, y_other));
}

/* What eigh_settle() does. */
INLINE void eigh_settle_packed(Number *rows, Lane *weights, Number *v, int n, int half) {
    if (!any(greater(broadcast(LIGHT), *weights))) return;
    const Lane factor = settled(weights, false);
    for (int place = 0; place < 2 * half; place++) {
        const Bits from = (Bits){0} + (uint64_t)lane_of(place, half);
        rows[place] = scaled(rows[place], factor * permuted_lane(factor, from));
    }
    for (int i = 0; v != NULL && i < n; i++) v[i] = scaled(v[i], factor);
}

/* Makes the rows diagonal; values have the diagonal, before and afterwards, v, rows of a unit matrix unless it is NULL,
 * become the eigenvectors. Answers whether the matrix has converged. */
INLINE bool eigh_iterate_packed(const Number *given, Lane *diagonal, Number *v, int n, bool narrow, int half) {
    const Moves moves = moves_of(half);
    Number rows[PACKED_SIDE];
#pragma GCC unroll 8
    for (int place = 0; place < 2 * half; place++) rows[place] = given[place];
    PackedPairs pairs = {.values = *diagonal, .weights = broadcast(1.0), .going = 1};
    for (int sweep = 0; sweep < MOST_SWEEPS && any(pairs.going); sweep++) {
        eigh_settle_packed(rows, &pairs.weights, v, n, half);
        pair_columns(&pairs);
        for (int round = 0; round < 2 * half - 1; round++) {
            const Corner corner = corner_of_pairs(&pairs, packed_corner(rows, half));
            const PackedRotation r = packed_rotation(&corner, eigh_needs_rotation(&corner, narrow), narrow);
            const Number left = permuted(scaled(corner.g, r.rest), moves.moved);
            const Number moved_turn = permuted(r.turn, moves.moved);
            Number next[PACKED_SIDE];
#pragma GCC unroll 4
            for (int i = 0; i < half; i++) eigh_turn_pair(rows, next, i, half, r.turn, moved_turn, left, &moves);
#pragma GCC unroll 8
            for (int place = 0; place < 2 * half; place++) rows[place] = next[place];
#pragma GCC unroll 8
            for (int i = 0; v != NULL && i < PACKED_SIDE; i++)
                if (i < 2 * half) v[i] = turned_and_moved(v[i], moved_turn, &moves);
            move_columns(&pairs, &r, &moves);
        }
    }
    const Lane factor = settled(&pairs.weights, true);
    for (int i = 0; v != NULL && i < n; i++) v[i] = scaled(v[i], factor);
    *diagonal = pairs.values;
    return !any(pairs.going);
}

/* Functions of their own for each number of pairs, with vectors and without: a compiler must not copy them for a caller. */
#define EIGH_PACKED(half)                                                                                              \
    COMPILED_ONCE bool eigh_packed_##half(const Number *rows, Lane *diagonal, Number *v, int n, bool narrow) {         \
        return eigh_iterate_packed(rows, diagonal, v, n, narrow, half);                                                \
    }                                                                                                                  \
    COMPILED_ONCE bool eigvalsh_packed_##half(const Number *rows, Lane *diagonal, int n, bool narrow) {                \
        return eigh_iterate_packed(rows, diagonal, NULL, n, narrow, half);                                             \
    }
EIGH_PACKED(3)
EIGH_PACKED(4)

/* Loads a matrix, of which nothing above the diagonal counts, scales it, and puts its rows and columns at their places;
 * answers whether it is finite. */
INLINE bool eigh_load_packed(const char *from, Number *rows, Lane *diagonal, int n, int half, bool narrow, Lane *back) {
    const Index column_bytes = n * PARTS * (Index)(narrow ? sizeof(float) : sizeof(double));
    Number columns[PACKED_SIDE], turned[PACKED_SIDE];
    Lane most = broadcast(0.0), spoilt = broadcast(0.0);
    for (int j = 0; j < PACKED_SIDE; j++) {
        columns[j] = j < n ? load_packed(from + j * column_bytes, n, narrow) : number(broadcast(0.0));
        for (int part = 0; part < PARTS; part++) spoilt += ((const Lane *)(columns + j))[part] * 0.0;
    }
    memcpy(turned, columns, sizeof turned);
    transpose_packed(turned);
    for (int j = 0; j < PACKED_SIDE; j++) { /* row j as far as the diagonal, then column j from there on */
        const Mask here = (Mask)(1u << j);
        columns[j] = choose((Mask)(0xfeu << j), conjugate(columns[j]), turned[j]);
        columns[j] = choose(here, number(real_part(columns[j])), columns[j]);
        most = larger(largest_part(columns[j]), most);
    }
    const Lane factor = scale_to(broadcast(largest_lane(most)), EIGH_SCALE);
    *back = inverse_power(factor);
    *diagonal = broadcast(0.0);
    const Bits at = columns_at_lanes(half);
    for (int place = 0; place < 2 * half; place++) {
        rows[place] = scaled(permuted(columns[column_at(place, half)], at), factor);
        *diagonal = pick((Mask)(1u << lane_of(place, half)), real_part(rows[place]), *diagonal);
    }
    return !any(complement(equal(spoilt, broadcast(0.0))));
}

/* One after the other; vectors are written unless `vectors` is false. */
INLINE bool eigh_each_packed(const LaneProblem *problem, const char *const *operands, char *const *results, Index count,
                             int n, bool vectors) {
    const Index bytes = matrix_bytes(problem, n, n);
    const int half = (n + 1) / 2;
    const bool narrow = problem->narrow;
    bool good = true;
    Mask small = no_lane();
    for (Index matrix = 0; matrix < count; matrix++) {
        Number rows[PACKED_SIDE], v[PACKED_SIDE];
        Lane values, back;
        int rank[PACKED_SIDE];
        good &= eigh_load_packed(operands[0] + matrix * bytes, rows, &values, n, half, narrow, &back);
        if (vectors) {
            unit_rows(v, n, half);
            good &= half == 3 ? eigh_packed_3(rows, &values, v, n, narrow) : eigh_packed_4(rows, &values, v, n, narrow);
        } else {
            good &=
                half == 3 ? eigvalsh_packed_3(rows, &values, n, narrow) : eigvalsh_packed_4(rows, &values, n, narrow);
        }
        packed_order(values, n, half, rank);
        const Mask below = greater(broadcast(EIGH_SMALL), size_of(values));
        values = values * back + 0.0; /* no zero has a sign */
        if (vectors) {
            drop_signs_of_zeros(v, PACKED_SIDE);
            transpose_packed(v);
        }
        for (int place = 0; place < 2 * half; place++) {
            const int column = column_at(place, half), lane = lane_of(place, half);
            if (column >= n) continue;
            small |= below & one_lane(lane);
            const Index at = matrix * n + rank[column];
            if (narrow) ((float *)results[0])[at] = (float)values[lane];
            else ((double *)results[0])[at] = values[lane];
            if (vectors) store_packed(results[1] + matrix * bytes + rank[column] * (bytes / n), v[lane], n, narrow);
        }
    }
    if (!good || !any(small)) return good;
    return eigh_look_again(problem, operands[0], results[0], vectors ? results[1] : NULL, count, true);
}
#endif
