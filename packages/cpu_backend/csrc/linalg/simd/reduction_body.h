/* Householder's reflections I - tau v v^H of one matrix, from the left and from the right in turns (G. H. Golub and
 * W. Kahan, SIAM J. Numer. Anal. B 2 (1965)); registers hold rows of one column.
 *
 * Each step passes once over the columns that are left: what the reflection from the right before it subtracts, what
 * this one from the left does, and the sum for the next one from the right, which is linear in the row that makes it,
 * are computed while a column is at hand (G. W. Howell et al., "Cache efficient bidiagonalization using BLAS 2.5
 * operators", ACM Trans. Math. Softw. 34 (2008)).
 *
 * On the way back reflections are applied in pairs, to panels of as many vectors as registers hold: lanes are vectors
 * there.
 */
#include "linalg/reduction.h"

enum { COLUMNS_AT_ONCE = 4, PANEL = 4 / PARTS }; /* a panel has so many lane vectors in each row */

typedef struct {
    Index rows, columns;             /* of the tall matrix */
    Index blocks, across;            /* lane vectors in a column, and in a row */
    Number *left, *right;            /* the matrix, whose columns become vectors of reflections; those from the right */
    Number *left_factor, *right_factor; /* each tau, in every lane */
    Number *pending, *sums, *panel;
} Reduction;

INLINE Index blocks_of(Index count) { return (count + LANES - 1) / LANES; }

/* The parts of the room, or their sum where there is none. */
static Index lay_out(Reduction *parts, Number *room, Index rows, Index columns) {
    const Index longer = rows > columns ? rows : columns, shorter = rows > columns ? columns : rows;
    const Index blocks = blocks_of(longer), across = blocks_of(shorter);
    Number *const left = room, *const right = left + blocks * shorter, *const factors = right + across * shorter;
    Number *const pending = factors + 2 * shorter, *const sums = pending + blocks, *const panel = sums + blocks;
    *parts = (Reduction){longer, shorter, blocks, across, left, right, factors, factors + shorter, pending, sums, panel};
    return panel + blocks * LANES * PANEL - room;
}

static Index room(Index rows, Index columns) {
    Reduction unused;
    static Number nothing[1];
    return lay_out(&unused, nothing, rows, columns) * (Index)(sizeof(Number) / sizeof(double));
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

/* One element of a column. */
INLINE double *part_of(Number *column, Index row, int part) {
    return (double *)(column + row / LANES) + part * LANES + row % LANES;
}
INLINE Number element(Number *column, Index row) {
    Number result;
    for (int part = 0; part < PARTS; part++) ((Lane *)&result)[part] = broadcast(*part_of(column, row, part));
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

/* What one step does to so many columns from the j-th on. */
INLINE void step_columns(const Reduction *of, Index k, Index j, const int count, Number *next_row) {
    const Index first = k / LANES, blocks = of->blocks;
    const Number *const v = of->left + k * blocks, *const y = of->pending;
    Number *const z = of->sums, *columns[COLUMNS_AT_ONCE];
    Number factors[COLUMNS_AT_ONCE], products[COLUMNS_AT_ONCE];
#pragma GCC unroll 4
    for (int c = 0; c < count; c++) {
        columns[c] = of->left + (j + c) * blocks;
        factors[c] = k > 0 ? conjugate(element(of->right + (k - 1) * of->across, j + c)) : number(broadcast(0.0));
        products[c] = number(broadcast(0.0));
    }
    for (Index block = first; block < blocks; block++) {
        const Number across = conjugate(v[block]);
#pragma GCC unroll 4
        for (int c = 0; c < count; c++) {
            const Number x = subtract_product(columns[c][block], y[block], factors[c]);
            columns[c][block] = x;
            products[c] = add_product(products[c], across, x);
        }
    }
    const Number tau = conjugate(of->left_factor[k]);
#pragma GCC unroll 4
    for (int c = 0; c < count; c++) {
        products[c] = times(sum_of(products[c]), tau);
        const Number right = conjugate(subtract(element(columns[c], k), products[c]));
        set_element(next_row, j + c, right);
        factors[c] = j + c > k + 1 ? right : number(broadcast(0.0));
    }
    for (Index block = first; block < blocks; block++) {
        const Number along = v[block];
        Number sum = z[block];
#pragma GCC unroll 4
        for (int c = 0; c < count; c++) {
            const Number x = subtract_product(columns[c][block], along, products[c]);
            columns[c][block] = x;
            sum = add_product(sum, x, factors[c]);
        }
        z[block] = sum;
    }
}

/* Between a column-major matrix and its columns of lanes, or those of its adjoint. */
static void load_matrix(const Reduction *of, const double *a, bool wide) {
    const Index row = wide ? of->columns : 1, column = wide ? 1 : of->rows;
    for (Index j = 0; j < of->columns; j++) {
        Number *const to = of->left + j * of->blocks;
        to[of->blocks - 1] = number(broadcast(0.0));
        for (Index i = 0; i < of->rows; i++)
            for (int part = 0; part < PARTS; part++) {
                const double x = a[(i * row + j * column) * PARTS + part];
                *part_of(to, i, part) = wide && part == 1 ? -x : x;
            }
    }
}

static void reduce(const Bidiagonalization *problem) {
    Reduction of;
    lay_out(&of, (Number *)problem->room, problem->rows, problem->columns);
    load_matrix(&of, problem->a, problem->rows < problem->columns);
    const Number none = number(broadcast(0.0));
    for (Index i = 0; i < of.across * of.columns; i++) of.right[i] = none;
    for (Index i = 0; i < of.blocks; i++) of.pending[i] = none;
    for (Index k = 0; k < of.columns; k++) {
        Number *const column = of.left + k * of.blocks, *const row = of.right + k * of.across;
        if (k > 0) {
            const Number factor = conjugate(element(row - of.across, k));
            for (Index block = k / LANES; block < of.blocks; block++)
                column[block] = subtract_product(column[block], of.pending[block], factor);
        }
        const Reflection left = reflect(column, k, of.blocks);
        of.left_factor[k] = left.tau;
        problem->diagonal[k] = left.beta;
        if (k + 1 == of.columns) break;
        for (Index block = k / LANES; block < of.blocks; block++) of.sums[block] = none;
        Index j = k + 1;
        for (; j + COLUMNS_AT_ONCE <= of.columns; j += COLUMNS_AT_ONCE)
            step_columns(&of, k, j, COLUMNS_AT_ONCE, row);
        for (; j < of.columns; j++) step_columns(&of, k, j, 1, row);
        const Reflection right = reflect(row, k + 1, of.across);
        of.right_factor[k] = right.tau;
        problem->beside[k] = right.beta;
        const Number *const next = column + of.blocks;
        for (Index block = k / LANES; block < of.blocks; block++)
            of.pending[block] = times(add_product(next[block], of.sums[block], right.scale), right.tau);
    }
}

/* Multiplies a panel by one reflection or, with `pair`, by that and the one before it, from whose row v starts. */
INLINE void turn_panel(Number *panel, Number *v, Index step, Index row, Index blocks, const Number *tau, const bool pair) {
    Number *const w = v + step; /* is applied first */
    const Index first = row / LANES;
    Number of_v[PANEL], of_w[PANEL], between = number(broadcast(0.0));
    for (int i = 0; i < PANEL; i++) of_v[i] = of_w[i] = between;
    for (Index block = first; block < blocks; block++) {
        if (pair) between = add_product(between, conjugate(v[block]), w[block]);
        const double *const parts_of_v = (const double *)(v + block), *const parts_of_w = (const double *)(w + block);
        const Number *const rows = panel + block * LANES * PANEL;
#pragma GCC unroll 8
        for (int lane = 0; lane < LANES; lane++) {
            Number x, y;
            for (int part = 0; part < PARTS; part++) {
                ((Lane *)&x)[part] = broadcast(parts_of_v[part * LANES + lane]);
                if (pair) ((Lane *)&y)[part] = broadcast(parts_of_w[part * LANES + lane]);
            }
            x = conjugate(x);
            if (pair) y = conjugate(y);
#pragma GCC unroll 4
            for (int i = 0; i < PANEL; i++) {
                of_v[i] = add_product(of_v[i], x, rows[lane * PANEL + i]);
                if (pair) of_w[i] = add_product(of_w[i], y, rows[lane * PANEL + i]);
            }
        }
    }
    between = sum_of(between);
    for (int i = 0; i < PANEL; i++) {
        if (pair) {
            of_w[i] = times(of_w[i], tau[1]);
            of_v[i] = subtract_product(of_v[i], between, of_w[i]);
        }
        of_v[i] = times(of_v[i], tau[0]);
    }
    for (Index block = first; block < blocks; block++) {
        const double *const parts_of_v = (const double *)(v + block), *const parts_of_w = (const double *)(w + block);
        Number *const rows = panel + block * LANES * PANEL;
#pragma GCC unroll 8
        for (int lane = 0; lane < LANES; lane++) {
            Number x, y;
            for (int part = 0; part < PARTS; part++) {
                ((Lane *)&x)[part] = broadcast(parts_of_v[part * LANES + lane]);
                if (pair) ((Lane *)&y)[part] = broadcast(parts_of_w[part * LANES + lane]);
            }
#pragma GCC unroll 4
            for (int i = 0; i < PANEL; i++) {
                Number z = subtract_product(rows[lane * PANEL + i], x, of_v[i]);
                if (pair) z = subtract_product(z, y, of_w[i]);
                rows[lane * PANEL + i] = z;
            }
        }
    }
}

/* The reflections of one side, the last one first, applied to real vectors of so many numbers: of the j-th vector the
 * i-th number is at source[i * row + j * column]. Stores them as columns, or as rows of the adjoint. */
typedef struct {
    Number *vectors; /* so many blocks apart */
    const Number *factors;
    Index blocks, rows, first_row, count, order;
} Side;

static void turn_side(const Side *side, Number *panel, const double *source, Index row, Index column, double *result,
                      bool adjoint) {
    enum { WIDTH = PANEL * LANES };
    const Index padded = side->blocks * LANES;
    for (Index start = 0; start < side->order; start += WIDTH) {
        const Index width = smaller(side->order - start, WIDTH);
        memset(panel, 0, sizeof(Number) * (size_t)(padded * PANEL));
        for (Index i = 0; i < side->order; i++)
            for (Index j = 0; j < width; j++)
                *part_of(panel + i * PANEL, j, 0) = source[i * row + (start + j) * column];
        for (Index k = side->count - 1; k >= 0; k--) {
            const bool pair = k > 0 && (k - 1 + side->first_row) % 2 == 0;
            k -= pair;
            Number *const v = side->vectors + k * side->blocks;
            if (pair) turn_panel(panel, v, side->blocks, k + side->first_row, side->blocks, side->factors + k, true);
            else turn_panel(panel, v, 0, k + side->first_row, side->blocks, side->factors + k, false);
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

static void turn(const Bidiagonalization *problem, const double *left, const double *right, double *u, double *vh) {
    Reduction of;
    lay_out(&of, (Number *)problem->room, problem->rows, problem->columns);
    const bool wide = problem->rows < problem->columns;
    const Index n = of.columns;
    const Side of_left = {of.left, of.left_factor, of.blocks, of.rows, 0, n, n};
    const Side of_right = {of.right, of.right_factor, of.across, n, 1, n - 1, n};
    turn_side(&of_left, of.panel, left, 1, n, wide ? vh : u, wide);
    turn_side(&of_right, of.panel, right, n, 1, wide ? u : vh, !wide);
}
