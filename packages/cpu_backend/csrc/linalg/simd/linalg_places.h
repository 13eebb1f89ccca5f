/* Jacobi's rotations of groups of matrices where the pairs of a round stand at places of their own, and columns move
 * between rounds: all places are constants, so that little is computed but rotations. For linalg_eigh.h and linalg_svd.h.
 *
 * Pair k has the places k and half + k. The move after a round is the same for all (linalg_jacobi.h, tournament_pair()),
 * and after a sweep every column is back. An odd number of columns gets one more, of zeros, which needs no rotation.
 */
#if LANES > 2

/* Eigenvalues of up to so many columns, and singular values of more than so many, are found faster with places. With AVX2
 * the others want more registers than there are. */
#if LANES == 8
enum { LARGEST_PLACED_EIGH = LARGEST_JACOBI_SIDE, LARGEST_UNPLACED_SVD = LARGEST_CONSTANT_SIDE };
#else
enum {
    LARGEST_PLACED_EIGH = PARTS == 1 ? LARGEST_JACOBI_SIDE : 8,
    LARGEST_UNPLACED_SVD = PARTS == 1 ? 8 : LARGEST_JACOBI_SIDE,
};
#endif

/* Where a column goes after a round. */
INLINE int next_place(int place, int half) {
    if (place < half) return place > 0 ? place - 1 : half + 1;
    if (place == half) return half;
    return place < 2 * half - 1 ? place + 1 : half - 1;
}

/* The column that stands at a place in round 0. */
INLINE int column_at(int place, int half) {
    if (place < half) return place;
    return place == half ? 2 * half - 1 : 3 * half - 1 - place;
}

INLINE int pair_at(int place, int half) { return place < half ? place : place - half; }

/* What a rotation does to columns. */
typedef struct {
    Number first, second;
} Turn;

/* Rows of v, with n columns of as many numbers as `rows` says: the rotations of a sweep, round by round, while a row is
 * in registers. */
INLINE void turn_rows(Number *v, int from, int to, int rows, int n, const Turn *turns, int half) {
    for (int i = from; i < to; i++) {
        Number x[LARGEST_JACOBI_SIDE];
#pragma GCC unroll 16
        for (int j = 0; j < 2 * half - 1; j++) x[j] = v[i + j * rows];
        x[2 * half - 1] = n < 2 * half ? number(broadcast(0.0)) : v[i + (2 * half - 1) * rows];
#pragma GCC unroll 16
        for (int round = 0; round < 2 * half - 1; round++)
#pragma GCC unroll 8
            for (int pair = 0; pair < half; pair++) {
                int p, q;
                tournament_pair(2 * half, round, pair, &p, &q);
                const Turn *const turn = turns + round * half + pair;
                rotate(x + p, x + q, turn->first, turn->second);
            }
#pragma GCC unroll 16
        for (int j = 0; j < 2 * half - 1; j++) v[i + j * rows] = x[j];
        if (n == 2 * half) v[i + (2 * half - 1) * rows] = x[2 * half - 1];
    }
}

/* The vectors, unless they are NULL, and the rotations that are yet to be applied to them: those of the sweep before.
 * They wait so that they can be applied while the processor finds the next ones, some rows in each round. */
typedef struct {
    Number *v;
    int rows, n;
    Turn *due, *fresh;
} Vectors;

/* The rows that are due in one of so many turns. */
INLINE void turn_part(const Vectors *vectors, int turn, int turns, int half) {
    const int rows = vectors->rows;
    if (vectors->v == NULL || vectors->due == NULL) return;
    turn_rows(vectors->v, turn * rows / turns, (turn + 1) * rows / turns, rows, vectors->n, vectors->due, half);
}

INLINE void turn_all(Vectors *vectors, int half) {
    turn_part(vectors, 0, 1, half);
    vectors->due = NULL;
}

INLINE void scale_vector(const Vectors *vectors, int column, Lane factor) {
    if (vectors->v != NULL && column < vectors->n)
        scale_column(vectors->v + column * vectors->rows, vectors->rows, factor);
}

/* After a sweep; there are two rooms for its rotations. */
INLINE void make_due(Vectors *vectors, Turn *rooms, int half) {
    vectors->due = vectors->fresh;
    vectors->fresh = vectors->fresh == rooms ? rooms + (2 * half - 1) * half : rooms;
}

/* A function for every number of pairs from 3 to 8, with that as a constant. */
#define EACH_HALF(DEFINE) DEFINE(3) DEFINE(4) DEFINE(5) DEFINE(6) DEFINE(7) DEFINE(8)

#endif
