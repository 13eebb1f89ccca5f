/* Eigenvalues and eigenvectors of groups of Hermitian matrices, by the rotations of linalg_eigh.h with columns at places
 * (linalg_places.h): an element goes from one room to another in every round, to where the next one wants it.
 */
#if LANES > 2
/* By place: diagonal elements, weights, and off-diagonal elements, with the row in the later pair or, within one, in its
 * second place. */
typedef struct {
    Lane *values, *weights;
    Number *a;
} EighPlaces;

/* An element of a row and a column, after the round, where the next one wants it. */
INLINE void eigh_put(Number *a, int row, int column, int half, Number x) {
    const int r = next_place(row, half), c = next_place(column, half);
    const int row_pair = pair_at(r, half), column_pair = pair_at(c, half);
    const bool stays = row_pair > column_pair || (row_pair == column_pair && r > c);
    a[stays ? r + c * 2 * half : c + r * 2 * half] = stays ? x : conjugate(x);
}

/* A round, and the move after it; answers where another sweep is needed. */
INLINE Mask eigh_round(EighPlaces from, EighPlaces to, const Vectors *vectors, int round, int half, Mask going,
                       bool narrow) {
    Turn *const turns = vectors->fresh + round * half;
    const int n = 2 * half;
    Mask matters = no_lane();
#pragma GCC unroll 2
    for (int first = 0; first < half; first += PAIRS_AT_ONCE) {
        const int few = half - first < PAIRS_AT_ONCE ? half - first : PAIRS_AT_ONCE;
        Corner corners[PAIRS_AT_ONCE];
        Rotation rotations[PAIRS_AT_ONCE];
        Mask active[PAIRS_AT_ONCE];
        for (int c = 0; c < few; c++) {
            const int p = first + c, q = half + first + c;
            corners[c] = (Corner){from.values[p],  from.values[q],    from.weights[p],
                                  from.weights[q], from.a[q + p * n], broadcast(0.0)};
            corners[c].square = from.weights[p] * from.weights[q] * add_square(broadcast(0.0), corners[c].g);
            active[c] = eigh_needs_rotation(corners + c, narrow) & going;
        }
        find_rotations(corners, active, narrow, few, rotations);
        for (int c = 0; c < few; c++) {
            const int p = first + c, q = half + first + c;
            turns[p] = (Turn){rotations[c].first, rotations[c].second};
            matters |= rotations[c].matters;
            to.values[next_place(p, half)] = corners[c].p - rotations[c].shift;
            to.values[next_place(q, half)] = corners[c].q + rotations[c].shift;
            to.weights[next_place(p, half)] = corners[c].p_weight * rotations[c].weight;
            to.weights[next_place(q, half)] = corners[c].q_weight * rotations[c].weight;
            eigh_put(to.a, q, p, half, scaled(corners[c].g, rotations[c].rest));
        }
    }
    turn_part(vectors, round, 2 * half - 1, half);
#pragma GCC unroll 8
    for (int i = 1; i < half; i++)
#pragma GCC unroll 8
        for (int j = 0; j < i; j++) { /* rows of pair i, and columns of pair j */
            const Turn rows = {conjugate(turns[i].first), conjugate(turns[i].second)}, columns = turns[j];
            const int p = j * n, q = (half + j) * n;
            Number pp = from.a[i + p], pq = from.a[i + q], qp = from.a[half + i + p], qq = from.a[half + i + q];
            rotate(&pp, &pq, columns.first, columns.second);
            rotate(&qp, &qq, columns.first, columns.second);
            rotate(&pp, &qp, rows.first, rows.second);
            rotate(&pq, &qq, rows.first, rows.second);
            eigh_put(to.a, i, j, half, pp);
            eigh_put(to.a, i, half + j, half, pq);
            eigh_put(to.a, half + i, j, half, qp);
            eigh_put(to.a, half + i, half + j, half, qq);
        }
    return matters;
}

/* What eigh_settle() does. */
INLINE void eigh_settle_places(EighPlaces at, Vectors *vectors, int half) {
    Lane factors[LARGEST_JACOBI_SIDE];
    Mask light = no_lane();
    for (int place = 0; place < 2 * half; place++) light |= greater(broadcast(LIGHT), at.weights[place]);
    if (!any(light)) return;
    turn_all(vectors, half);
    for (int place = 0; place < 2 * half; place++) {
        factors[place] = settled(at.weights + place, false);
        scale_vector(vectors, column_at(place, half), factors[place]);
    }
    for (int c = 0; c < 2 * half; c++)
        for (int r = 0; r < 2 * half; r++) {
            Number *const x = at.a + r + c * 2 * half;
            if (pair_at(r, half) >= pair_at(c, half)) *x = scaled(*x, factors[r] * factors[c]);
        }
}

/* Makes the lower triangle of a diagonal; values get the diagonal, v, a unit matrix unless it is NULL, the eigenvectors.
 * Answers which matrices have not converged. What has converged is left alone while others go on, so that no matrix
 * depends on its group. The room is of PLACES_ROOM(n) numbers. */
INLINE Mask eigh_iterate_places(const Number *a, Lane *values, Number *v, int n, bool narrow, Number *room, int half) {
    const int side = 2 * half;
    EighPlaces at[2];
    for (int i = 0; i < 2; i++, room += side * side + 2 * side)
        at[i] = (EighPlaces){(Lane *)room, (Lane *)room + side, room + 2 * side};
    Turn *const turns = (Turn *)room;
    Vectors vectors = {v, n, n, NULL, turns};
    EighPlaces now = at[0], next = at[1];
    for (int c = 0; c < side; c++) {
        const int column = column_at(c, half);
        now.values[c] = column < n ? real_part(a[column + column * n]) : broadcast(0.0);
        now.weights[c] = broadcast(1.0);
        for (int r = 0; r < side; r++) {
            const int row = column_at(r, half), lower = row > column ? row : column;
            const Number x = lower < n ? a[lower + (row + column - lower) * n] : number(broadcast(0.0));
            now.a[r + c * side] = row > column ? x : conjugate(x);
        }
    }
    Mask going = complement(no_lane());
    for (int sweep = 0; sweep < MOST_SWEEPS && any(going); sweep++) {
        Mask matters = no_lane();
        eigh_settle_places(now, &vectors, half);
        for (int round = 0; round < side - 1; round++) {
            matters |= eigh_round(now, next, &vectors, round, half, going, narrow);
            const EighPlaces former = now;
            now = next;
            next = former;
        }
        make_due(&vectors, turns, half);
        going = matters;
    }
    turn_all(&vectors, half);
    for (int place = 0; place < side; place++) {
        const int column = column_at(place, half);
        if (column < n) values[column] = now.values[place];
        if (v != NULL) scale_vector(&vectors, column, settled(now.weights + place, true));
    }
    return going;
}

#define EIGH_PLACES(half)                                                                                              \
    static __attribute__((noinline)) Mask eigh_places_##half(const Number *a, Lane *values, Number *v, int n,          \
                                                             bool narrow, Number *room) {                              \
        return eigh_iterate_places(a, values, v, n, narrow, room, half);                                               \
    }
EACH_HALF(EIGH_PLACES)

#define EIGH_PLACES_OF(half)                                                                                           \
    case half:                                                                                                         \
        if (2 * half <= LARGEST_PLACED_EIGH) return eigh_places_##half(a, values, v, n, narrow, room);                 \
        break;

/* Of up to LARGEST_PLACED_EIGH columns. */
static Mask eigh_places(const Number *a, Lane *values, Number *v, int n, bool narrow, Number *room) {
    switch ((n + 1) / 2) { EACH_HALF(EIGH_PLACES_OF) }
    return complement(no_lane());
}
#endif
