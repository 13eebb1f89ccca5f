/* Jacobi rotations: unitary 2 x 2 matrices that make a Hermitian one diagonal; for linalg_eigh.h and linalg_svd.h.
 *
 * A sweep visits every pair of indices once, in rounds of disjoint pairs (Brent and Luk, SIAM J. Sci. Stat. Comput.
 * 6, 1985), so that the processor computes the next rotation while it still applies the last one. Lanes without need
 * for a rotation get the identity, and those of a matrix that has converged nothing else; the iteration ends when all
 * have.
 */

enum { MOST_SWEEPS = 40 }; /* five to eight are usual */

/* Of the square of the off-diagonal element over the product of the diagonal ones: what is above the first is rotated
 * away. A sweep in which neither it nor the square of a tangent was above the second leaves products of the two, below
 * the square root of the first, and is the last one: convergence is quadratic. Results in doubles, and in floats. */
static const double ROTATE_ABOVE[] = {0x1p-104, 0x1p-60}, MATTERS_ABOVE[] = {0x1p-55, 0x1p-34};

/* Cosines are left out of the columns and kept as weights, the products of their squares (Gentleman, J. Inst. Maths
 * Applics 12, 1973): that halves the products. A column is the stored one times the root of its weight. A rotation at
 * least halves a weight, and a sweep makes less than a rotation for each column; lighter ones are taken into their
 * columns before the next, so that stored columns are no more than 2^12 times as long as they are. */
static const double LIGHT = 0x1p-8;

typedef struct {
    Number first, second; /* x - first y and y + second x are the new columns */
    Lane shift;           /* what moves from the first diagonal element to the second */
    Lane weight;          /* the square of the cosine, for both */
    Lane rest;            /* the part of the off-diagonal element that is left */
    Mask matters;         /* where another sweep is needed */
} Rotation;

/* Two indices: their diagonal elements, p and q, their weights, the off-diagonal element that is stored, and the square
 * of the size that it has. */
typedef struct {
    Lane p, q, p_weight, q_weight;
    Number g;
    Lane square;
} Corner;

enum { PAIRS_AT_ONCE = 4 }; /* rotations that are computed side by side: each of their steps waits for the one before */

/* Makes [[p, conj(g)], [g, q]] diagonal where the masks say so, by the smaller of the two angles (Golub and Van Loan,
 * Matrix Computations, 4th ed., §8.5.2), for so many, a constant. The tangent has 27 bits, which is soon there: any
 * tangent makes a rotation, and what it leaves is known. */
INLINE void find_rotations(const Corner *of, const Mask *active, bool narrow, int few, Rotation *r) {
    Lane gap[PAIRS_AT_ONCE], width[PAIRS_AT_ONCE], factor[PAIRS_AT_ONCE];
    for (int c = 0; c < few; c++) {
        gap[c] = 0.5 * (of[c].q - of[c].p);
        width[c] = gap[c] * gap[c] + of[c].square;
    }
    for (int c = 0; c < few; c++) width[c] = size_of(gap[c]) + rough_root(width[c]);
    for (int c = 0; c < few; c++) {
        factor[c] = signed_like(pick(active[c], rough_inverse(width[c]), broadcast(0.0)), gap[c]);
        r[c].first = scaled(scaled(of[c].g, of[c].q_weight), factor[c]); /* the tangent is factor |g| */
        r[c].second = conjugate(scaled(scaled(of[c].g, of[c].p_weight), factor[c]));
    }
    for (int c = 0; c < few; c++) {
        const Lane shift = factor[c] * of[c].square, tangent = shift * factor[c]; /* its square */
        const Lane product = size_of(of[c].p * of[c].q), least = broadcast(MATTERS_ABOVE[narrow]);
        r[c].weight = inverse(1.0 + tangent);
        r[c].rest = (1.0 - tangent) - factor[c] * (2.0 * gap[c]);
        r[c].shift = shift + shift * (r[c].weight * r[c].rest);
        r[c].matters = active[c] & (greater(tangent, least) | greater(of[c].square, least * product));
    }
}

/* Two elements of one row, in the columns of the rotation. */
INLINE void rotate(Number *x, Number *y, Number first, Number second) {
    const Number former = *x;
    *x = subtract_product(former, first, *y);
    *y = add_product(*y, second, former);
}

INLINE void rotate_columns(Number *x, Number *y, int count, const Rotation *r) {
    const Number first = r->first, second = r->second;
    for (int i = 0; i < count; i++) rotate(x + i, y + i, first, second);
}

/* The root of a weight that is taken into its column, where it is light or all are; one elsewhere. */
INLINE Lane settled(Lane *weight, bool all) {
    const Mask light = all ? complement(no_lane()) : greater(broadcast(LIGHT), *weight);
    const Lane factor = pick(light, root(*weight), broadcast(1.0));
    *weight = pick(light, broadcast(1.0), *weight);
    return factor;
}

INLINE void scale_column(Number *column, int count, Lane factor) {
    for (int i = 0; i < count; i++) column[i] = scaled(column[i], factor);
}

/* The pair of a round: rounds are 0 .. n - 2 and pairs 0 .. n / 2 - 1 for an even n; an odd n is taken for n + 1, and
 * the pair with the last index left out. Players of a tournament: one stays, the others move around. */
INLINE void tournament_pair(int n, int round, int pair, int *p, int *q) {
    const int others = n - 1 + n % 2;
    int first = round + pair, second = pair == 0 ? others : round - pair;
    if (first >= others) first -= others;
    if (second < 0) second += others;
    *p = first;
    *q = second;
}

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
