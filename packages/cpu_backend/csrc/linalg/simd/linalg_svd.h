/* Thin singular value decomposition, of larger matrices as linalg_bidiagonal.h has it, else by one-sided Jacobi
 * rotations (Hestenes 1958; Demmel and Veselić, SIAM J. Matrix Anal. Appl. 13, 1992): rotate pairs of columns of A until
 * all are orthogonal. Their norms are the singular values, their directions U, and the product of the rotations is V.
 * Singular values are sorted descending, and the columns with them; where one is zero, U gets a unit vector orthogonal
 * to its other columns. Wide matrices are taken as their adjoints.
 */

static const double SVD_SCALE = 230.0;    /* exponent of the largest element; fourth powers and their sums fit */
static const double SVD_TINY = 0x1p-460;  /* the square of the norm of a column that is as good as zero */
static const double SVD_SMALL = 0x1p-150; /* a value that squares may have lost digits of (linalg_graded.h) */

/* Where two columns of m elements are not orthogonal. */
INLINE Mask svd_needs_rotation(const Corner *of, int m, bool narrow) {
    const Lane product = of->p * of->q;
    return greater(of->square, ROTATE_ABOVE[narrow] * m * product) & greater(of->p, broadcast(SVD_TINY)) &
           greater(of->q, broadcast(SVD_TINY));
}

/* Two columns of a round, and what is done to them. */
typedef struct {
    int p, q;
    Mask active;
} SvdPair;

/* The rotations of so many pairs, a constant; the squares of norms and the weights become those that they lead to.
 * Answers where another sweep is needed. */
INLINE Mask svd_find_rotations(const Number *a, Lane *squares, Lane *weights, int m, Mask going, bool narrow, int few,
                               SvdPair *pairs, Rotation *rotations) {
    InnerProduct sums[PAIRS_AT_ONCE];
    Corner corners[PAIRS_AT_ONCE];
    Mask active[PAIRS_AT_ONCE], matters = no_lane();
    for (int c = 0; c < few; c++) sums[c] = (InnerProduct){0};
    int i = 0;
    for (; i + 2 <= m; i += 2)
        for (int c = 0; c < few; c++) {
            add_inner(sums + c, a[i + pairs[c].q * m], a[i + pairs[c].p * m]);
            add_odd_inner(sums + c, a[i + 1 + pairs[c].q * m], a[i + 1 + pairs[c].p * m]);
        }
    for (int c = 0; i < m && c < few; c++) add_inner(sums + c, a[i + pairs[c].q * m], a[i + pairs[c].p * m]);
    for (int c = 0; c < few; c++) {
        const int p = pairs[c].p, q = pairs[c].q;
        corners[c] = (Corner){squares[p], squares[q], weights[p], weights[q], inner_product(sums + c), {0}};
        corners[c].square = weights[p] * weights[q] * add_square(broadcast(0.0), corners[c].g);
        active[c] = pairs[c].active = svd_needs_rotation(corners + c, m, narrow) & going;
    }
    find_rotations(corners, active, narrow, few, rotations);
    for (int c = 0; c < few; c++) {
        const int p = pairs[c].p, q = pairs[c].q;
        matters |= rotations[c].matters;
        squares[p] = corners[c].p - rotations[c].shift;
        squares[q] = corners[c].q + rotations[c].shift;
        weights[p] = corners[c].p_weight * rotations[c].weight;
        weights[q] = corners[c].q_weight * rotations[c].weight;
    }
    return matters;
}

/* The same for all pairs of a round. */
INLINE Mask svd_round(const Number *a, Lane *squares, Lane *weights, int m, int n, int round, Mask going, bool narrow,
                      SvdPair *pairs, Rotation *rotations) {
    const int count = n / 2;
    Mask matters = no_lane();
    int pair = 0;
    for (int i = 0; i < count; i++) tournament_pair(n, round, i + n % 2, &pairs[i].p, &pairs[i].q);
    for (; pair + 4 <= count; pair += 4)
        matters |= svd_find_rotations(a, squares, weights, m, going, narrow, 4, pairs + pair, rotations + pair);
    for (; pair + 2 <= count; pair += 2)
        matters |= svd_find_rotations(a, squares, weights, m, going, narrow, 2, pairs + pair, rotations + pair);
    for (; pair < count; pair++)
        matters |= svd_find_rotations(a, squares, weights, m, going, narrow, 1, pairs + pair, rotations + pair);
    return matters;
}

/* Takes weights into their columns, where they are light or all of them, and finds the squares of norms. */
INLINE void svd_settle(Number *a, Lane *squares, Lane *weights, Number *v, int m, int n, int v_rows, bool all) {
    for (int j = 0; j < n; j++) {
        if (all || any(greater(broadcast(LIGHT), weights[j]))) {
            const Lane factor = settled(weights + j, all);
            scale_column(a + j * m, m, factor);
            if (v != NULL) scale_column(v + j * v_rows, v_rows, factor);
        }
        squares[j] = broadcast(0.0);
        for (int i = 0; i < m; i++) squares[j] = add_square(squares[j], a[i + j * m]);
        squares[j] *= weights[j];
    }
}

#include "linalg/simd/linalg_svd_places.h"

/* Orthogonalises the columns of a, m x n with m >= n; squares get the squares of their norms. The columns of v, of so
 * many elements, are rotated alike where there are any: a unit matrix gets the rotations. Answers which matrices have
 * not converged. What has converged is left alone while others go on, so that no matrix depends on its group. */
INLINE Mask svd_iterate_group(Number *a, Lane *squares, Number *v, int m, int n, int v_rows, bool narrow,
                              Number *room) {
#if LANES > 2
    if (n > LARGEST_UNPLACED_SVD) return svd_places(a, squares, v, m, n, v_rows, narrow, room);
#else
    (void)room;
#endif
    SvdPair pairs[LARGEST_JACOBI_SIDE / 2];
    Rotation rotations[LARGEST_JACOBI_SIDE / 2];
    Lane weights[LARGEST_JACOBI_SIDE];
    for (int j = 0; j < n; j++) weights[j] = broadcast(1.0);
    Mask going = complement(no_lane());
    for (int sweep = 0; sweep < MOST_SWEEPS && any(going); sweep++) {
        svd_settle(a, squares, weights, v, m, n, v_rows, false);
        Mask matters = no_lane();
        for (int round = 0; round < n - 1 + n % 2; round++) {
            matters |= svd_round(a, squares, weights, m, n, round, going, narrow, pairs, rotations);
            for (int pair = 0; pair < n / 2; pair++) {
                const int p = pairs[pair].p, q = pairs[pair].q;
                if (!any(pairs[pair].active)) continue;
                rotate_columns(a + p * m, a + q * m, m, rotations + pair);
                if (v != NULL) rotate_columns(v + p * v_rows, v + q * v_rows, v_rows, rotations + pair);
            }
        }
        going = matters;
    }
    svd_settle(a, squares, weights, v, m, n, v_rows, true);
    return going;
}

#if LANES > 2
/* The same for the columns of all pairs of a round. */
INLINE void svd_settle_rows(PairedRow *rows, PairedLane *squares, PairedLane *weights, PairedRow *right, int m,
                            int v_rows, bool all) {
    if (all || any(greater(broadcast(LIGHT), weights->first) | greater(broadcast(LIGHT), weights->second))) {
        const PairedLane factor = {settled(&weights->first, all), settled(&weights->second, all)};
        scale_rows(rows, m, factor);
        if (right != NULL) scale_rows(right, v_rows, factor);
    }
    *squares = (PairedLane){broadcast(0.0), broadcast(0.0)};
    for (int i = 0; i < m; i++) {
        squares->first = add_square(squares->first, rows[i].first);
        squares->second = add_square(squares->second, rows[i].second);
    }
    squares->first *= weights->first;
    squares->second *= weights->second;
}

/* The same for one matrix, which stands in all lanes: these take the pairs of a round. */
COMPILED_ONCE Mask svd_iterate_one(Number *a, Lane *values, Number *v, int m, int n, int v_rows, bool narrow) {
    Tournament tournament;
    PairedRow rows[LARGEST_JACOBI_SIDE], rows_of_v[LARGEST_JACOBI_SIDE], *const right = v != NULL ? rows_of_v : NULL;
    begin_rounds(&tournament, n, rows, a, m, rows_of_v, v, v_rows);
    PairedLane squares, weights = {broadcast(1.0), broadcast(1.0)};
    Mask going = complement(no_lane());
    for (int sweep = 0; sweep < MOST_SWEEPS && any(going); sweep++) {
        svd_settle_rows(rows, &squares, &weights, right, m, v_rows, false);
        going = no_lane();
        for (int round = 0; round < tournament.rounds; round++) {
            InnerProduct sums = {0};
            for (int i = 0; i < m; i++) {
                if (i % 2 == 0) add_inner(&sums, rows[i].second, rows[i].first);
                else add_odd_inner(&sums, rows[i].second, rows[i].first);
            }
            Corner corner = {squares.first, squares.second, weights.first, weights.second, inner_product(&sums), {0}};
            corner.square = corner.p_weight * corner.q_weight * add_square(broadcast(0.0), corner.g);
            const Mask active = svd_needs_rotation(&corner, m, narrow);
            if (any(active)) {
                Rotation r;
                find_rotations(&corner, &active, narrow, 1, &r);
                going |= r.matters;
                squares = (PairedLane){corner.p - r.shift, corner.q + r.shift};
                weights = (PairedLane){corner.p_weight * r.weight, corner.q_weight * r.weight};
                rotate_rows(rows, m, &r);
                if (v != NULL) rotate_rows(right, v_rows, &r);
            }
            move_rows(rows, m, &tournament);
            if (v != NULL) move_rows(right, v_rows, &tournament);
            squares = moved_lanes(squares, &tournament);
            weights = moved_lanes(weights, &tournament);
        }
    }
    svd_settle_rows(rows, &squares, &weights, right, m, v_rows, true);
    part_values(values, squares.first, squares.second, n, &tournament);
    part_rows(a, rows, m, n, &tournament);
    if (v != NULL) part_rows(v, right, v_rows, n, &tournament);
    return any(going) ? complement(no_lane()) : no_lane();
}
#else
INLINE Mask svd_iterate_one(Number *a, Lane *squares, Number *v, int m, int n, int v_rows, bool narrow) {
    return svd_iterate_group(a, squares, v, m, n, v_rows, narrow, NULL);
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

#include "linalg/simd/linalg_svd_packed.h"

/* So many groups of matrices, or where `alone` single ones, which then stand in all lanes. */
INLINE bool svd_each(const LaneProblem *problem, const char *const *operands, char *const *results, Index count,
                     Number *room, int m, int n, bool alone) {
    const bool wide = m < n;
    const int k = wide ? m : n, longer = wide ? n : m;
    const Index bytes = matrix_bytes(problem, m, n), u_bytes = matrix_bytes(problem, m, k);
    const Index s_bytes = matrix_bytes(problem, k, 1) / PARTS, vh_bytes = matrix_bytes(problem, k, n);
    const Index apart = !alone, step = alone ? 1 : LANES;
    Mask bad = no_lane(), small = no_lane();
    for (Index group = 0; group < count; group++) {
        Number *const a = room, *const other = a + m * n, *const v = other + m * n;
        Lane *const values = (Lane *)(v + k * k);
#if LANES == 8
        if (alone && is_packed(k) && longer <= PACKED_SIDE) {
            bool good = true;
            if (svd_one_packed(problem, operands[0] + group * bytes, results[0] + group * u_bytes,
                               results[1] + group * s_bytes, results[2] + group * vh_bytes, m, n, true, &good,
                               &small)) {
                if (!good) return false;
                continue;
            }
        }
#endif
        bad |= load_numbers(problem, operands[0] + group * step * bytes, apart * bytes, wide ? other : a, m * n);
        if (wide) adjoint(a, n, other, m, m, n);
        const Lane back = inverse_power(scale_numbers(a, m * n, SVD_SCALE));
        set_identity(v, k);
        bad |= alone ? svd_iterate_one(a, values, v, longer, k, k, problem->narrow)
                     : svd_iterate_group(a, values, v, longer, k, k, problem->narrow, (Number *)(values + k));
        svd_finish_group(a, values, v, longer, k);
        small |= greater(broadcast(SVD_SMALL), values[k - 1]);
        adjoint(other, k, wide ? a : v, wide ? longer : k, wide ? longer : k, k);
        for (int i = 0; i < k; i++) values[i] *= back;
        drop_signs_of_zeros(wide ? v : a, m * k);
        drop_signs_of_zeros(other, k * n);
        store_numbers(problem, results[0] + group * step * u_bytes, apart * u_bytes, wide ? v : a, m * k);
        store_lanes(results[1] + group * step * s_bytes, values, apart * s_bytes, k, problem->narrow);
        store_numbers(problem, results[2] + group * step * vh_bytes, apart * vh_bytes, other, k * n);
    }
    if (any(bad)) return false;
    return !any(small) || svd_look_again(problem, operands[0], results[0], results[1], results[2], count, alone);
}

INLINE bool svd_groups(const LaneProblem *problem, const char *const *operands, char *const *results, Index groups,
                       Number *room, int m, int n) {
    if (is_reduced(problem)) return svd_large(problem, operands, results, groups, room, true);
    return svd_each(problem, operands, results, groups, room, m, n, false);
}

/* The values alone: the same rotations of columns, without V. */
INLINE bool svdvals_each(const LaneProblem *problem, const char *const *operands, char *const *results, Index count,
                         Number *room, int m, int n, bool alone) {
    const bool wide = m < n;
    const int k = wide ? m : n, longer = wide ? n : m;
    const Index bytes = matrix_bytes(problem, m, n), value_bytes = matrix_bytes(problem, k, 1) / PARTS;
    const Index apart = !alone, step = alone ? 1 : LANES;
    Mask bad = no_lane(), small = no_lane();
    for (Index group = 0; group < count; group++) {
        Number *const a = room, *const other = a + m * n;
        Lane *const values = (Lane *)(other + m * n);
#if LANES == 8
        if (alone && is_packed(k) && longer <= PACKED_SIDE) {
            bool good = true;
            svd_one_packed(problem, operands[0] + group * bytes, NULL, results[0] + group * value_bytes, NULL, m, n,
                           false, &good, &small);
            if (!good) return false;
            continue;
        }
#endif
        bad |= load_numbers(problem, operands[0] + group * step * bytes, apart * bytes, wide ? other : a, m * n);
        if (wide) adjoint(a, n, other, m, m, n);
        const Lane back = inverse_power(scale_numbers(a, m * n, SVD_SCALE));
        bad |= alone ? svd_iterate_one(a, values, NULL, longer, k, 0, problem->narrow)
                     : svd_iterate_group(a, values, NULL, longer, k, 0, problem->narrow, (Number *)(values + k));
        for (int i = 0; i < k; i++) values[i] = -values[i];
        sort_lanes(values, k);
        small |= greater(values[k - 1], broadcast(-SVD_SMALL * SVD_SMALL));
        for (int i = 0; i < k; i++) values[i] = root(-values[i]) * back;
        store_lanes(results[0] + group * step * value_bytes, values, apart * value_bytes, k, problem->narrow);
    }
    if (any(bad)) return false;
    return !any(small) || svd_look_again(problem, operands[0], NULL, results[0], NULL, count, alone);
}

INLINE bool svdvals_groups(const LaneProblem *problem, const char *const *operands, char *const *results, Index groups,
                           Number *room, int m, int n) {
    if (is_reduced(problem)) return svd_large(problem, operands, results, groups, room, false);
    return svdvals_each(problem, operands, results, groups, room, m, n, false);
}

RECTANGULAR_ROUTINE(svd, SVD_ROOM(LARGEST_CONSTANT_SIDE))
RECTANGULAR_ROUTINE(svdvals, SVD_ROOM(LARGEST_CONSTANT_SIDE))

#if LANES > 2
/* One by one, of sides from LARGEST_CONSTANT_SIDE to LARGEST_JACOBI_SIDE. */
ALONE_ROUTINE(svd, problem->rows, problem->columns)
ALONE_ROUTINE(svdvals, problem->rows, problem->columns)
#endif
