/* Eigenvalues and eigenvectors of Hermitian matrices, of larger ones as linalg_tridiagonal.h has it, else by Jacobi's
 * method (Golub and Van Loan, Matrix Computations, 4th ed., §8.5).
 *
 * An off-diagonal element is rotated away while it is large next to both diagonal elements, which also finds small
 * eigenvalues of graded matrices well (Demmel and Veselić, SIAM J. Matrix Anal. Appl. 13, 1992). Only the lower
 * triangle and the real part of the diagonal are read, though all elements must be finite. Eigenvalues are sorted
 * ascending, and their vectors with them.
 */

static const double EIGH_SCALE = 450.0;    /* exponent of the largest element; squares and their sums fit */
static const double EIGH_TINY = 0x1p-800;  /* a square that is as good as zero */
static const double EIGH_SMALL = 0x1p-300; /* a value that squares may have lost digits of (linalg_graded.h) */

/* Where the off-diagonal element is large beside the diagonal ones. */
INLINE Mask eigh_needs_rotation(const Corner *of, bool narrow) {
    const Lane product = size_of(of->p * of->q);
    return greater(of->square, ROTATE_ABOVE[narrow] * product) & greater(of->square, broadcast(EIGH_TINY));
}

/* Takes weights into rows and columns of a, and into columns of v unless it is NULL, where they are light. */
INLINE void eigh_settle(Number *a, Lane *weights, Number *v, int n) {
    Lane factors[LARGEST_JACOBI_SIDE];
    Mask light = no_lane();
    for (int j = 0; j < n; j++) light |= greater(broadcast(LIGHT), weights[j]);
    if (!any(light)) return;
    for (int j = 0; j < n; j++) factors[j] = settled(weights + j, false);
    for (int j = 0; j < n; j++) {
        for (int i = 0; i < n; i++) a[i + j * n] = scaled(a[i + j * n], factors[i] * factors[j]);
        if (v != NULL) scale_column(v + j * n, n, factors[j]);
    }
}

INLINE void eigh_settle_vectors(Lane *weights, Number *v, int n) {
    for (int j = 0; v != NULL && j < n; j++) scale_column(v + j * n, n, settled(weights + j, true));
}

/* A pair of indices, and where its rows and columns are rotated. */
typedef struct {
    int p, q;
    Mask active;
} EighPair;

/* The rotations of so many pairs, a constant, and what is left of their elements; values and weights become those that
 * they lead to. Answers where another sweep is needed. */
INLINE Mask eigh_find_rotations(Number *a, Lane *values, Lane *weights, int n, Mask going, bool narrow, int few,
                                EighPair *pairs, Rotation *rotations) {
    Corner corners[PAIRS_AT_ONCE];
    Mask active[PAIRS_AT_ONCE], matters = no_lane();
    for (int c = 0; c < few; c++) {
        const int p = pairs[c].p, q = pairs[c].q;
        corners[c] = (Corner){values[p], values[q], weights[p], weights[q], a[q + p * n], {0}};
        corners[c].square = weights[p] * weights[q] * add_square(broadcast(0.0), corners[c].g);
        active[c] = pairs[c].active = eigh_needs_rotation(corners + c, narrow) & going;
    }
    find_rotations(corners, active, narrow, few, rotations);
    for (int c = 0; c < few; c++) {
        const int p = pairs[c].p, q = pairs[c].q;
        matters |= rotations[c].matters;
        values[p] = corners[c].p - rotations[c].shift;
        values[q] = corners[c].q + rotations[c].shift;
        weights[p] = corners[c].p_weight * rotations[c].weight;
        weights[q] = corners[c].q_weight * rotations[c].weight;
        a[q + p * n] = scaled(corners[c].g, rotations[c].rest);
        a[p + q * n] = conjugate(a[q + p * n]);
    }
    return matters;
}

/* One sweep over the lower triangle of a, pair by pair, for a few rows; answers where another is needed. */
INLINE Mask eigh_sweep_pairs(Number *a, Lane *values, Lane *weights, Number *v, int n, Mask going, bool narrow) {
    Mask matters = no_lane();
    for (int round = 0; round < n - 1 + n % 2; round++)
        for (int pair = n % 2; pair < (n + 1) / 2; pair++) {
            EighPair of;
            Rotation r;
            tournament_pair(n, round, pair, &of.p, &of.q);
            if (of.p > of.q) of = (EighPair){.p = of.q, .q = of.p};
            matters |= eigh_find_rotations(a, values, weights, n, going, narrow, 1, &of, &r);
            if (!any(of.active)) continue;
            const int p = of.p, q = of.q;
            for (int k = 0; k < p; k++) rotate(a + p + k * n, a + q + k * n, conjugate(r.first), conjugate(r.second));
            for (int k = p + 1; k < q; k++) {
                Number mirrored = conjugate(a[q + k * n]);
                rotate(a + k + p * n, &mirrored, r.first, r.second);
                a[q + k * n] = conjugate(mirrored);
            }
            for (int k = q + 1; k < n; k++) rotate(a + k + p * n, a + k + q * n, r.first, r.second);
            if (v != NULL) rotate_columns(v + p * n, v + q * n, n, &r);
        }
    return matters;
}

/* Rows of pair i and columns of pair j, and the same below or above the diagonal. */
INLINE void eigh_rotate_block(Number *a, int n, const EighPair *pairs, const Rotation *rotations, int i, int j) {
    const EighPair rows = pairs[i], columns = pairs[j];
    Number *const upper = a + rows.p, *const lower = a + rows.q;
    const int p = columns.p * n, q = columns.q * n;
    Number pp = upper[p], pq = upper[q], qp = lower[p], qq = lower[q];
    rotate(&pp, &pq, rotations[j].first, rotations[j].second);
    rotate(&qp, &qq, rotations[j].first, rotations[j].second);
    rotate(&pp, &qp, conjugate(rotations[i].first), conjugate(rotations[i].second));
    rotate(&pq, &qq, conjugate(rotations[i].first), conjugate(rotations[i].second));
    upper[p] = pp, upper[q] = pq, lower[p] = qp, lower[q] = qq;
    Number *const first = a + rows.p * n, *const second = a + rows.q * n;
    first[columns.p] = conjugate(pp), first[columns.q] = conjugate(pq);
    second[columns.p] = conjugate(qp), second[columns.q] = conjugate(qq);
}

/* One sweep for more rows, of which a has both triangles: the rotations of a round wait for nothing but the round
 * before. */
INLINE Mask eigh_sweep_rounds(Number *a, Lane *values, Lane *weights, Number *v, int n, Mask going, bool narrow) {
    const int count = n / 2;
    EighPair pairs[LARGEST_JACOBI_SIDE / 2];
    Rotation rotations[LARGEST_JACOBI_SIDE / 2];
    Mask matters = no_lane();
    for (int round = 0; round < n - 1 + n % 2; round++) {
        Mask needed = no_lane();
        int i = 0;
        for (int pair = 0; pair < count; pair++)
            tournament_pair(n, round, pair + n % 2, &pairs[pair].p, &pairs[pair].q);
        for (; i + 4 <= count; i += 4)
            matters |= eigh_find_rotations(a, values, weights, n, going, narrow, 4, pairs + i, rotations + i);
        for (; i + 2 <= count; i += 2)
            matters |= eigh_find_rotations(a, values, weights, n, going, narrow, 2, pairs + i, rotations + i);
        for (; i < count; i++)
            matters |= eigh_find_rotations(a, values, weights, n, going, narrow, 1, pairs + i, rotations + i);
        for (i = 0; i < count; i++) needed |= pairs[i].active;
        if (!any(needed)) continue;
        for (i = 0; i < count; i++) {
            for (int j = 0; j < i; j++) eigh_rotate_block(a, n, pairs, rotations, i, j);
            if (n % 2 == 0) continue;
            const int p = pairs[i].p, q = pairs[i].q; /* the index that the round leaves out is its number */
            rotate(a + round + p * n, a + round + q * n, rotations[i].first, rotations[i].second);
            a[p + round * n] = conjugate(a[round + p * n]);
            a[q + round * n] = conjugate(a[round + q * n]);
        }
        for (i = 0; v != NULL && i < count; i++)
            rotate_columns(v + pairs[i].p * n, v + pairs[i].q * n, n, rotations + i);
    }
    return matters;
}

#include "linalg/simd/linalg_eigh_places.h"

/* Makes a, of which the lower triangle counts, diagonal; values get the diagonal, v, a unit matrix unless it is NULL, the
 * eigenvectors. Answers which matrices have not converged. What has converged is left alone while others go on, so that
 * no matrix depends on its group. */
INLINE Mask eigh_iterate_group(Number *a, Lane *values, Number *v, int n, bool narrow, Number *room) {
    const bool whole = n > LARGEST_CONSTANT_SIDE;
#if LANES > 2
    if (whole && n <= LARGEST_PLACED_EIGH) return eigh_places(a, values, v, n, narrow, room);
#else
    (void)room;
#endif
    Lane weights[LARGEST_JACOBI_SIDE];
    for (int j = 0; j < n; j++) {
        values[j] = real_part(a[j + j * n]);
        weights[j] = broadcast(1.0);
        for (int i = j + 1; whole && i < n; i++) a[j + i * n] = conjugate(a[i + j * n]);
    }
    Mask going = complement(no_lane());
    for (int sweep = 0; sweep < MOST_SWEEPS && any(going); sweep++) {
        eigh_settle(a, weights, v, n);
        going = whole ? eigh_sweep_rounds(a, values, weights, v, n, going, narrow)
                      : eigh_sweep_pairs(a, values, weights, v, n, going, narrow);
    }
    eigh_settle_vectors(weights, v, n);
    return going;
}

#if LANES > 2
/* The two rows of pair i, by the rotations of all pairs; g is what becomes of the element that pairs of rows and columns
 * have in common. */
INLINE void eigh_rotate_rows(PairedRow *upper, PairedRow *lower, int i, const Rotation *r, Number g) {
    const Mask here = one_lane(i), before = lanes_before(i); /* columns that come before the rows */
    const Number row_first = conjugate(in_all_lanes(&r->first, i)), row_second = conjugate(in_all_lanes(&r->second, i));
    const Number first = choose(before, r->first, row_first), other_first = choose(before, row_first, r->first);
    const Number second = choose(before, r->second, row_second), other_second = choose(before, row_second, r->second);
    Number pp = upper->first, qq = lower->second;
    Number one = choose(before, upper->second, lower->first), two = choose(before, lower->first, upper->second);
    rotate(&pp, &one, first, second);
    rotate(&two, &qq, first, second);
    rotate(&pp, &two, other_first, other_second);
    rotate(&one, &qq, other_first, other_second);
    upper->first = pp;
    lower->second = qq;
    upper->second = choose(here, conjugate(g), choose(before, one, two));
    lower->first = choose(here, g, choose(before, two, one));
}

/* Rows where the next round wants them, and their columns. */
INLINE void eigh_move(const PairedRow *from, PairedRow *to, const Tournament *tournament) {
    for (int i = 0; i < tournament->pairs; i++) {
        to[tournament->next[i]] = moved(from[i], tournament);
        to[tournament->next[LANES + i]] = moved(from[LANES + i], tournament);
    }
}

/* What eigh_settle() does. */
INLINE void eigh_settle_rows(PairedRow *rows, PairedLane *weights, PairedRow *right, int pairs, int n) {
    if (!any(greater(broadcast(LIGHT), weights->first) | greater(broadcast(LIGHT), weights->second))) return;
    const PairedLane factor = {settled(&weights->first, false), settled(&weights->second, false)};
    for (int i = 0; i < pairs; i++) {
        const Lane first = broadcast(factor.first[i]), second = broadcast(factor.second[i]);
        scale_rows(rows + i, 1, (PairedLane){factor.first * first, factor.second * first});
        scale_rows(rows + LANES + i, 1, (PairedLane){factor.first * second, factor.second * second});
    }
    if (right != NULL) scale_rows(right, n, factor);
}

/* The same for one matrix, which stands in all lanes: these take the pairs of a round. A block whose row comes after its
 * column is rotated by the columns' rotation first, and one that comes before by the rows', as its mirror image is. */
COMPILED_ONCE Mask eigh_iterate_one(Number *a, Lane *values, Number *v, int n, bool narrow) {
    Tournament tournament;
    PairedRow rooms[2][PLACES], *rows = rooms[0], *next = rooms[1];
    PairedRow rows_of_v[LARGEST_JACOBI_SIDE], *const right = v != NULL ? rows_of_v : NULL;
    for (int j = 0; j < n; j++)
        for (int i = j + 1; i < n; i++) a[j + i * n] = conjugate(a[i + j * n]);
    begin_rounds(&tournament, n, next, a, n, rows_of_v, v, n);
    const int pairs = tournament.pairs;
    memset(rows, 0, sizeof rooms[0]);
    PairedLane diagonal = {broadcast(0.0), broadcast(0.0)}, weights = {broadcast(1.0), broadcast(1.0)};
    for (int pair = 0; pair < pairs; pair++) {
        const Mask here = one_lane(pair);
        const int p = tournament.column[pair], q = tournament.column[LANES + pair];
        rows[pair] = next[p];
        if (q < n) rows[LANES + pair] = next[q];
        diagonal.first = pick(here, real_part(rows[pair].first), diagonal.first);
        diagonal.second = pick(here, real_part(rows[LANES + pair].second), diagonal.second);
    }
    Mask going = complement(no_lane());
    for (int sweep = 0; sweep < MOST_SWEEPS && any(going); sweep++) {
        eigh_settle_rows(rows, &weights, right, pairs, n);
        going = no_lane();
        for (int round = 0; round < tournament.rounds; round++) {
            Corner corner = {diagonal.first, diagonal.second,        weights.first,
                             weights.second, number(broadcast(0.0)), {0}};
            for (int i = 0; i < pairs; i++) corner.g = choose(one_lane(i), rows[LANES + i].first, corner.g);
            corner.square = corner.p_weight * corner.q_weight * add_square(broadcast(0.0), corner.g);
            const Mask active = eigh_needs_rotation(&corner, narrow);
            if (any(active)) {
                Rotation r;
                find_rotations(&corner, &active, narrow, 1, &r);
                going |= r.matters;
                diagonal = (PairedLane){corner.p - r.shift, corner.q + r.shift};
                weights = (PairedLane){corner.p_weight * r.weight, corner.q_weight * r.weight};
                const Number g = scaled(corner.g, r.rest);
                for (int i = 0; i < pairs; i++) eigh_rotate_rows(rows + i, rows + LANES + i, i, &r, g);
                if (v != NULL) rotate_rows(right, n, &r);
            }
            eigh_move(rows, next, &tournament);
            diagonal = moved_lanes(diagonal, &tournament);
            weights = moved_lanes(weights, &tournament);
            if (v != NULL) move_rows(right, n, &tournament);
            PairedRow *const former = rows;
            rows = next;
            next = former;
        }
    }
    if (v != NULL) {
        const PairedLane factor = {settled(&weights.first, true), settled(&weights.second, true)};
        scale_rows(right, n, factor);
        part_rows(v, right, n, n, &tournament);
    }
    part_values(values, diagonal.first, diagonal.second, n, &tournament);
    return any(going) ? complement(no_lane()) : no_lane();
}
#else
INLINE Mask eigh_iterate_one(Number *a, Lane *values, Number *v, int n, bool narrow) {
    return eigh_iterate_group(a, values, v, n, narrow, NULL);
}
#endif

/* Loads a group, of which nothing above the diagonal counts, and scales it; answers which matrices are not finite. */
INLINE Mask eigh_load_group(const LaneProblem *problem, const char *from, Index apart, Number *a, int n, Lane *back) {
    const Mask bad = load_numbers(problem, from, apart * matrix_bytes(problem, n, n), a, n * n);
    for (int j = 0; j < n; j++) { /* what is not read must not count for the scale */
        a[j + j * n] = number(real_part(a[j + j * n]));
        for (int i = 0; i < j; i++) a[i + j * n] = number(broadcast(0.0));
    }
    *back = inverse_power(scale_numbers(a, n * n, EIGH_SCALE));
    return bad;
}

#include "linalg/simd/linalg_eigh_packed.h"

/* So many groups of matrices, or where `alone` single ones, which then stand in all lanes. */
INLINE bool eigh_each(const LaneProblem *problem, const char *const *operands, char *const *results, Index count,
                      Number *room, int n, bool alone) {
#if LANES == 8
    if (alone && is_packed(n)) return eigh_each_packed(problem, operands, results, count, n, true);
#endif
    const Index bytes = matrix_bytes(problem, n, n), value_bytes = matrix_bytes(problem, n, 1) / PARTS;
    const Index apart = !alone, step = alone ? 1 : LANES;
    Mask bad = no_lane();
    Lane nearest = broadcast(-1.0);
    for (Index group = 0; group < count; group++) {
        Number *const a = room, *const v = a + n * n;
        Lane *const values = (Lane *)(v + n * n);
        Lane back;
        bad |= eigh_load_group(problem, operands[0] + group * step * bytes, apart, a, n, &back);
        if (!alone) {
            prefetch_results(problem, results[1] + group * LANES * bytes, bytes);
            prefetch_group(operands[0] + group * LANES * bytes, bytes, 1);
        }
        set_identity(v, n);
        bad |= alone ? eigh_iterate_one(a, values, v, n, problem->narrow)
                     : eigh_iterate_group(a, values, v, n, problem->narrow, (Number *)(values + n));
        for (int i = 0; i < n; i++)
            for (int j = i + 1; j < n; j++) put_in_order(values + i, values + j, v + i * n, v + j * n, n);
        nearest = nearest_to_zero(nearest, values, n);
        for (int i = 0; i < n; i++) values[i] = values[i] * back + 0.0; /* no zero has a sign */
        store_lanes(results[0] + group * step * value_bytes, values, apart * value_bytes, n, problem->narrow);
        drop_signs_of_zeros(v, n * n);
        store_numbers(problem, results[1] + group * step * bytes, apart * bytes, v, n * n);
    }
    if (any(bad)) return false;
    return !any(greater(nearest, broadcast(-EIGH_SMALL))) ||
           eigh_look_again(problem, operands[0], results[0], results[1], count, alone);
}

INLINE bool eigh_groups(const LaneProblem *problem, const char *const *operands, char *const *results, Index groups,
                        Number *room, int n) {
    if (is_reduced(problem)) return eigh_large(problem, operands, results, groups, room, true);
    return eigh_each(problem, operands, results, groups, room, n, false);
}

/* The values alone: the same rotations, of which nothing is kept. */
INLINE bool eigvalsh_each(const LaneProblem *problem, const char *const *operands, char *const *results, Index count,
                          Number *room, int n, bool alone) {
#if LANES == 8
    if (alone && is_packed(n)) return eigh_each_packed(problem, operands, results, count, n, false);
#endif
    const Index bytes = matrix_bytes(problem, n, n), value_bytes = matrix_bytes(problem, n, 1) / PARTS;
    const Index apart = !alone, step = alone ? 1 : LANES;
    Mask bad = no_lane();
    Lane nearest = broadcast(-1.0);
    for (Index group = 0; group < count; group++) {
        Number *const a = room;
        Lane *const values = (Lane *)(a + n * n), back;
        bad |= eigh_load_group(problem, operands[0] + group * step * bytes, apart, a, n, &back);
        bad |= alone ? eigh_iterate_one(a, values, NULL, n, problem->narrow)
                     : eigh_iterate_group(a, values, NULL, n, problem->narrow, (Number *)(values + n));
        sort_lanes(values, n);
        nearest = nearest_to_zero(nearest, values, n);
        for (int i = 0; i < n; i++) values[i] = values[i] * back + 0.0; /* no zero has a sign */
        store_lanes(results[0] + group * step * value_bytes, values, apart * value_bytes, n, problem->narrow);
    }
    if (any(bad)) return false;
    return !any(greater(nearest, broadcast(-EIGH_SMALL))) ||
           eigh_look_again(problem, operands[0], results[0], NULL, count, alone);
}

INLINE bool eigvalsh_groups(const LaneProblem *problem, const char *const *operands, char *const *results, Index groups,
                            Number *room, int n) {
    if (is_reduced(problem)) return eigh_large(problem, operands, results, groups, room, false);
    return eigvalsh_each(problem, operands, results, groups, room, n, false);
}

SQUARE_ROUTINE(eigh, EIGH_ROOM(LARGEST_CONSTANT_SIDE))
SQUARE_ROUTINE(eigvalsh, EIGH_ROOM(LARGEST_CONSTANT_SIDE))

#if LANES > 2
/* One by one, of sides from LARGEST_CONSTANT_SIDE to LARGEST_JACOBI_SIDE. */
ALONE_ROUTINE(eigh, problem->rows)
ALONE_ROUTINE(eigvalsh, problem->rows)
#endif
