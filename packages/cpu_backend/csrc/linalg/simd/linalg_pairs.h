/* Jacobi's rotations of one matrix: lanes hold the pairs of columns of a round, where linalg_jacobi.h has a matrix in each
 * lane. For the last few matrices of a batch, or the only one, unless linalg_packed.h takes them.
 *
 * A round rotates all of its pairs at once; between rounds, columns move to where the next round wants them. Each element
 * goes through the same operations in the same order as there, so results are the same to the bit. An odd number of
 * columns gets one more, of zeros, which needs no rotation.
 */
#if LANES == 8

/* Of functions that a compiler must not copy for one of their callers: it might fuse other products in the copy. */
#ifdef __clang__
#define COMPILED_ONCE static __attribute__((noinline))
#else
#define COMPILED_ONCE static __attribute__((noinline, noclone))
#endif

enum { MOST_PAIRS = LARGEST_JACOBI_SIDE / 2, MOST_ROUNDS = LARGEST_JACOBI_SIDE - 1 };
_Static_assert(MOST_PAIRS <= LANES, "a round of pairs fills no more than the lanes");

/* How columns move after each round: where the first and the second column of each pair come from, the second ones of
 * the round counted on from the first ones; and which columns round 0 pairs. */
typedef struct {
    int pairs, rounds;
    Bits first[MOST_ROUNDS], second[MOST_ROUNDS];
    int column[2 * LANES]; /* by place */
} Tournament;

INLINE void tournament_of(Tournament *tournament, int n) {
    const int players = n + n % 2, rounds = players - 1;
    int place[2 * MOST_PAIRS], p, q;
    tournament->pairs = players / 2;
    tournament->rounds = rounds;
    for (int pair = 0; pair < players / 2; pair++) {
        tournament_pair(players, 0, pair, &p, &q);
        place[p] = pair;
        place[q] = LANES + pair;
        tournament->column[pair] = p;
        tournament->column[LANES + pair] = q;
    }
    for (int round = 0; round < rounds; round++) {
        uint64_t first[LANES], second[LANES];
        for (int lane = 0; lane < LANES; lane++) first[lane] = (uint64_t)lane, second[lane] = (uint64_t)(LANES + lane);
        int next[2 * MOST_PAIRS];
        for (int pair = 0; pair < players / 2; pair++) {
            tournament_pair(players, round + 1 < rounds ? round + 1 : 0, pair, &p, &q);
            first[pair] = (uint64_t)place[p];
            second[pair] = (uint64_t)place[q];
            next[p] = pair;
            next[q] = LANES + pair;
        }
        memcpy(place, next, sizeof place);
        memcpy(&tournament->first[round], first, sizeof first);
        memcpy(&tournament->second[round], second, sizeof second);
    }
}

/* Elements of one row, in the first and the second column of each pair. */
typedef struct {
    Number first, second;
} PairedRow;

INLINE PairedRow moved(PairedRow row, Bits first, Bits second) {
    PairedRow result;
    const Lane *const x = (const Lane *)&row.first, *const y = (const Lane *)&row.second;
    for (int part = 0; part < PARTS; part++) {
        ((Lane *)&result.first)[part] = _mm512_permutex2var_pd(x[part], (__m512i)first, y[part]);
        ((Lane *)&result.second)[part] = _mm512_permutex2var_pd(x[part], (__m512i)second, y[part]);
    }
    return result;
}

INLINE void move_rows(PairedRow *rows, int count, const Tournament *tournament, int round) {
    for (int i = 0; i < count; i++) rows[i] = moved(rows[i], tournament->first[round], tournament->second[round]);
}

/* A real number of each column. */
typedef struct {
    Lane first, second;
} PairedLane;

INLINE PairedLane moved_lanes(PairedLane row, const Tournament *tournament, int round) {
    return (PairedLane){
        _mm512_permutex2var_pd(row.first, (__m512i)tournament->first[round], row.second),
        _mm512_permutex2var_pd(row.first, (__m512i)tournament->second[round], row.second),
    };
}

INLINE void rotate_rows(PairedRow *rows, int count, const Rotation *r) {
    const Number first = r->first, second = r->second;
    for (int i = 0; i < count; i++) rotate(&rows[i].first, &rows[i].second, first, second);
}

INLINE void scale_rows(PairedRow *rows, int count, PairedLane factor) {
    for (int i = 0; i < count; i++)
        rows[i] = (PairedRow){scaled(rows[i].first, factor.first), scaled(rows[i].second, factor.second)};
}

/* What one lane holds, in all of them. */
INLINE Number in_all_lanes(const Number *x, int lane) {
    Number result;
    for (int part = 0; part < PARTS; part++) ((Lane *)&result)[part] = broadcast(((const Lane *)x)[part][lane]);
    return result;
}

/* Between a matrix whose elements stand in all lanes and its rows as round 0 pairs them. */
INLINE void pair_rows(PairedRow *rows, const Number *a, int m, int n, const Tournament *tournament) {
    for (int i = 0; i < m; i++) {
        double parts[2][PARTS][LANES] = {0};
        for (int place = 0; place < 2 * LANES; place++) {
            const int pair = place % LANES;
            if (pair >= tournament->pairs || tournament->column[place] >= n) continue;
            const Lane *const element = (const Lane *)(a + i + tournament->column[place] * m);
            for (int part = 0; part < PARTS; part++) parts[place / LANES][part][pair] = element[part][0];
        }
        memcpy(rows + i, parts, sizeof parts);
    }
}

INLINE void part_rows(Number *a, const PairedRow *rows, int m, int n, const Tournament *tournament) {
    for (int i = 0; i < m; i++) {
        double parts[2][PARTS][LANES];
        memcpy(parts, rows + i, sizeof parts);
        for (int place = 0; place < 2 * LANES; place++) {
            const int pair = place % LANES;
            if (pair >= tournament->pairs || tournament->column[place] >= n) continue;
            Lane *const element = (Lane *)(a + i + tournament->column[place] * m);
            for (int part = 0; part < PARTS; part++) element[part] = broadcast(parts[place / LANES][part][pair]);
        }
    }
}

/* The same for one real number of each column. */
INLINE void part_values(Lane *values, Lane first, Lane second, int n, const Tournament *tournament) {
    for (int place = 0; place < 2 * LANES; place++) {
        const int pair = place % LANES;
        if (pair >= tournament->pairs || tournament->column[place] >= n) continue;
        values[tournament->column[place]] = broadcast(place < LANES ? first[pair] : second[pair]);
    }
}

/* What a matrix of n columns begins with: the tournament, and the rows as round 0 pairs them, of a and, unless it is NULL,
 * of v, which is rotated with it. */
INLINE void begin_rounds(Tournament *tournament, int n, PairedRow *rows, const Number *a, int m, PairedRow *right,
                         const Number *v, int v_rows) {
    tournament_of(tournament, n);
    pair_rows(rows, a, m, n, tournament);
    if (v != NULL) pair_rows(right, v, v_rows, n, tournament);
}

#endif
