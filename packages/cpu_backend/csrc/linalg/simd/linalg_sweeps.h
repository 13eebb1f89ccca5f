/* Sweeps of plane rotations: what implicit QR iterations on two diagonals do to the vectors, for linalg_tridiagonal.h
 * and linalg_bidiagonal.h.
 *
 * The iteration itself touches two diagonals only, so the rotations of several sweeps are kept and applied together,
 * to four rows at a time, while these are in the cache. Each lane has a window of its own, from first to last; outside
 * it, rotations are the identity.
 */

#include "linalg/simd/implicit_qr.h"

enum { SWEEPS_AT_ONCE = 4 }; /* rotations kept; their memory is that of so many times two rows */

typedef struct {
    Lane cosine, sine;
} PlaneRotation;

typedef struct {
    int from, to;             /* the columns that any lane rotates */
    PlaneRotation *rotations; /* of columns j and j + 1 at j */
} Sweep;

/* The rotation with c f + s g = r and c g - s f = 0, in the lanes of the mask; the identity elsewhere. */
INLINE PlaneRotation plane_rotation(Lane f, Lane g, Mask active, Lane *r) {
    const Lane square = f * f + g * g;
    active &= greater(square, broadcast(NO_ROTATION));
    const Lane factor = inverse_root(pick(active, square, broadcast(1.0)));
    *r = pick(active, square * factor, f);
    return (PlaneRotation){pick(active, f * factor, broadcast(1.0)), pick(active, g * factor, broadcast(0.0))};
}

/* Some rows at a time, a constant: rotates columns j and j + 1 for every j of a sweep, in order. Numbers stand `step`
 * lanes apart. */
INLINE void sweep_rows(Lane *const *rows, int few, int step, const Sweep *sweep) {
    Lane carried[4];
    for (int r = 0; r < few; r++) carried[r] = rows[r][step * sweep->from];
    for (int j = sweep->from; j < sweep->to; j++) {
        const PlaneRotation rotation = sweep->rotations[j];
        for (int r = 0; r < few; r++) {
            const Lane next = rows[r][step * (j + 1)];
            rows[r][step * j] = rotation.cosine * carried[r] + rotation.sine * next;
            carried[r] = rotation.cosine * next - rotation.sine * carried[r];
        }
    }
    for (int r = 0; r < few; r++) rows[r][step * sweep->to] = carried[r];
}

/* So many rows, which are so many numbers apart; real rotations turn both parts of a number alike. */
INLINE void sweep_all(Number *numbers, int rows, Index stride, const Sweep *sweeps, int count) {
    Lane *const lanes = (Lane *)numbers;
    const int lane_rows = rows * PARTS;
    for (int first = 0; first < lane_rows; first += 4) {
        Lane *at[4];
        const int few = lane_rows - first < 4 ? lane_rows - first : 4;
        for (int r = 0; r < few; r++) at[r] = lanes + (first + r) / PARTS * stride * PARTS + (first + r) % PARTS;
        for (int s = 0; s < count; s++) {
            if (few == 4) sweep_rows(at, 4, PARTS, sweeps + s);
            else
                for (int r = 0; r < few; r++) sweep_rows(at + r, 1, PARTS, sweeps + s);
        }
    }
}

/* The blocks of two diagonals that are still to be worked on: for each lane the last one that does not fall apart. */
typedef struct {
    Lane first, last; /* indices; both -1 where nothing is left */
    int from, to;     /* the smallest first and the largest last of any lane; from < 0 where no lane has any left */
} Window;

INLINE Window window_of(const Lane *off_diagonal, int n) {
    Window window = {broadcast(-1.0), broadcast(-1.0), -1, -1};
    Mask open = complement(no_lane()); /* lanes whose block may still begin further up */
    for (int i = n - 2; i >= 0; i--) {
        const Mask linked = complement(equal(off_diagonal[i], broadcast(0.0)));
        const Mask begins = linked & equal(window.last, broadcast(-1.0));
        window.last = pick(begins, broadcast(i + 1), window.last);
        window.first = pick(linked & open, broadcast(i), window.first);
        open &= linked | equal(window.last, broadcast(-1.0));
        if (any(linked)) {
            if (window.to < 0) window.to = i + 1;
            if (any(linked & equal(window.first, broadcast(i)))) window.from = i;
        }
    }
    return window;
}

/* Where each of n values of one lane goes in ascending order; equal ones keep theirs. */
INLINE void order_values(const Lane *values, int lane, int n, int *place) {
    int order[LARGEST_SIDE];
    for (int i = 0; i < n; i++) {
        int at = i;
        for (; at > 0 && values[order[at - 1]][lane] > values[i][lane]; at--) order[at] = order[at - 1];
        order[at] = i;
    }
    for (int at = 0; at < n; at++) place[order[at]] = at;
}
