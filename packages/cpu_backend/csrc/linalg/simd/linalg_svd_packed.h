/* Singular value decompositions of single matrices whose sides are 5 to 8, by the rotations of linalg_svd.h with a lane for
 * every column (linalg_packed.h). All rows are in registers; there are zeros below the last one, which change no sum.
 */
#if LANES == 8

/* What svd_settle() does. */
INLINE void svd_settle_packed(Number *rows, Lane *squares, Lane *weights, Number *v, bool all) {
    if (all || any(greater(broadcast(LIGHT), *weights))) {
        const Lane factor = settled(weights, all);
#pragma GCC unroll 8
        for (int i = 0; i < PACKED_SIDE; i++) rows[i] = scaled(rows[i], factor);
#pragma GCC unroll 8
        for (int i = 0; v != NULL && i < PACKED_SIDE; i++) v[i] = scaled(v[i], factor);
    }
    *squares = broadcast(0.0);
#pragma GCC unroll 8
    for (int i = 0; i < PACKED_SIDE; i++) *squares = add_square(*squares, rows[i]);
    *squares *= *weights;
}

/* Makes the columns of the rows, of which m are not zero, orthogonal; squares get the squares of their norms, and v, rows
 * of a unit matrix unless it is NULL, are turned alike. Answers whether the matrix has converged. */
INLINE bool svd_iterate_packed(Number *given, Lane *squares, Number *v, int m, bool narrow, int half) {
    const Moves moves = moves_of(half);
    Number rows[PACKED_SIDE], swapped[PACKED_SIDE];
    PackedPairs pairs = {.weights = broadcast(1.0), .going = 1};
#pragma GCC unroll 8
    for (int i = 0; i < PACKED_SIDE; i++) rows[i] = given[i];
    for (int sweep = 0; sweep < MOST_SWEEPS && any(pairs.going); sweep++) {
        svd_settle_packed(rows, &pairs.values, &pairs.weights, v, false);
        pair_columns(&pairs);
#pragma GCC unroll 8
        for (int i = 0; i < PACKED_SIDE; i++) swapped[i] = permuted(rows[i], SWAPPED);
        for (int round = 0; round < 2 * half - 1; round++) {
            InnerProduct sums = {0}; /* in the upper lanes of the same columns the other way round, the conjugate */
#pragma GCC unroll 8
            for (int i = 0; i < PACKED_SIDE; i += 2) {
                add_inner(&sums, swapped[i], rows[i]);
                add_odd_inner(&sums, swapped[i + 1], rows[i + 1]);
            }
            const Corner corner = corner_of_pairs(&pairs, inner_product(&sums));
            const PackedRotation r = packed_rotation(&corner, svd_needs_rotation(&corner, m, narrow), narrow);
#pragma GCC unroll 8
            for (int i = 0; i < PACKED_SIDE; i++) {
                const Number turned = add_product(rows[i], r.turn, swapped[i]);
                rows[i] = permuted(turned, moves.moved);
                swapped[i] = permuted(turned, moves.other);
            }
            const Number moved_turn = permuted(r.turn, moves.moved);
#pragma GCC unroll 8
            for (int i = 0; v != NULL && i < PACKED_SIDE; i++) v[i] = turned_and_moved(v[i], moved_turn, &moves);
            move_columns(&pairs, &r, &moves);
        }
    }
    svd_settle_packed(rows, squares, &pairs.weights, v, true);
#pragma GCC unroll 8
    for (int i = 0; i < PACKED_SIDE; i++) given[i] = rows[i];
    return !any(pairs.going);
}

/* As EIGH_PACKED. */
#define SVD_PACKED(half)                                                                                               \
    COMPILED_ONCE bool svd_packed_##half(Number *rows, Lane *squares, Number *v, int m, bool narrow) {                 \
        return svd_iterate_packed(rows, squares, v, m, narrow, half);                                                  \
    }                                                                                                                  \
    COMPILED_ONCE bool svdvals_packed_##half(Number *rows, Lane *squares, int m, bool narrow) {                        \
        return svd_iterate_packed(rows, squares, NULL, m, narrow, half);                                               \
    }
SVD_PACKED(3)
SVD_PACKED(4)

/* Loads a matrix, or the adjoint of one with fewer rows than columns, scales it, and puts its columns at their places;
 * answers whether it is finite. */
INLINE bool svd_load_packed(const LaneProblem *problem, const char *from, Number *rows, int m, int n, int half,
                            Lane *back) {
    const Index column_bytes = matrix_bytes(problem, m, 1);
    Lane most = broadcast(0.0), spoilt = broadcast(0.0);
    for (int j = 0; j < PACKED_SIDE; j++) {
        rows[j] = j < n ? load_packed(from + j * column_bytes, m, problem->narrow) : number(broadcast(0.0));
        for (int part = 0; part < PARTS; part++) spoilt += ((const Lane *)(rows + j))[part] * 0.0;
        most = larger(largest_part(rows[j]), most);
    }
    if (m >= n) transpose_packed(rows);
    const Lane factor = scale_to(broadcast(largest_lane(most)), SVD_SCALE);
    const Bits at = columns_at_lanes(half);
    *back = inverse_power(factor);
    for (int i = 0; i < PACKED_SIDE; i++) rows[i] = scaled(permuted(m >= n ? rows[i] : conjugate(rows[i]), at), factor);
    return !any(complement(equal(spoilt, broadcast(0.0))));
}

/* One matrix; vectors are written unless `vectors` is false. Answers false where a singular value is zero and U wants a
 * vector that is orthogonal to its others; `small` gets the lanes of values that may have lost digits. */
INLINE bool svd_one_packed(const LaneProblem *problem, const char *from, char *u, char *values, char *vh, int m, int n,
                           bool vectors, bool *good, Mask *small) {
    const bool narrow = problem->narrow, wide = m < n;
    const int k = wide ? m : n, longer = wide ? n : m, half = (k + 1) / 2;
    Number rows[PACKED_SIDE], v[PACKED_SIDE], *const columns = wide ? v : rows, *const adjoints = wide ? rows : v;
    Lane squares, back;
    int rank[PACKED_SIDE];
    *good &= svd_load_packed(problem, from, rows, m, n, half, &back);
    if (vectors) {
        unit_rows(v, k, half);
        *good &= half == 3 ? svd_packed_3(rows, &squares, v, longer, narrow)
                           : svd_packed_4(rows, &squares, v, longer, narrow);
    } else {
        *good &= half == 3 ? svdvals_packed_3(rows, &squares, longer, narrow)
                           : svdvals_packed_4(rows, &squares, longer, narrow);
    }
    const Lane roots = root(squares), scales = roots * back;
    packed_order(-squares, k, half, rank);
    Bits lanes = {7, 7, 7, 7, 7, 7, 7, 7};
    bool zero = false;
    Mask taken = no_lane();
    for (int place = 0; place < 2 * half; place++) {
        const int column = column_at(place, half), lane = lane_of(place, half);
        if (column >= k) continue;
        lanes[rank[column]] = (uint64_t)lane;
        taken |= one_lane(lane);
        zero |= !(squares[lane] > SVD_TINY);
    }
    if (zero && vectors) return false;
    *small |= greater(broadcast(SVD_SMALL * SVD_SMALL), squares) & taken;
    store_some(values, permuted_lane(scales, lanes), k, narrow);
    if (!vectors) return true;
    const Lane factor = 1.0 / roots;
    for (int i = 0; i < PACKED_SIDE; i++) rows[i] = scaled(rows[i], factor);
    for (int i = 0; i < (wide ? n : k); i++) {
        Number row = permuted(conjugate(adjoints[i]), lanes);
        drop_signs_of_zeros(&row, 1);
        store_packed(vh + i * matrix_bytes(problem, k, 1), row, k, narrow);
    }
    drop_signs_of_zeros(columns, PACKED_SIDE);
    transpose_packed(columns);
    for (int j = 0; j < k; j++) store_packed(u + j * matrix_bytes(problem, m, 1), columns[lanes[j]], m, narrow);
    return true;
}
#endif
