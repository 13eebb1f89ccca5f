/* To an upper bidiagonal matrix, by reflections from the left and from the right in turns (G. H. Golub and W. Kahan,
 * SIAM J. Numer. Anal. B 2 (1965)). A wide matrix is reduced as its adjoint is, which is tall.
 *
 * Each step passes once over the columns that are left: what the reflection from the right before it subtracts, what
 * this one from the left does, and the sum for the next one from the right, which is linear in the row that makes it,
 * are computed while a column is at hand (G. W. Howell et al., "Cache efficient bidiagonalization using BLAS 2.5
 * operators", ACM Trans. Math. Softw. 34 (2008)).
 */

typedef struct {
    Index rows, columns;  /* of the tall matrix */
    Index blocks, across; /* lane vectors in a column, and in a row */
    Number *left, *right; /* the matrix, whose columns become vectors of reflections; those from the right */
    Number *left_factor, *right_factor; /* each tau, in every lane */
    Number *pending, *sums, *panel;
} Bidiagonal;

/* The extents of a problem, and how many numbers its room has. */
static Index bidiagonal_extents(Bidiagonal *of, Index rows, Index columns) {
    of->rows = rows > columns ? rows : columns;
    of->columns = smaller(rows, columns);
    of->blocks = blocks_of(of->rows);
    of->across = blocks_of(of->columns);
    return (of->blocks + of->across + 2) * of->columns + of->blocks * (2 + LANES * PANEL);
}

static Index bidiagonal_room(Index rows, Index columns) {
    Bidiagonal unused;
    return bidiagonal_extents(&unused, rows, columns) * (Index)(sizeof(Number) / sizeof(double));
}

static void bidiagonal_parts(Bidiagonal *of, Number *left, Index rows, Index columns) {
    bidiagonal_extents(of, rows, columns);
    of->left = take_numbers(&left, of->blocks * of->columns);
    of->right = take_numbers(&left, of->across * of->columns);
    of->left_factor = take_numbers(&left, of->columns);
    of->right_factor = take_numbers(&left, of->columns);
    of->pending = take_numbers(&left, of->blocks);
    of->sums = take_numbers(&left, of->blocks);
    of->panel = take_numbers(&left, of->blocks * LANES * PANEL);
}

/* What one step does to so many columns from the j-th on. */
INLINE void step_columns(const Bidiagonal *of, Index k, Index j, const int count, Number *next_row) {
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
static void load_matrix(const Bidiagonal *of, const double *a, bool wide) {
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

static void bidiagonalize(const Reduction *problem) {
    Bidiagonal of;
    bidiagonal_parts(&of, (Number *)problem->room, problem->rows, problem->columns);
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
        for (; j + COLUMNS_AT_ONCE <= of.columns; j += COLUMNS_AT_ONCE) step_columns(&of, k, j, COLUMNS_AT_ONCE, row);
        for (; j < of.columns; j++) step_columns(&of, k, j, 1, row);
        const Reflection right = reflect(row, k + 1, of.across);
        of.right_factor[k] = right.tau;
        problem->beside[k] = right.beta;
        const Number *const next = column + of.blocks;
        for (Index block = k / LANES; block < of.blocks; block++)
            of.pending[block] = times(add_product(next[block], of.sums[block], right.scale), right.tau);
    }
}

static void turn_singular(const Reduction *problem, Vectors left, Vectors right, double *u, double *vh) {
    Bidiagonal of;
    bidiagonal_parts(&of, (Number *)problem->room, problem->rows, problem->columns);
    const bool wide = problem->rows < problem->columns;
    const Index n = of.columns;
    const Side of_left = {of.left, of.left_factor, of.blocks, of.rows, 0, n, n};
    const Side of_right = {of.right, of.right_factor, of.across, n, 1, n - 1, n};
    turn_side(&of_left, of.panel, left, wide ? vh : u, wide);
    turn_side(&of_right, of.panel, right, wide ? u : vh, !wide);
}
