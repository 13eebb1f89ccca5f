/* Jacobi rotations: unitary 2 x 2 matrices that make a Hermitian one diagonal; for linalg_eigh.h and linalg_svd.h.
 *
 * A sweep visits every pair of indices once, in rounds of disjoint pairs (Brent and Luk, SIAM J. Sci. Stat. Comput.
 * 6, 1985), so that the processor computes the next rotation while it still applies the last one. Lanes without need
 * for a rotation get the identity; a pair that no lane needs is passed over, and the iteration ends with a sweep in
 * which every pair was.
 */

enum { MOST_SWEEPS = 40 }; /* six to ten are usual */

/* The off-diagonal element matters as long as its square is above this part of the product of the diagonal ones. */
static const double ROTATE_ABOVE = 0x1p-104;

typedef struct {
    Lane cosine;
    Number sine;
    Lane shift; /* what moves from the first diagonal element to the second */
} Rotation;

/* Makes [[p, conj(g)], [g, q]] diagonal where the mask says so, by the smaller of the two angles; the square is |g|²
 * (Golub and Van Loan, Matrix Computations, 4th ed., §8.5.2). */
INLINE Rotation rotation(Lane p, Lane q, Number g, Lane square, Mask active) {
    const Lane gap = q - p, sum = pick(active, gap * gap + 4.0 * square, broadcast(1.0));
    const Lane width = size_of(gap) + sum * inverse_root(sum);
    const Lane half = pick(active, inverse(width), broadcast(0.0)); /* the tangent is factor |g| */
    const Lane factor = with_sign(2.0 * half, gap);
    const Lane shift = factor * square;
    const Lane cosine = pick(active, inverse_root(1.0 + shift * factor), broadcast(1.0));
    return (Rotation){cosine, scaled(g, factor * cosine), shift};
}

/* Two elements of one row, in the columns of the rotation. */
INLINE void rotate(Number *x, Number *y, Lane cosine, Number sine) {
    Number former = *x;
    *x = subtract_product(scaled(former, cosine), sine, *y);
    *y = add_product(scaled(*y, cosine), conjugate(sine), former);
}

INLINE void rotate_columns(Number *x, Number *y, int count, Lane cosine, Number sine) {
    for (int i = 0; i < count; i++) rotate(x + i, y + i, cosine, sine);
}

/* The pair of a round: rounds are 0 .. n - 2 and pairs 0 .. n / 2 - 1 for an even n; an odd n is taken for n + 1, and
 * the pair with the last index left out. Players of a tournament: one stays, the others move around. */
INLINE void tournament_pair(int n, int round, int pair, int *p, int *q) {
    const int others = n - 1 + n % 2;
    int first = round + pair, second = pair == 0 ? others : round - pair;
    if (first >= others) first -= others;
    if (second < 0) second += others;
    *p = first < second ? first : second;
    *q = first < second ? second : first;
}

/* A loop over the pairs of a sweep: every pair of every round, for tournament_pair(). */
#define SWEEP(n)                                                                                                       \
    for (int round = 0; round < n - 1 + n % 2; round++)                                                                \
        for (int pair = n % 2; pair < (n + 1) / 2; pair++)

INLINE void swap_columns(Number *x, Number *y, int count, Mask mask) {
    for (int i = 0; i < count; i++) {
        Number former = x[i];
        x[i] = choose(mask, y[i], former);
        y[i] = choose(mask, former, y[i]);
    }
}

INLINE void swap_lanes(Lane *x, Lane *y, Mask mask) {
    Lane former = *x;
    *x = pick(mask, *y, former);
    *y = pick(mask, former, *y);
}

/* Sorts so many values ascending. */
INLINE void sort_lanes(Lane *values, int count) {
    for (int i = 0; i < count; i++)
        for (int j = i + 1; j < count; j++) swap_lanes(values + i, values + j, greater(values[i], values[j]));
}

/* Exchanges two values where the first is the larger one, and columns x and y with them; answers where. */
INLINE Mask put_in_order(Lane *smaller, Lane *larger, Number *x, Number *y, int count) {
    const Mask wrong = greater(*smaller, *larger);
    if (any(wrong)) {
        swap_lanes(smaller, larger, wrong);
        swap_columns(x, y, count, wrong);
    }
    return wrong;
}
