/* Thin singular value decomposition, of larger matrices as linalg_bidiagonal.h has it, else by one-sided Jacobi rotations (Hestenes 1958; Demmel and Veselić, SIAM J. Matrix
 * Anal. Appl. 13, 1992): rotate pairs of columns of A until all are orthogonal. Their norms are the singular values,
 * their directions U, and the product of the rotations is V. Singular values are sorted descending, and the columns
 * with them; where one is zero, U gets a unit vector orthogonal to its other columns. Wide matrices are taken as their
 * adjoints.
 */

static const double SVD_SCALE = 250.0;   /* exponent of the largest element; fourth powers and their sums fit */
static const double SVD_TINY = 0x1p-460; /* the square of the norm of a column that is as good as zero */

/* Where two columns of m elements, of these squares of norms and of their product, are not orthogonal. */
INLINE Mask svd_needs_rotation(Lane p, Lane q, Lane square, int m) {
    return greater(square, ROTATE_ABOVE * m * (p * q)) & greater(p, broadcast(SVD_TINY)) &
           greater(q, broadcast(SVD_TINY));
}

/* Makes columns x and y of a, of m elements, orthogonal in the matrices where they are not, and adds these to rotated;
 * the columns of v, of n elements, are rotated with them where there are any. */
INLINE void svd_rotate_pair(Number *x, Number *y, int m, Number *v_of_x, Number *v_of_y, int n, Mask *rotated) {
    Number g = number(broadcast(0.0));
    Lane p = broadcast(0.0), q = broadcast(0.0);
    for (int i = 0; i < m; i++) {
        g = add_product(g, conjugate(y[i]), x[i]);
        p = add_square(p, x[i]);
        q = add_square(q, y[i]);
    }
    Lane square = add_square(broadcast(0.0), g);
    const Mask active = svd_needs_rotation(p, q, square, m);
    if (!any(active)) return;
    *rotated |= active;
    const Rotation r = rotation(p, q, g, square, active);
    rotate_columns(x, y, m, r.cosine, r.sine);
    if (v_of_x != NULL) rotate_columns(v_of_x, v_of_y, n, r.cosine, r.sine);
}

/* Orthogonalises the columns of a, m x n with m >= n; squares get the squares of their norms. The columns of v, of so
 * many elements, are rotated alike where there are any: a unit matrix gets the rotations. Answers which matrices have
 * not converged. */
INLINE Mask svd_iterate_group(Number *a, Lane *squares, Number *v, int m, int n, int v_rows) {
    Mask rotated = no_lane();
    for (int sweep = 0; sweep < MOST_SWEEPS; sweep++) {
        rotated = no_lane();
        SWEEP(n) {
            int first, second;
            tournament_pair(n, round, pair, &first, &second);
            Number *const v_of_first = v != NULL ? v + first * v_rows : NULL;
            Number *const v_of_second = v != NULL ? v + second * v_rows : NULL;
            svd_rotate_pair(a + first * m, a + second * m, m, v_of_first, v_of_second, v_rows, &rotated);
        }
        if (!any(rotated)) break;
    }
    for (int j = 0; j < n; j++) {
        squares[j] = broadcast(0.0);
        for (int i = 0; i < m; i++) squares[j] = add_square(squares[j], a[i + j * m]);
    }
    return rotated;
}

#if LANES == 8
/* The same for one matrix, which stands in all lanes: these take the pairs of a round. */
COMPILED_ONCE Mask svd_iterate_one(Number *a, Lane *squares, Number *v, int m, int n, int v_rows) {
    Tournament tournament;
    PairedRow rows[LARGEST_JACOBI_SIDE], right[LARGEST_JACOBI_SIDE];
    begin_rounds(&tournament, n, rows, a, m, right, v, v_rows);
    Mask rotated = no_lane();
    for (int sweep = 0; sweep < MOST_SWEEPS; sweep++) {
        rotated = no_lane();
        for (int round = 0; round < tournament.rounds; round++) {
            Number g = number(broadcast(0.0));
            Lane p = broadcast(0.0), q = broadcast(0.0);
            for (int i = 0; i < m; i++) {
                g = add_product(g, conjugate(rows[i].second), rows[i].first);
                p = add_square(p, rows[i].first);
                q = add_square(q, rows[i].second);
            }
            const Lane square = add_square(broadcast(0.0), g);
            const Mask active = svd_needs_rotation(p, q, square, m);
            if (any(active)) {
                rotated |= active;
                const Rotation r = rotation(p, q, g, square, active);
                rotate_rows(rows, m, r.cosine, r.sine);
                if (v != NULL) rotate_rows(right, v_rows, r.cosine, r.sine);
            }
            move_rows(rows, m, &tournament, round);
            if (v != NULL) move_rows(right, v_rows, &tournament, round);
        }
        if (!any(rotated)) break;
    }
    Lane first = broadcast(0.0), second = broadcast(0.0);
    for (int i = 0; i < m; i++) {
        first = add_square(first, rows[i].first);
        second = add_square(second, rows[i].second);
    }
    part_values(squares, first, second, n, &tournament);
    part_rows(a, rows, m, n, &tournament);
    if (v != NULL) part_rows(v, right, v_rows, n, &tournament);
    return rotated;
}
#else
INLINE Mask svd_iterate_one(Number *a, Lane *squares, Number *v, int m, int n, int v_rows) {
    return svd_iterate_group(a, squares, v, m, n, v_rows);
}
#endif

/* Puts a unit vector orthogonal to the columns before j into column j where the mask says so: of the unit vectors
 * along axes, the one that is farthest from those columns, after two rounds of Gram-Schmidt. */
static __attribute__((noinline)) void svd_complete_column(Number *u, int m, int j, Mask missing) {
    Number fresh[LARGEST_JACOBI_SIDE];
    Lane most = broadcast(-1.0), row = broadcast(0.0);
    for (int i = 0; i < m; i++) {
        Lane outside = broadcast(1.0);
        for (int k = 0; k < j; k++) outside = -add_square(-outside, u[i + k * m]);
        const Mask better = greater(outside, most);
        most = pick(better, outside, most);
        row = pick(better, broadcast(i), row);
    }
    for (int i = 0; i < m; i++) fresh[i] = number(pick(equal(row, broadcast(i)), broadcast(1.0), broadcast(0.0)));
    for (int repeat = 0; repeat < 2; repeat++)
        for (int k = 0; k < j; k++) {
            Number along = number(broadcast(0.0));
            for (int i = 0; i < m; i++) along = add_product(along, conjugate(u[i + k * m]), fresh[i]);
            for (int i = 0; i < m; i++) fresh[i] = subtract_product(fresh[i], u[i + k * m], along);
        }
    Lane square = broadcast(0.0);
    for (int i = 0; i < m; i++) square = add_square(square, fresh[i]);
    for (int i = 0; i < m; i++) u[i + j * m] = choose(missing, divide_by_real(fresh[i], root(square)), u[i + j * m]);
}

/* Sorts the values descending, normalises the columns of u and completes those that are zero. */
INLINE void svd_finish_group(Number *u, Lane *squares, Number *v, int m, int n) {
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) {
            const Mask wrong = put_in_order(squares + j, squares + i, u + j * m, u + i * m, m);
            if (any(wrong)) swap_columns(v + i * n, v + j * n, n, wrong);
        }
    for (int j = 0; j < n; j++) {
        const Mask missing = complement(greater(squares[j], broadcast(SVD_TINY)));
        squares[j] = root(squares[j]);
        const Lane factor = 1.0 / pick(missing, broadcast(1.0), squares[j]);
        for (int i = 0; i < m; i++) u[i + j * m] = scaled(u[i + j * m], factor);
        if (any(missing)) svd_complete_column(u, m, j, missing);
    }
}

/* So many groups of matrices, or where `alone` single ones, which then stand in all lanes. */
INLINE bool svd_each(const LaneProblem *problem, const char *const *operands, char *const *results, Index count,
                     Number *room, int m, int n, bool alone) {
    const bool wide = m < n;
    const int k = wide ? m : n, longer = wide ? n : m;
    const Index bytes = matrix_bytes(problem, m, n), u_bytes = matrix_bytes(problem, m, k);
    const Index s_bytes = matrix_bytes(problem, k, 1) / PARTS, vh_bytes = matrix_bytes(problem, k, n);
    const Index apart = !alone, step = alone ? 1 : LANES;
    Mask bad = no_lane();
    for (Index group = 0; group < count; group++) {
        Number *const a = room, *const other = a + m * n, *const v = other + m * n;
        Lane *const values = (Lane *)(v + k * k);
        bad |= load_numbers(problem, operands[0] + group * step * bytes, apart * bytes, wide ? other : a, m * n);
        if (wide) adjoint(a, n, other, m, m, n);
        const Lane back = inverse_power(scale_numbers(a, m * n, SVD_SCALE));
        set_identity(v, k);
        bad |= alone ? svd_iterate_one(a, values, v, longer, k, k) : svd_iterate_group(a, values, v, longer, k, k);
        svd_finish_group(a, values, v, longer, k);
        adjoint(other, k, wide ? a : v, wide ? longer : k, wide ? longer : k, k);
        for (int i = 0; i < k; i++) values[i] *= back;
        drop_signs_of_zeros(wide ? v : a, m * k);
        drop_signs_of_zeros(other, k * n);
        store_numbers(problem, results[0] + group * step * u_bytes, apart * u_bytes, wide ? v : a, m * k);
        store_lanes(results[1] + group * step * s_bytes, values, apart * s_bytes, k, problem->narrow);
        store_numbers(problem, results[2] + group * step * vh_bytes, apart * vh_bytes, other, k * n);
    }
    return !any(bad);
}

INLINE bool svd_groups(const LaneProblem *problem, const char *const *operands, char *const *results, Index groups,
                       Number *room, int m, int n) {
    if (m > LARGEST_JACOBI_SIDE || n > LARGEST_JACOBI_SIDE)
        return svd_large(problem, operands, results, groups, room, true);
    return svd_each(problem, operands, results, groups, room, m, n, false);
}

/* The values alone: the same rotations of columns, without V. */
INLINE bool svdvals_each(const LaneProblem *problem, const char *const *operands, char *const *results, Index count,
                         Number *room, int m, int n, bool alone) {
    const bool wide = m < n;
    const int k = wide ? m : n, longer = wide ? n : m;
    const Index bytes = matrix_bytes(problem, m, n), value_bytes = matrix_bytes(problem, k, 1) / PARTS;
    const Index apart = !alone, step = alone ? 1 : LANES;
    Mask bad = no_lane();
    for (Index group = 0; group < count; group++) {
        Number *const a = room, *const other = a + m * n;
        Lane *const values = (Lane *)(other + m * n);
        bad |= load_numbers(problem, operands[0] + group * step * bytes, apart * bytes, wide ? other : a, m * n);
        if (wide) adjoint(a, n, other, m, m, n);
        const Lane back = inverse_power(scale_numbers(a, m * n, SVD_SCALE));
        bad |=
            alone ? svd_iterate_one(a, values, NULL, longer, k, 0) : svd_iterate_group(a, values, NULL, longer, k, 0);
        for (int i = 0; i < k; i++) values[i] = -values[i];
        sort_lanes(values, k);
        for (int i = 0; i < k; i++) values[i] = root(-values[i]) * back;
        store_lanes(results[0] + group * step * value_bytes, values, apart * value_bytes, k, problem->narrow);
    }
    return !any(bad);
}

INLINE bool svdvals_groups(const LaneProblem *problem, const char *const *operands, char *const *results, Index groups,
                           Number *room, int m, int n) {
    if (m > LARGEST_JACOBI_SIDE || n > LARGEST_JACOBI_SIDE)
        return svd_large(problem, operands, results, groups, room, false);
    return svdvals_each(problem, operands, results, groups, room, m, n, false);
}

RECTANGULAR_ROUTINE(svd, SVD_ROOM(LARGEST_CONSTANT_SIDE))
RECTANGULAR_ROUTINE(svdvals, SVD_ROOM(LARGEST_CONSTANT_SIDE))

#if LANES == 8
/* One by one, of sides from LARGEST_CONSTANT_SIDE to LARGEST_JACOBI_SIDE. */
ALONE_ROUTINE(svd, problem->rows, problem->columns)
ALONE_ROUTINE(svdvals, problem->rows, problem->columns)
#endif
