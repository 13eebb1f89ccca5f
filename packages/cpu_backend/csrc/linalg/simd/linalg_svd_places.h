/* Singular value decompositions of groups of matrices, by the rotations of linalg_svd.h with columns at places
 * (linalg_places.h): rows of the matrix lie one after the other, and columns move within them.
 */
#if LANES > 2
/* By place: squares of norms and weights, and the rows of a. */
typedef struct {
    Lane squares[LARGEST_JACOBI_SIDE], weights[LARGEST_JACOBI_SIDE];
    Number *rows;
} SvdPlaces;

/* The rotations of a round of so many rows; squares and weights move. Answers where another sweep is needed. */
INLINE Mask svd_find_turns(SvdPlaces *at, Turn *turns, int m, int half, Mask going, bool narrow) {
    const int n = 2 * half;
    Lane squares[LARGEST_JACOBI_SIDE], weights[LARGEST_JACOBI_SIDE];
    Mask matters = no_lane();
#pragma GCC unroll 2
    for (int first = 0; first < half; first += PAIRS_AT_ONCE) {
        const int few = half - first < PAIRS_AT_ONCE ? half - first : PAIRS_AT_ONCE;
        InnerProduct sums[PAIRS_AT_ONCE];
        Corner corners[PAIRS_AT_ONCE];
        Rotation rotations[PAIRS_AT_ONCE];
        Mask active[PAIRS_AT_ONCE];
        for (int c = 0; c < few; c++) sums[c] = (InnerProduct){0};
        const Number *x = at->rows + first, *y = x + half;
        int i = 0;
        for (; i + 2 <= m; i += 2, x += 2 * n, y += 2 * n)
            for (int c = 0; c < few; c++) {
                add_inner(sums + c, y[c], x[c]);
                add_odd_inner(sums + c, y[n + c], x[n + c]);
            }
        for (int c = 0; i < m && c < few; c++) add_inner(sums + c, y[c], x[c]);
        for (int c = 0; c < few; c++) {
            const int p = first + c, q = half + first + c;
            corners[c] = (Corner){at->squares[p], at->squares[q],          at->weights[p],
                                  at->weights[q], inner_product(sums + c), broadcast(0.0)};
            corners[c].square = at->weights[p] * at->weights[q] * add_square(broadcast(0.0), corners[c].g);
            active[c] = svd_needs_rotation(corners + c, m, narrow) & going;
        }
        find_rotations(corners, active, narrow, few, rotations);
        for (int c = 0; c < few; c++) {
            const int p = first + c, q = half + first + c;
            turns[p] = (Turn){rotations[c].first, rotations[c].second};
            matters |= rotations[c].matters;
            squares[next_place(p, half)] = corners[c].p - rotations[c].shift;
            squares[next_place(q, half)] = corners[c].q + rotations[c].shift;
            weights[next_place(p, half)] = corners[c].p_weight * rotations[c].weight;
            weights[next_place(q, half)] = corners[c].q_weight * rotations[c].weight;
        }
    }
#pragma GCC unroll 16
    for (int place = 0; place < n; place++) {
        at->squares[place] = squares[place];
        at->weights[place] = weights[place];
    }
    return matters;
}

/* Rotates and moves the columns of so many rows and of some pairs, whose rotations fit into registers: what is overwritten
 * has been read before. What the last of these pairs would overwrite has not, and waits in the room. */
INLINE void svd_turn_and_move(Number *rows, const Turn *turns, int m, int half, int first, int last, Number *room) {
    Turn mine[LARGEST_JACOBI_SIDE / 2];
#pragma GCC unroll 8
    for (int pair = first; pair < last; pair++) mine[pair] = turns[pair];
    for (int i = 0; i < m; i++) {
        Number *const row = rows + i * 2 * half;
        Number second = row[half + first];
        if (first > 0) row[half + first] = room[i];
#pragma GCC unroll 8
        for (int pair = first; pair < last; pair++) {
            Number x = row[pair], y = second;
            if (pair + 1 < last) second = row[half + pair + 1];
            rotate(&x, &y, mine[pair].first, mine[pair].second);
            row[next_place(pair, half)] = x;
            if (pair + 1 == last && last < half) room[i] = y;
            else row[next_place(half + pair, half)] = y;
        }
    }
}

/* What svd_settle() does. */
INLINE void svd_settle_places(SvdPlaces *at, Vectors *vectors, int m, int half, bool all) {
    Mask light = no_lane();
    for (int place = 0; place < 2 * half; place++) light |= greater(broadcast(LIGHT), at->weights[place]);
    if (all || any(light)) turn_all(vectors, half);
    for (int place = 0; place < 2 * half; place++) {
        Number *const x = at->rows + place;
        if (all || any(light)) {
            const Lane factor = settled(at->weights + place, all);
            for (int i = 0; i < m; i++) x[i * 2 * half] = scaled(x[i * 2 * half], factor);
            scale_vector(vectors, column_at(place, half), factor);
        }
        Lane square = broadcast(0.0);
        for (int i = 0; i < m; i++) square = add_square(square, x[i * 2 * half]);
        at->squares[place] = square * at->weights[place];
    }
}

/* What svd_iterate_group() does. */
INLINE Mask svd_iterate_places(Number *a, Lane *squares, Number *v, int m, int n, int v_rows, bool narrow, Number *room,
                               int half) {
    const int side = 2 * half, few = half <= 8 / PARTS ? half : half / 2;
    Number waiting[LARGEST_JACOBI_SIDE];
    SvdPlaces at = {.rows = room};
    Turn *const turns = (Turn *)(room + m * side);
    Vectors vectors = {v, v_rows, n, NULL, turns};
    for (int place = 0; place < side; place++) {
        const int column = column_at(place, half);
        at.weights[place] = broadcast(1.0);
        for (int i = 0; i < m; i++) at.rows[i * side + place] = column < n ? a[i + column * m] : number(broadcast(0.0));
    }
    Mask going = complement(no_lane());
    for (int sweep = 0; sweep < MOST_SWEEPS && any(going); sweep++) {
        Mask matters = no_lane();
        svd_settle_places(&at, &vectors, m, half, false);
        for (int round = 0; round < side - 1; round++) {
            matters |= svd_find_turns(&at, vectors.fresh + round * half, m, half, going, narrow);
            turn_part(&vectors, round, side - 1, half);
            const Turn *const turns_now = vectors.fresh + round * half;
            svd_turn_and_move(at.rows, turns_now, m, half, 0, few, waiting);
            if (few < half) svd_turn_and_move(at.rows, turns_now, m, half, few, half, waiting);
        }
        make_due(&vectors, turns, half);
        going = matters;
    }
    svd_settle_places(&at, &vectors, m, half, true);
    for (int place = 0; place < side; place++) {
        const int column = column_at(place, half);
        if (column >= n) continue;
        squares[column] = at.squares[place];
        for (int i = 0; i < m; i++) a[i + column * m] = at.rows[i * side + place];
    }
    return going;
}

#define SVD_PLACES(half)                                                                                               \
    static __attribute__((noinline)) Mask svd_places_##half(Number *a, Lane *squares, Number *v, int m, int n,         \
                                                            int v_rows, bool narrow, Number *room) {                   \
        return svd_iterate_places(a, squares, v, m, n, v_rows, narrow, room, half);                                    \
    }
EACH_HALF(SVD_PLACES)

#define SVD_PLACES_OF(half)                                                                                            \
    case half:                                                                                                         \
        if (2 * half > LARGEST_UNPLACED_SVD) return svd_places_##half(a, squares, v, m, n, v_rows, narrow, room);      \
        break;

/* Of more than LARGEST_UNPLACED_SVD columns. */
static Mask svd_places(Number *a, Lane *squares, Number *v, int m, int n, int v_rows, bool narrow, Number *room) {
    switch ((n + 1) / 2) { EACH_HALF(SVD_PLACES_OF) }
    return complement(no_lane());
}
#endif
