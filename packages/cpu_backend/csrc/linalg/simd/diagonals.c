/* Implicit QR iterations on the diagonals of one matrix (Golub and Van Loan, Matrix Computations, 4th ed., §8.3 and §8.6;
 * the formulas of LAPACK's xBDSQR and xSTEQR, as batches in lanes have them in linalg_bidiagonal.h and
 * linalg_tridiagonal.h). The rotations of a sweep are computed first, and then applied to columns of vectors, of which
 * registers hold the rows.
 */
#include "linalg/diagonals.h"

#include "linalg/simd/implicit_qr.h"
#include "linalg/simd/lane.h"

#include <string.h>

enum { ROWS_AT_ONCE = 4 };

typedef struct {
    double cosine, sine;
} PlaneRotation;

/* The rotation with c f + s g = r and c g - s f = 0; answers r. */
INLINE double rotate(double f, double g, PlaneRotation *rotation) {
    const double square = f * f + g * g;
    *rotation = (PlaneRotation){1.0, 0.0};
    if (!(square > NO_ROTATION)) return f;
    const double r = sqrt(square), inverse = 1.0 / r;
    *rotation = (PlaneRotation){f * inverse, g * inverse};
    return r;
}

/* Rotates columns j and j + 1 for every j of a sweep, in order: so many lane vectors of them. */
INLINE void rotate_rows(Lane *rows, Index stride, Index first, Index last, const PlaneRotation *rotations,
                        const int count) {
    Lane carried[ROWS_AT_ONCE];
    for (int i = 0; i < count; i++) carried[i] = rows[first * stride + i];
    for (Index j = first; j < last; j++) {
        const Lane c = broadcast(rotations[j].cosine), s = broadcast(rotations[j].sine);
#pragma GCC unroll 4
        for (int i = 0; i < count; i++) {
            const Lane next = rows[(j + 1) * stride + i];
            rows[j * stride + i] = c * carried[i] + s * next;
            carried[i] = c * next - s * carried[i];
        }
    }
    for (int i = 0; i < count; i++) rows[last * stride + i] = carried[i];
}

static void rotate_columns(double *columns, Index stride, Index first, Index last, const PlaneRotation *rotations) {
    Lane *const lanes = (Lane *)columns;
    const Index rows = stride / LANES;
    Index row = 0;
    for (; row + ROWS_AT_ONCE <= rows; row += ROWS_AT_ONCE)
        rotate_rows(lanes + row, rows, first, last, rotations, ROWS_AT_ONCE);
    for (; row + 2 <= rows; row += 2) rotate_rows(lanes + row, rows, first, last, rotations, 2);
    for (; row < rows; row++) rotate_rows(lanes + row, rows, first, last, rotations, 1);
}

/* The last block that does not fall apart: whether there is one. */
INLINE bool find_block(const double *e, Index n, Index *first, Index *last) {
    *last = 0;
    for (Index i = n - 2; i >= 0; i--) {
        if (e[i] == 0.0 && *last > 0) return true;
        if (e[i] == 0.0) continue;
        if (*last == 0) *last = i + 1;
        *first = i;
    }
    return *last > 0;
}

/* drop_terms() of linalg_bidiagonal.h */
static void drop_terms(const double *d, double *e, double *inverse, Index n) {
    inverse[0] = 1.0 / fabs(d[0]);
    for (Index i = 0; i + 1 < n; i++) {
        const double part = fabs(e[i]) * inverse[i];
        const bool matters = part > NEGLIGIBLE_TERM && e[i] * e[i] > NO_LINK;
        if (!matters) e[i] = 0.0;
        inverse[i + 1] = (matters ? 1.0 + part : 1.0) / fabs(d[i + 1]);
    }
}

/* drop_links() of linalg_tridiagonal.h */
static void drop_links(const double *d, double *e, Index n) {
    for (Index i = 0; i + 1 < n; i++) {
        const double beside = fabs(d[i] * d[i + 1]) * (4.0 * ROUNDING_UNIT * ROUNDING_UNIT);
        if (!(e[i] * e[i] > (beside > NO_LINK ? beside : NO_LINK))) e[i] = 0.0;
    }
}

/* The smaller singular value of [[f, g], [0, h]]. */
INLINE double smaller_value(double f, double g, double h) {
    const double p = fabs(f), q = fabs(h), sum = p + q, difference = p - q;
    const double width = sqrt(sum * sum + g * g) + sqrt(difference * difference + g * g);
    return width == 0.0 ? 0.0 : 2.0 * p * q / width;
}

/* One step in a block without a shift, which loses no digits of any value (J. Demmel and W. Kahan, SIAM J. Sci. Stat.
 * Comput. 11, 1990); the rotations of the right and of the left vectors are kept. */
static void plain_sweep(double *d, double *e, Index first, Index last, PlaneRotation *right, PlaneRotation *left) {
    double f = d[first], cosine = 1.0, sine = 0.0;
    for (Index i = first; i < last; i++) {
        const double r = rotate(f, e[i], right + i);
        if (i > first) e[i - 1] = sine * r;
        d[i] = rotate(cosine * r, right[i].sine * d[i + 1], left + i);
        cosine = left[i].cosine;
        sine = left[i].sine;
        f = right[i].cosine * d[i + 1];
    }
    d[last] = f * cosine;
    e[last - 1] = f * sine;
}

/* One step in a block; shifted unless that would lose digits of the smallest values. */
static void singular_sweep(double *d, double *e, Index n, Index first, Index last, const double *inverse,
                           PlaneRotation *right, PlaneRotation *left) {
    double largest = 0.0, largest_inverse = 0.0;
    for (Index i = first; i <= last; i++) {
        largest_inverse = inverse[i] > largest_inverse ? inverse[i] : largest_inverse;
        largest = fabs(d[i]) > largest ? fabs(d[i]) : largest;
    }
    const double top = d[first], shift = smaller_value(d[last - 1], e[last - 1], d[last]);
    const double ratio = top == 0.0 ? 0.0 : shift / top;
    if (!(ratio * ratio > ROUNDING_UNIT) || !(SHIFTED_SPREAD * (double)n > largest * largest_inverse)) {
        plain_sweep(d, e, first, last, right, left);
        return;
    }
    double f = (fabs(top) - shift) * (copysign(1.0, top) + ratio), g = e[first];
    for (Index i = first; i < last; i++) {
        const double r = rotate(f, g, right + i);
        if (i > first) e[i - 1] = r;
        double c = right[i].cosine, s = right[i].sine;
        const double turned = c * d[i] + s * e[i], left_over = c * e[i] - s * d[i];
        const double bulge = s * d[i + 1], next = c * d[i + 1];
        d[i] = rotate(turned, bulge, left + i);
        c = left[i].cosine;
        s = left[i].sine;
        f = c * left_over + s * next;
        d[i + 1] = c * next - s * left_over;
        if (i + 1 == last) break;
        g = s * e[i + 1];
        e[i + 1] = c * e[i + 1];
    }
    e[last - 1] = f;
}

/* One step with Wilkinson's shift. */
static void eigen_sweep(double *d, double *e, Index first, Index last, PlaneRotation *kept) {
    const double above = d[last - 1], below = d[last], link = e[last - 1], half = (above - below) * 0.5;
    const double away = half + copysign(sqrt(half * half + link * link), half);
    double g = d[first] - (away == 0.0 ? below : below - link * link / away), s = 1.0, c = 1.0, p = 0.0;
    for (Index i = first; i < last; i++) {
        const double f = s * e[i], b = c * e[i], r = rotate(g, f, kept + i);
        if (i > first) e[i - 1] = r;
        c = kept[i].cosine;
        s = kept[i].sine;
        const double base = d[i] - p, gained = (d[i + 1] - base) * s + 2.0 * c * b;
        p = s * gained;
        d[i] = base + p;
        g = c * gained - b;
    }
    d[last] -= p;
    e[last - 1] = g;
}

/* The power of two that brings the largest number to between 1 and 2; multiplies both diagonals by it. */
static double scale(double *d, double *e, Index n) {
    double most = 0.0;
    for (Index i = 0; i < n; i++) most = fabs(d[i]) > most ? fabs(d[i]) : most;
    for (Index i = 0; i + 1 < n; i++) most = fabs(e[i]) > most ? fabs(e[i]) : most;
    const double factor = scale_to(broadcast(most), 0.0)[0];
    for (Index i = 0; i < n; i++) d[i] *= factor;
    for (Index i = 0; i + 1 < n; i++) e[i] *= factor;
    return factor;
}

static void set_unit_columns(const Diagonals *of, double *columns) {
    memset(columns, 0, sizeof(double) * (size_t)(of->count * of->stride));
    for (Index i = 0; i < of->count; i++) columns[i * (of->stride + 1)] = 1.0;
}

/* Columns in another order. */
static void reorder(const Diagonals *of, double *columns, const Index *order) {
    const size_t bytes = sizeof(double) * (size_t)of->stride;
    memcpy(of->room, columns, bytes * (size_t)of->count);
    for (Index i = 0; i < of->count; i++) memcpy(columns + i * of->stride, of->room + order[i] * of->stride, bytes);
}

/* Values in ascending order, or in descending one, and their columns with them; equal ones keep theirs. */
static void sort(const Diagonals *of, double sign, double factor) {
    double *const sorted = of->room + of->count * of->stride;
    Index *const order = (Index *)(sorted + of->count);
    for (Index i = 0; i < of->count; i++) {
        Index at = i;
        for (; at > 0 && sign * of->values[order[at - 1]] > sign * of->values[i]; at--) order[at] = order[at - 1];
        order[at] = i;
    }
    for (Index i = 0; i < of->count; i++) sorted[i] = of->values[order[i]] / factor;
    memcpy(of->values, sorted, sizeof(double) * (size_t)of->count);
    reorder(of, of->vectors, order);
    if (of->right != NULL) reorder(of, of->right, order);
}

static bool singular(const Diagonals *of) {
    const Index n = of->count;
    double *const d = of->values, *const e = of->beside;
    PlaneRotation *const right = (PlaneRotation *)(of->room + n * of->stride), *const left = right + n;
    double *const inverse = (double *)(left + n);
    const double factor = scale(d, e, n);
    set_unit_columns(of, of->vectors);
    set_unit_columns(of, of->right);
    Index first = 0, last, sweeps = MOST_SWEEPS_A_VALUE * n;
    for (; sweeps > 0; sweeps--) {
        drop_terms(d, e, inverse, n);
        if (!find_block(e, n, &first, &last)) break;
        singular_sweep(d, e, n, first, last, inverse, right, left);
        rotate_columns(of->right, of->stride, first, last, right);
        rotate_columns(of->vectors, of->stride, first, last, left);
    }
    for (Index i = 0; i < n; i++) {
        if (d[i] >= 0.0) continue;
        d[i] = -d[i];
        for (Index j = 0; j < n; j++) of->right[i * of->stride + j] *= -1.0;
    }
    sort(of, -1.0, factor);
    return sweeps > 0;
}

static bool eigen(const Diagonals *of) {
    const Index n = of->count;
    double *const d = of->values, *const e = of->beside;
    PlaneRotation *const kept = (PlaneRotation *)(of->room + n * of->stride);
    const double factor = scale(d, e, n);
    set_unit_columns(of, of->vectors);
    Index first = 0, last, sweeps = MOST_SWEEPS_A_VALUE * n;
    for (; sweeps > 0; sweeps--) {
        drop_links(d, e, n);
        if (!find_block(e, n, &first, &last)) break;
        eigen_sweep(d, e, first, last, kept);
        rotate_columns(of->vectors, of->stride, first, last, kept);
    }
    sort(of, 1.0, factor);
    return sweeps > 0;
}

const DiagonalKernels SIMD_NAME(diagonal_kernels) = {singular, eigen};
