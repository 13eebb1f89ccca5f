/* To a tridiagonal matrix, by reflections from both sides. Each step passes once over the lower triangle that is left: what
 * the reflection before it subtracts, and the product with the vector of this one, are computed while a column is at
 * hand.
 */

typedef struct {
    Index rows, blocks; /* and lane vectors in a column */
    Number *vectors; /* the matrix, whose columns become vectors of reflections, from the row below the diagonal on */
    Number *factors; /* each tau, in every lane */
    Number *pending; /* w: v w^H + w v^H, of the last reflection, is yet to be subtracted */
    Number *products, *panel;
} Tridiagonal;

static Index tridiagonal_room(Index rows) {
    const Index blocks = blocks_of(rows);
    return (rows * (blocks + 1) + blocks * (2 + LANES * PANEL)) * (Index)(sizeof(Number) / sizeof(double));
}

static void tridiagonal_parts(Tridiagonal *of, Number *left, Index rows) {
    of->rows = rows;
    of->blocks = blocks_of(rows);
    of->vectors = take_numbers(&left, of->blocks * rows);
    of->factors = take_numbers(&left, rows);
    of->pending = take_numbers(&left, of->blocks);
    of->products = take_numbers(&left, of->blocks);
    of->panel = take_numbers(&left, of->blocks * LANES * PANEL);
}

/* Of so many columns from the j-th on, which lie in one block: subtracts what is pending, and adds their share to the
 * product of the triangle, and of its adjoint above the diagonal, with v. */
INLINE void multiply_columns(const Tridiagonal *of, Index k, Index j, const int count) {
    const Index first = j / LANES, blocks = of->blocks;
    const Number *const v = of->vectors + k * blocks, *const w = of->pending, *const before = v - (k > 0 ? blocks : 0);
    Number *const products = of->products, *columns[COLUMNS_AT_ONCE];
    Number of_w[COLUMNS_AT_ONCE], of_before[COLUMNS_AT_ONCE], factors[COLUMNS_AT_ONCE], across[COLUMNS_AT_ONCE];
    const Number none = number(broadcast(0.0));
#pragma GCC unroll 4
    for (int c = 0; c < count; c++) {
        columns[c] = of->vectors + (j + c) * blocks;
        of_w[c] = conjugate(element(of->pending, j + c));
        of_before[c] = conjugate(element(before, j + c));
        factors[c] = element(v, j + c);
        const Number x =
            subtract_product(subtract_product(columns[c][first], before[first], of_w[c]), w[first], of_before[c]);
        columns[c][first] = x;
        const Lane rows = rows_from(j + c);
        const Mask below = greater(rows, broadcast(0.0));
        across[c] = choose(below, times(conjugate(x), v[first]), none);
        products[first] =
            add_product(products[first],
                        choose(equal(rows, broadcast(0.0)), number(real_part(x)), choose(below, x, none)), factors[c]);
    }
    for (Index block = first + 1; block < blocks; block++) {
        const Number along = v[block], pending = w[block], former = before[block];
        Number sum = products[block];
#pragma GCC unroll 4
        for (int c = 0; c < count; c++) {
            const Number x =
                subtract_product(subtract_product(columns[c][block], former, of_w[c]), pending, of_before[c]);
            columns[c][block] = x;
            sum = add_product(sum, x, factors[c]);
            across[c] = add_product(across[c], conjugate(x), along);
        }
        products[block] = sum;
    }
#pragma GCC unroll 4
    for (int c = 0; c < count; c++) {
        const Number before_it = element(products, j + c), all = sum_of(across[c]);
        set_element(products, j + c, subtract(before_it, minus(all)));
    }
}

static void tridiagonalize(const Reduction *problem) {
    const Index n = problem->rows;
    const Number none = number(broadcast(0.0));
    Tridiagonal of;
    tridiagonal_parts(&of, (Number *)problem->room, n);
    for (Index j = 0; j < n; j++) {
        Number *const to = of.vectors + j * of.blocks;
        for (Index block = j / LANES; block < of.blocks; block++) to[block] = none;
        for (Index i = j; i < n; i++)
            for (int part = 0; part < PARTS; part++) *part_of(to, i, part) = problem->a[(i + j * n) * PARTS + part];
    }
    for (Index i = 0; i < of.blocks; i++) of.pending[i] = none;
    for (Index k = 0; k < n; k++) {
        Number *const v = of.vectors + k * of.blocks, *const before = v - (k > 0 ? of.blocks : 0);
        const Number of_w = conjugate(element(of.pending, k)), of_before = conjugate(element(before, k));
        for (Index block = k / LANES; block < of.blocks && k > 0; block++)
            v[block] = subtract_product(subtract_product(v[block], before[block], of_w), of.pending[block], of_before);
        problem->diagonal[k] = real_part(element(v, k))[0];
        if (k + 1 == n) break;
        const Reflection reflection = reflect(v, k + 1, of.blocks);
        of.factors[k] = reflection.tau;
        problem->beside[k] = reflection.beta;
        const Index first = (k + 1) / LANES;
        for (Index block = first; block < of.blocks; block++) of.products[block] = none;
        Index j = k + 1;
        for (; j < n && j % COLUMNS_AT_ONCE != 0; j++) multiply_columns(&of, k, j, 1);
        for (; LANES >= COLUMNS_AT_ONCE && j + COLUMNS_AT_ONCE <= n; j += COLUMNS_AT_ONCE)
            multiply_columns(&of, k, j, COLUMNS_AT_ONCE);
        for (; j < n; j++) multiply_columns(&of, k, j, 1);
        Number along = none;
        for (Index block = first; block < of.blocks; block++) {
            of.products[block] = times(of.products[block], reflection.tau);
            along = add_product(along, conjugate(of.products[block]), v[block]);
        }
        const Number half = scaled(times(sum_of(along), reflection.tau), broadcast(0.5));
        for (Index block = first; block < of.blocks; block++)
            of.pending[block] = subtract_product(of.products[block], half, v[block]);
    }
}

static void turn_eigen(const Reduction *problem, Vectors vectors, double *turned) {
    const Index n = problem->rows;
    Tridiagonal of;
    tridiagonal_parts(&of, (Number *)problem->room, n);
    const Side side = {of.vectors, of.factors, of.blocks, n, 1, n - 1, n};
    turn_side(&side, of.panel, vectors, turned, false);
}
