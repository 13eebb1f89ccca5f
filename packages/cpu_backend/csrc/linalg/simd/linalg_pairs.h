/* Jacobi's rotations of one matrix: lanes hold the pairs of columns of a round, where linalg_jacobi.h has a matrix in each
 * lane. For the last few matrices of a batch, or the only one, of 5 to PLACES columns, unless linalg_packed.h takes
 * them.
 *
 * Columns stand at places as linalg_places.h has them, and move in the same way: a round rotates all of its pairs at once.
 * Each element goes through the same operations in the same order as there, so results are the same to the bit. An odd
 * number of columns gets one more, of zeros, which needs no rotation.
 */
#if LANES > 2

/* Of functions that a compiler must not copy for one of their callers: it might fuse other products in the copy. */
#ifdef __clang__
#define COMPILED_ONCE static __attribute__((noinline))
#else
#define COMPILED_ONCE static __attribute__((noinline, noclone))
#endif

/* Places: the lanes of the first columns of the pairs, and then those of the second ones. */
enum { PLACES = 2 * LANES };

/* Which columns round 0 pairs, and how places move after each round. There are at least three pairs. */
typedef struct {
    int pairs, rounds;
    int column[PLACES], next[PLACES];
#if LANES == 8
    Bits first, second; /* the places that the columns of each pair come from */
#else
    Mask taken, third; /* the lanes of pairs, and the third one where it is the last of them */
#endif
} Tournament;

INLINE int place_of(int place, int half) { return place < half ? place : LANES + place - half; }

INLINE void tournament_of(Tournament *tournament, int n) {
    const int half = (n + 1) / 2;
    tournament->pairs = half;
    tournament->rounds = 2 * half - 1;
    for (int place = 0; place < PLACES; place++) {
        tournament->column[place] = n; /* none */
        tournament->next[place] = place;
    }
    for (int place = 0; place < 2 * half; place++) {
        tournament->column[place_of(place, half)] = column_at(place, half);
        tournament->next[place_of(place, half)] = place_of(next_place(place, half), half);
    }
#if LANES == 8
    uint64_t from[PLACES];
    for (int place = 0; place < PLACES; place++) from[tournament->next[place]] = (uint64_t)place;
    memcpy(&tournament->first, from, sizeof tournament->first);
    memcpy(&tournament->second, from + LANES, sizeof tournament->second);
#else
    tournament->taken = lanes_before(half);
    tournament->third = half == 3 ? one_lane(2) : no_lane();
#endif
}

/* A real number of each column. */
typedef struct {
    Lane first, second;
} PairedLane;

INLINE PairedLane moved_lanes(PairedLane row, const Tournament *tournament) {
#if LANES == 8
    return (PairedLane){
        _mm512_permutex2var_pd(row.first, (__m512i)tournament->first, row.second),
        _mm512_permutex2var_pd(row.first, (__m512i)tournament->second, row.second),
    };
#else
    const Lane upper = _mm256_permute2f128_pd(row.first, row.second, 0x31); /* lanes 2 and 3 of both */
    const Lane first = _mm256_shuffle_pd(row.first, upper, 0xd);            /* 1, 2, 3 of the first, 3 of the second */
    const Lane later = _mm256_permute4x64_pd(row.second, 0x90);             /* 0, 0, 1, 2 of the second */
    const Lane second = _mm256_blend_pd(later, _mm256_movedup_pd(row.first), 0x2);
    return (PairedLane){pick(tournament->third, upper, first), (Lane)((Mask)second & tournament->taken)};
#endif
}

/* Elements of one row, in the first and the second column of each pair. */
typedef struct {
    Number first, second;
} PairedRow;

INLINE PairedRow moved(PairedRow row, const Tournament *tournament) {
    PairedRow result;
    const Lane *const first = (const Lane *)&row.first, *const second = (const Lane *)&row.second;
    for (int part = 0; part < PARTS; part++) {
        const PairedLane there = moved_lanes((PairedLane){first[part], second[part]}, tournament);
        ((Lane *)&result.first)[part] = there.first;
        ((Lane *)&result.second)[part] = there.second;
    }
    return result;
}

INLINE void move_rows(PairedRow *rows, int count, const Tournament *tournament) {
    for (int i = 0; i < count; i++) rows[i] = moved(rows[i], tournament);
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
        for (int place = 0; place < PLACES; place++) {
            const int pair = place % LANES;
            if (tournament->column[place] >= n) continue;
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
        for (int place = 0; place < PLACES; place++) {
            const int pair = place % LANES;
            if (tournament->column[place] >= n) continue;
            Lane *const element = (Lane *)(a + i + tournament->column[place] * m);
            for (int part = 0; part < PARTS; part++) element[part] = broadcast(parts[place / LANES][part][pair]);
        }
    }
}

/* The same for one real number of each column. */
INLINE void part_values(Lane *values, Lane first, Lane second, int n, const Tournament *tournament) {
    for (int place = 0; place < PLACES; place++) {
        const int pair = place % LANES;
        if (tournament->column[place] >= n) continue;
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
