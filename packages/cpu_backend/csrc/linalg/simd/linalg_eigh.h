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

/* Makes the lower triangle of a diagonal, pair by pair; values get the diagonal, v, where it is not NULL, the
 * eigenvectors. Answers which matrices have not converged. */
INLINE Mask eigh_pairs(Number *a, Lane *values, Number *v, int n) {
    for (int i = 0; i < n; i++) values[i] = real_part(a[i + i * n]);
    if (v != NULL) set_identity(v, n);
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
    if (v != NULL) set_identity(v, n);
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

INLINE Mask eigh_iterate_group(Number *a, Lane *values, Number *v, int n) {
    return n > LARGEST_CONSTANT_SIDE ? eigh_rounds(a, values, v, n) : eigh_pairs(a, values, v, n);
}

/* Loads a group, of which nothing above the diagonal counts, and scales it; answers which matrices are not finite. */
INLINE Mask eigh_load_group(const LaneProblem *problem, const char *from, Number *a, int n, Lane *back) {
    const Mask bad = load_numbers(problem, from, matrix_bytes(problem, n, n), a, n * n);
    for (int j = 0; j < n; j++) { /* what is not read must not count for the scale */
        a[j + j * n] = number(real_part(a[j + j * n]));
        for (int i = 0; i < j; i++) a[i + j * n] = number(broadcast(0.0));
    }
    *back = inverse_power(scale_numbers(a, n * n, EIGH_SCALE));
    return bad;
}

INLINE bool eigh_groups(const LaneProblem *problem, const char *const *operands, char *const *results, Index groups,
                        Number *room, int n) {
    if (n > LARGEST_JACOBI_SIDE) return eigh_large(problem, operands, results, groups, room, true);
    const Index bytes = matrix_bytes(problem, n, n), value_bytes = matrix_bytes(problem, n, 1) / PARTS;
    Mask bad = no_lane();
    for (Index group = 0; group < groups; group++) {
        Number *const a = room, *const v = a + n * n;
        Lane *const values = (Lane *)(v + n * n);
        Lane back;
        bad |= eigh_load_group(problem, operands[0] + group * LANES * bytes, a, n, &back);
        bad |= eigh_iterate_group(a, values, v, n);
        for (int i = 0; i < n; i++)
            for (int j = i + 1; j < n; j++) put_in_order(values + i, values + j, v + i * n, v + j * n, n);
        for (int i = 0; i < n; i++) values[i] *= back;
        store_lanes(results[0] + group * LANES * value_bytes, values, value_bytes, n, problem->narrow);
        drop_signs_of_zeros(v, n * n);
        store_numbers(problem, results[1] + group * LANES * bytes, bytes, v, n * n);
    }
    return !any(bad);
}

/* The values alone: the same rotations, of which nothing is kept. */
INLINE bool eigvalsh_groups(const LaneProblem *problem, const char *const *operands, char *const *results, Index groups,
                            Number *room, int n) {
    if (n > LARGEST_JACOBI_SIDE) return eigh_large(problem, operands, results, groups, room, false);
    const Index bytes = matrix_bytes(problem, n, n), value_bytes = matrix_bytes(problem, n, 1) / PARTS;
    Mask bad = no_lane();
    for (Index group = 0; group < groups; group++) {
        Number *const a = room;
        Lane *const values = (Lane *)(a + n * n), back;
        bad |= eigh_load_group(problem, operands[0] + group * LANES * bytes, a, n, &back);
        bad |= eigh_iterate_group(a, values, NULL, n);
        sort_lanes(values, n);
        for (int i = 0; i < n; i++) values[i] *= back;
        store_lanes(results[0] + group * LANES * value_bytes, values, value_bytes, n, problem->narrow);
    }
    return !any(bad);
}

SQUARE_ROUTINE(eigh, EIGH_ROOM(LARGEST_CONSTANT_SIDE))
SQUARE_ROUTINE(eigvalsh, EIGH_ROOM(LARGEST_CONSTANT_SIDE))
