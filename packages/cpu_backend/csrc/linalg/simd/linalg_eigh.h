/* Eigenvalues and eigenvectors of Hermitian matrices, of larger ones as linalg_tridiagonal.h has it, else by Jacobi's
 * method (Golub and Van Loan, Matrix Computations, 4th ed., §8.5).
 *
 * An off-diagonal element is rotated away while it is large next to both diagonal elements, which also finds small
 * eigenvalues of graded matrices well (Demmel and Veselić, SIAM J. Matrix Anal. Appl. 13, 1992). Only the lower
 * triangle and the real part of the diagonal are read, though all elements must be finite. Eigenvalues are sorted
 * ascending, and their vectors with them.
 */

static const double EIGH_SCALE = 500.0;   /* exponent of the largest element; squares and their sums fit */
static const double EIGH_TINY = 0x1p-800; /* a square that is as good as zero */

/* Makes the lower triangle of a diagonal, pair by pair; values get the diagonal, v, a unit matrix unless it is
 * NULL, the eigenvectors. Answers which matrices have not converged. */
INLINE Mask eigh_pairs(Number *a, Lane *values, Number *v, int n) {
    for (int i = 0; i < n; i++) values[i] = real_part(a[i + i * n]);
    Mask rotated = no_lane();
    for (int sweep = 0; sweep < MOST_SWEEPS; sweep++) {
        rotated = no_lane();
        SWEEP(n) {
            int p, q;
            tournament_pair(n, round, pair, &p, &q);
            Number g = a[q + p * n];
            Lane square = add_square(broadcast(0.0), g);
            Mask active = greater(square, ROTATE_ABOVE * size_of(values[p] * values[q]));
            active &= greater(square, broadcast(EIGH_TINY));
            if (!any(active)) continue;
            rotated |= active;
            const Rotation r = rotation(values[p], values[q], g, square, active);
            values[p] -= r.shift;
            values[q] += r.shift;
            a[q + p * n] = choose(active, number(broadcast(0.0)), g);
            for (int k = 0; k < p; k++) rotate(a + p + k * n, a + q + k * n, r.cosine, conjugate(r.sine));
            for (int k = p + 1; k < q; k++) {
                Number mirrored = conjugate(a[q + k * n]);
                rotate(a + k + p * n, &mirrored, r.cosine, r.sine);
                a[q + k * n] = conjugate(mirrored);
            }
            for (int k = q + 1; k < n; k++) rotate(a + k + p * n, a + k + q * n, r.cosine, r.sine);
            if (v != NULL) rotate_columns(v + p * n, v + q * n, n, r.cosine, r.sine);
        }
        if (!any(rotated)) break;
    }
    return rotated;
}

/* A pair of indices, and what is done to its rows and columns. */
typedef struct {
    int p, q;
    Rotation rotation;
} EighPair;

/* The rotations of a round, which wait for nothing but the round before; answers which lanes need any. */
INLINE Mask eigh_round(Number *a, Lane *values, int n, int round, EighPair *pairs) {
    Mask needed = no_lane();
    for (int pair = n % 2; pair < (n + 1) / 2; pair++) {
        EighPair *const of = pairs + pair;
        tournament_pair(n, round, pair, &of->p, &of->q);
        const Number g = a[of->q + of->p * n];
        const Lane square = add_square(broadcast(0.0), g), p = values[of->p], q = values[of->q];
        const Mask active = greater(square, ROTATE_ABOVE * size_of(p * q)) & greater(square, broadcast(EIGH_TINY));
        needed |= active;
        of->rotation = rotation(p, q, g, square, active);
        values[of->p] = p - of->rotation.shift;
        values[of->q] = q + of->rotation.shift;
        a[of->q + of->p * n] = choose(active, number(broadcast(0.0)), g);
        a[of->p + of->q * n] = conjugate(a[of->q + of->p * n]);
    }
    return needed;
}

/* Rows of one pair and columns of another, and the same below or above the diagonal. */
INLINE void eigh_rotate_block(Number *a, int n, const EighPair *rows, const EighPair *columns) {
    Number *const upper = a + rows->p, *const lower = a + rows->q;
    const int p = columns->p * n, q = columns->q * n;
    Number pp = upper[p], pq = upper[q], qp = lower[p], qq = lower[q];
    rotate(&pp, &pq, columns->rotation.cosine, columns->rotation.sine);
    rotate(&qp, &qq, columns->rotation.cosine, columns->rotation.sine);
    rotate(&pp, &qp, rows->rotation.cosine, conjugate(rows->rotation.sine));
    rotate(&pq, &qq, rows->rotation.cosine, conjugate(rows->rotation.sine));
    upper[p] = pp, upper[q] = pq, lower[p] = qp, lower[q] = qq;
    Number *const first = a + rows->p * n, *const second = a + rows->q * n;
    first[columns->p] = conjugate(pp), first[columns->q] = conjugate(pq);
    second[columns->p] = conjugate(qp), second[columns->q] = conjugate(qq);
}

/* The same round by round, for matrices of more rows: rotations of a round are computed side by side. */
INLINE Mask eigh_rounds(Number *a, Lane *values, Number *v, int n) {
    EighPair pairs[LARGEST_JACOBI_SIDE / 2 + 1];
    for (int i = 0; i < n; i++) values[i] = real_part(a[i + i * n]);
    for (int j = 0; j < n; j++)
        for (int i = j + 1; i < n; i++) a[j + i * n] = conjugate(a[i + j * n]);
    Mask rotated = no_lane();
    for (int sweep = 0; sweep < MOST_SWEEPS; sweep++) {
        rotated = no_lane();
        for (int round = 0; round < n - 1 + n % 2; round++) {
            const Mask needed = eigh_round(a, values, n, round, pairs);
            if (!any(needed)) continue;
            rotated |= needed;
            for (int i = n % 2; i < (n + 1) / 2; i++) {
                for (int j = n % 2; j < i; j++) eigh_rotate_block(a, n, pairs + i, pairs + j);
                if (n % 2 == 0) continue;
                const int p = pairs[i].p, q = pairs[i].q; /* the index that the round leaves out is its number */
                rotate(a + round + p * n, a + round + q * n, pairs[i].rotation.cosine, pairs[i].rotation.sine);
                a[p + round * n] = conjugate(a[round + p * n]);
                a[q + round * n] = conjugate(a[round + q * n]);
            }
            for (int i = n % 2; v != NULL && i < (n + 1) / 2; i++)
                rotate_columns(v + pairs[i].p * n, v + pairs[i].q * n, n, pairs[i].rotation.cosine,
                               pairs[i].rotation.sine);
        }
        if (!any(rotated)) break;
    }
    return rotated;
}

#if LANES == 8
/* The two rows of pair i, by the rotations of all pairs; g is what becomes of the element that pairs of rows and columns
 * have in common. */
INLINE void eigh_rotate_rows(PairedRow *upper, PairedRow *lower, int i, const Rotation *r, Number g) {
    const Mask here = (Mask)(1u << i), before = (Mask)((1u << i) - 1); /* columns that come before the rows */
    const Lane row_cosine = broadcast(r->cosine[i]);
    Number row_sine;
    for (int part = 0; part < PARTS; part++) ((Lane *)&row_sine)[part] = broadcast(((const Lane *)&r->sine)[part][i]);
    row_sine = conjugate(row_sine);
    const Lane cosine = pick(before, r->cosine, row_cosine), other_cosine = pick(before, row_cosine, r->cosine);
    const Number sine = choose(before, r->sine, row_sine), other_sine = choose(before, row_sine, r->sine);
    Number pp = upper->first, qq = lower->second;
    Number one = choose(before, upper->second, lower->first), two = choose(before, lower->first, upper->second);
    rotate(&pp, &one, cosine, sine);
    rotate(&two, &qq, cosine, sine);
    rotate(&pp, &two, other_cosine, other_sine);
    rotate(&one, &qq, other_cosine, other_sine);
    upper->first = pp;
    lower->second = qq;
    upper->second = choose(here, conjugate(g), choose(before, one, two));
    lower->first = choose(here, g, choose(before, two, one));
}

/* The same for one matrix, which stands in all lanes: these take the pairs of a round. A block whose row comes after its
 * column is rotated by the columns' rotation first, and one that comes before by the rows', as its mirror image is. */
COMPILED_ONCE Mask eigh_iterate_one(Number *a, Lane *values, Number *v, int n) {
    Tournament tournament;
    PairedRow rows[2 * LANES], former[2 * LANES], right[LARGEST_JACOBI_SIDE];
    for (int j = 0; j < n; j++)
        for (int i = j + 1; i < n; i++) a[j + i * n] = conjugate(a[i + j * n]);
    begin_rounds(&tournament, n, former, a, n, right, v, n);
    const int pairs = tournament.pairs;
    memset(rows, 0, sizeof rows);
    PairedRow diagonal = {number(broadcast(0.0)), number(broadcast(0.0))};
    for (int pair = 0; pair < pairs; pair++) {
        const Mask here = (Mask)(1u << pair);
        const int p = tournament.column[pair], q = tournament.column[LANES + pair];
        rows[pair] = former[p];
        if (q < n) rows[LANES + pair] = former[q];
        diagonal.first = choose(here, rows[pair].first, diagonal.first);
        diagonal.second = choose(here, rows[LANES + pair].second, diagonal.second);
    }
    Mask rotated = no_lane();
    for (int sweep = 0; sweep < MOST_SWEEPS; sweep++) {
        rotated = no_lane();
        for (int round = 0; round < tournament.rounds; round++) {
            Number g = number(broadcast(0.0));
            for (int i = 0; i < pairs; i++) g = choose((Mask)(1u << i), rows[LANES + i].first, g);
            const Lane square = add_square(broadcast(0.0), g), p = real_part(diagonal.first),
                       q = real_part(diagonal.second);
            const Mask active = greater(square, ROTATE_ABOVE * size_of(p * q)) & greater(square, broadcast(EIGH_TINY));
            if (any(active)) {
                rotated |= active;
                const Rotation r = rotation(p, q, g, square, active);
                diagonal.first = number(p - r.shift);
                diagonal.second = number(q + r.shift);
                g = choose(active, number(broadcast(0.0)), g);
                for (int i = 0; i < pairs; i++) eigh_rotate_rows(rows + i, rows + LANES + i, i, &r, g);
                if (v != NULL) rotate_rows(right, n, r.cosine, r.sine);
            }
            const Bits first = tournament.first[round], second = tournament.second[round];
            for (int i = 0; i < pairs; i++) {
                former[i] = moved(rows[i], first, second);
                former[LANES + i] = moved(rows[LANES + i], first, second);
            }
            for (int i = 0; i < pairs; i++) {
                rows[i] = former[first[i]];
                rows[LANES + i] = former[second[i]];
            }
            diagonal = moved(diagonal, first, second);
            if (v != NULL) move_rows(right, n, &tournament, round);
        }
        if (!any(rotated)) break;
    }
    part_values(values, real_part(diagonal.first), real_part(diagonal.second), n, &tournament);
    if (v != NULL) part_rows(v, right, n, n, &tournament);
    return rotated;
}
#else
INLINE Mask eigh_iterate_one(Number *a, Lane *values, Number *v, int n) { return eigh_rounds(a, values, v, n); }
#endif

INLINE Mask eigh_iterate_group(Number *a, Lane *values, Number *v, int n) {
    return n > LARGEST_CONSTANT_SIDE ? eigh_rounds(a, values, v, n) : eigh_pairs(a, values, v, n);
}

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

/* So many groups of matrices, or where `alone` single ones, which then stand in all lanes. */
INLINE bool eigh_each(const LaneProblem *problem, const char *const *operands, char *const *results, Index count,
                      Number *room, int n, bool alone) {
    const Index bytes = matrix_bytes(problem, n, n), value_bytes = matrix_bytes(problem, n, 1) / PARTS;
    const Index apart = !alone, step = alone ? 1 : LANES;
    Mask bad = no_lane();
    for (Index group = 0; group < count; group++) {
        Number *const a = room, *const v = a + n * n;
        Lane *const values = (Lane *)(v + n * n);
        Lane back;
        bad |= eigh_load_group(problem, operands[0] + group * step * bytes, apart, a, n, &back);
        set_identity(v, n);
        bad |= alone ? eigh_iterate_one(a, values, v, n) : eigh_iterate_group(a, values, v, n);
        for (int i = 0; i < n; i++)
            for (int j = i + 1; j < n; j++) put_in_order(values + i, values + j, v + i * n, v + j * n, n);
        for (int i = 0; i < n; i++) values[i] *= back;
        store_lanes(results[0] + group * step * value_bytes, values, apart * value_bytes, n, problem->narrow);
        drop_signs_of_zeros(v, n * n);
        store_numbers(problem, results[1] + group * step * bytes, apart * bytes, v, n * n);
    }
    return !any(bad);
}

INLINE bool eigh_groups(const LaneProblem *problem, const char *const *operands, char *const *results, Index groups,
                        Number *room, int n) {
    if (n > LARGEST_JACOBI_SIDE) return eigh_large(problem, operands, results, groups, room, true);
    return eigh_each(problem, operands, results, groups, room, n, false);
}

/* The values alone: the same rotations, of which nothing is kept. */
INLINE bool eigvalsh_each(const LaneProblem *problem, const char *const *operands, char *const *results, Index count,
                          Number *room, int n, bool alone) {
    const Index bytes = matrix_bytes(problem, n, n), value_bytes = matrix_bytes(problem, n, 1) / PARTS;
    const Index apart = !alone, step = alone ? 1 : LANES;
    Mask bad = no_lane();
    for (Index group = 0; group < count; group++) {
        Number *const a = room;
        Lane *const values = (Lane *)(a + n * n), back;
        bad |= eigh_load_group(problem, operands[0] + group * step * bytes, apart, a, n, &back);
        bad |= alone ? eigh_iterate_one(a, values, NULL, n) : eigh_iterate_group(a, values, NULL, n);
        sort_lanes(values, n);
        for (int i = 0; i < n; i++) values[i] *= back;
        store_lanes(results[0] + group * step * value_bytes, values, apart * value_bytes, n, problem->narrow);
    }
    return !any(bad);
}

INLINE bool eigvalsh_groups(const LaneProblem *problem, const char *const *operands, char *const *results, Index groups,
                            Number *room, int n) {
    if (n > LARGEST_JACOBI_SIDE) return eigh_large(problem, operands, results, groups, room, false);
    return eigvalsh_each(problem, operands, results, groups, room, n, false);
}

SQUARE_ROUTINE(eigh, EIGH_ROOM(LARGEST_CONSTANT_SIDE))
SQUARE_ROUTINE(eigvalsh, EIGH_ROOM(LARGEST_CONSTANT_SIDE))

#if LANES == 8
/* One by one, of sides from LARGEST_CONSTANT_SIDE to LARGEST_JACOBI_SIDE. */
ALONE_ROUTINE(eigh, problem->rows)
ALONE_ROUTINE(eigvalsh, problem->rows)
#endif
