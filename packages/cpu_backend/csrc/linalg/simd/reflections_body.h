/* Householder's reflections I - tau v v^H of one matrix; registers hold rows of one column.
 *
 * On the way back they are applied in pairs, to panels of as many vectors as registers hold: lanes are vectors there.
 */
#include "linalg/reduction.h"

#include <string.h>

enum { COLUMNS_AT_ONCE = 4, PANEL = 4 / PARTS }; /* a panel has so many lane vectors in each row */

INLINE Index blocks_of(Index count) { return (count + LANES - 1) / LANES; }

/* Where the parts of a room begin: takes so many numbers from what is left. */
INLINE Number *take_numbers(Number **left, Index count) {
    Number *const part = *left;
    *left += count;
    return part;
}

INLINE double sum_of_lanes(Lane x) {
#if LANES == 8
    return _mm512_reduce_add_pd(x);
#else
    double sum = x[0];
    for (int lane = 1; lane < LANES; lane++) sum += x[lane];
    return sum;
#endif
}

INLINE Number sum_of(Number x) {
    Lane *const parts = (Lane *)&x;
    for (int part = 0; part < PARTS; part++) parts[part] = broadcast(sum_of_lanes(parts[part]));
    return x;
}

/* One element of a column: where a part of it begins in those of a vector. */
INLINE Index place_of(Index row, int part) { return (row / LANES * PARTS + part) * LANES + row % LANES; }
INLINE double *part_of(Number *column, Index row, int part) { return (double *)column + place_of(row, part); }
INLINE Number element(const Number *column, Index row) {
    Number result;
    for (int part = 0; part < PARTS; part++)
        ((Lane *)&result)[part] = broadcast(((const double *)column)[place_of(row, part)]);
    return result;
}
INLINE void set_element(Number *column, Index row, Number x) {
    for (int part = 0; part < PARTS; part++) *part_of(column, row, part) = ((Lane *)&x)[part][0];
}

/* The row in each lane of the block in which this one is, as seen from it. */
INLINE Lane rows_from(Index row) {
    Lane rows;
    for (int lane = 0; lane < LANES; lane++) rows[lane] = lane;
    return rows - (double)(row % LANES);
}

/* Columns with less than this sum of squares count as zero: in a matrix with an element of 2^-300 or more that is less
 * than 2^-150 of its norm. */
static const double NO_SQUARES = 0x1p-900;

/* What makes a column, from a row on, the vector of a reflection that turns the column into beta times a unit vector. */
typedef struct {
    Number tau, scale; /* of the elements below, in v */
    double beta;
} Reflection;

/* Replaces the column from a row on by v, 1 in this row and zero before it in its block. */
INLINE Reflection reflect(Number *column, Index row, Index blocks) {
    const Index first = row / LANES;
    const Lane rows = rows_from(row), zero = broadcast(0.0);
    const Number none = number(zero), alpha = element(column, row);
    Lane squares = add_square(zero, choose(greater(rows, zero), column[first], none));
    for (Index block = first + 1; block < blocks; block++) squares = add_square(squares, column[block]);
    const double below = sum_of_lanes(squares), real = real_part(alpha)[0];
    const double all = below + add_square(zero, alpha)[0];
    Reflection result = {none, none, real};
    if (all >= NO_SQUARES && (below > 0.0 || square_of_imaginary(alpha)[0] > 0.0)) {
        result.beta = -copysign(sqrt(all), real);
        const Number less = subtract(alpha, number(broadcast(result.beta)));
        result.tau = scaled(less, broadcast(-1.0 / result.beta));
        result.scale = reciprocal(less);
    }
    for (Index block = first; block < blocks; block++) column[block] = times(column[block], result.scale);
    const Number after = choose(greater(rows, zero), column[first], none);
    column[first] = choose(equal(rows, zero), number(broadcast(1.0)), after);
    return result;
}

/* Multiplies a panel by one reflection or, with `pair`, by that of w, in the next column, and then by that of v. */
INLINE void turn_panel(Number *panel, const Number *v, Index blocks, Index row, const Number *tau, const bool pair) {
    const Number *const w = pair ? v + blocks : v, none = number(broadcast(0.0));
    const Index first = row / LANES * LANES, last = blocks * LANES;
    Number of_v[PANEL], of_w[PANEL], between = none;
    for (int i = 0; i < PANEL; i++) of_v[i] = of_w[i] = none;
    for (Index block = first / LANES; pair && block < blocks; block++)
        between = add_product(between, conjugate(v[block]), w[block]);
    for (row = first; row < last; row++) {
        const Number x = conjugate(element(v, row)), y = pair ? conjugate(element(w, row)) : none;
#pragma GCC unroll 4
        for (int i = 0; i < PANEL; i++) {
            of_v[i] = add_product(of_v[i], x, panel[row * PANEL + i]);
            if (pair) of_w[i] = add_product(of_w[i], y, panel[row * PANEL + i]);
        }
    }
    between = sum_of(between);
    for (int i = 0; i < PANEL; i++) {
        if (pair) of_w[i] = times(of_w[i], tau[1]);
        if (pair) of_v[i] = subtract_product(of_v[i], between, of_w[i]);
        of_v[i] = times(of_v[i], tau[0]);
    }
    for (row = first; row < last; row++) {
        const Number x = element(v, row), y = pair ? element(w, row) : none;
#pragma GCC unroll 4
        for (int i = 0; i < PANEL; i++) {
            const Number z = subtract_product(panel[row * PANEL + i], x, of_v[i]);
            panel[row * PANEL + i] = pair ? subtract_product(z, y, of_w[i]) : z;
        }
    }
}

/* The reflections of one side, the last one first, applied to so many real vectors, of so many numbers. Stores them as
 * columns, or as rows of the adjoint. */
typedef struct {
    const Number *vectors; /* so many blocks apart */
    const Number *factors;
    Index blocks, rows, first_row, count, order;
} Side;

static void turn_side(const Side *side, Number *panel, Vectors from, double *result, bool adjoint) {
    enum { WIDTH = PANEL * LANES };
    const Index padded = side->blocks * LANES;
    for (Index start = 0; start < side->order; start += WIDTH) {
        const Index width = smaller(side->order - start, WIDTH);
        memset(panel, 0, sizeof(Number) * (size_t)(padded * PANEL));
        for (Index i = 0; i < side->order; i++)
            for (Index j = 0; j < width; j++)
                *part_of(panel + i * PANEL, j, 0) = from.numbers[i * from.row + (start + j) * from.column];
        for (Index k = side->count - 1; k >= 0; k--) {
            const bool pair = k > 0 && (k - 1 + side->first_row) % 2 == 0;
            k -= pair;
            const Number *const v = side->vectors + k * side->blocks;
            if (pair) turn_panel(panel, v, side->blocks, k + side->first_row, side->factors + k, true);
            else turn_panel(panel, v, side->blocks, k + side->first_row, side->factors + k, false);
        }
        for (Index j = 0; j < width; j++)
            for (Index i = 0; i < side->rows; i++)
                for (int part = 0; part < PARTS; part++) {
                    const double x = *part_of(panel + i * PANEL, j, part);
                    if (adjoint) result[(start + j + i * side->order) * PARTS + part] = part == 1 ? -x : x;
                    else result[(i + (start + j) * side->rows) * PARTS + part] = x;
                }
    }
}
