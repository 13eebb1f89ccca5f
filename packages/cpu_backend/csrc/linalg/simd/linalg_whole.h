/* Square matrices taken as a whole, for functions of them: products, norms, multiples of the identity.
 *
 * Either one matrix lies in each lane, as everywhere here, or one alone has a row in each lane, as in linalg_single.h.
 * Every element has the same products added in the same order, so results are the same to the bit. Products are fused
 * where the processor does that, by a function that says so: these files are compiled without.
 */

enum { STRIP_ROWS = 4 / PARTS, STRIP_COLUMNS = (LANES == 8 ? 4 : 2) / PARTS, LARGEST_PRODUCT_SIDE = 8 };

typedef struct {
    int n, blocks; /* of rows in each column; 0 where each lane has a matrix */
    int count;     /* numbers of a matrix */
} Whole;

INLINE Whole whole_matrices(int n, bool alone) {
    const int blocks = alone ? (n + LANES - 1) / LANES : 0;
    return (Whole){n, blocks, alone ? n * blocks : n * n};
}

/* A mask of which the compiler does not know how it was made: GCC 12 fails on some choices by comparisons without AVX2. */
INLINE Mask settled(Mask mask) {
#if LANES == 2
    __asm__("" : "+x"(mask));
#endif
    return mask;
}

/* The lanes that are not in a mask. */
INLINE Mask others_than(Mask mask) { return settled(complement(mask)); }

INLINE void add_fused(Number *sum, Number x, Number y) {
    enum { IM = PARTS - 1 };
    Lane *const sums = (Lane *)sum, *const xs = (Lane *)&x, *const ys = (Lane *)&y;
    sums[0] = fused(xs[0], ys[0], sums[0]);
    if (PARTS == 1) return;
    sums[IM] = fused(xs[0], ys[IM], sums[IM]);
    sums[0] = fused(-xs[IM], ys[IM], sums[0]);
    sums[IM] = fused(xs[IM], ys[0], sums[IM]);
}

/* So many rows and columns of c = a b, which stay in registers. */
INLINE void product_tile(Number *c, const Number *a, const Number *b, int n, int rows, int columns) {
    Number sums[4][4];
    for (int s = 0; s < columns; s++)
        for (int r = 0; r < rows; r++) sums[s][r] = number(broadcast(0.0));
    for (int k = 0; k < n; k++)
        for (int s = 0; s < columns; s++) {
            const Number factor = b[k + s * n];
            for (int r = 0; r < rows; r++) add_fused(&sums[s][r], a[r + k * n], factor);
        }
    for (int s = 0; s < columns; s++)
        for (int r = 0; r < rows; r++) c[r + s * n] = sums[s][r];
}

INLINE void product_columns(Number *c, const Number *a, const Number *b, int n, int columns) {
    int i = 0;
    for (; i + STRIP_ROWS <= n; i += STRIP_ROWS) product_tile(c + i, a + i, b, n, STRIP_ROWS, columns);
    for (; i < n; i++) product_tile(c + i, a + i, b, n, 1, columns);
}

INLINE void product_of_groups(Number *c, const Number *a, const Number *b, int n) {
    int j = 0;
    for (; j + STRIP_COLUMNS <= n; j += STRIP_COLUMNS) product_columns(c + j * n, a, b + j * n, n, STRIP_COLUMNS);
    for (; j < n; j++) product_columns(c + j * n, a, b + j * n, n, 1);
}

INLINE void product_alone(Number *c, const Number *a, const Number *b, int n, int blocks) {
    for (int j = 0; j < n; j++)
        for (int block = 0; block < blocks; block++) {
            Number sum = number(broadcast(0.0));
            for (int k = 0; k < n; k++) add_fused(&sum, a[k * blocks + block], row_number(b + j * blocks, k));
            c[j * blocks + block] = sum;
        }
}

#define PRODUCT_OF_SIDE(side)                                                                                          \
    static __attribute__((noinline)) void product_of_##side(Number *c, const Number *a, const Number *b) {             \
        product_of_groups(c, a, b, side);                                                                              \
    }
#define PRODUCT_AT_SIDE(side) [side] = product_of_##side,
#define EACH_PRODUCT_SIDE(DO) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8)
EACH_PRODUCT_SIDE(PRODUCT_OF_SIDE)
static void (*const PRODUCT[])(Number *, const Number *, const Number *) = {EACH_PRODUCT_SIDE(PRODUCT_AT_SIDE)};

/* c = a b, in other memory than theirs. */
static __attribute__((noinline)) void whole_product(Whole matrix, Number *c, const Number *a, const Number *b) {
    if (matrix.blocks == 1) product_alone(c, a, b, matrix.n, 1);
    else if (matrix.blocks > 1) product_alone(c, a, b, matrix.n, matrix.blocks);
    else if (matrix.n <= LARGEST_PRODUCT_SIDE) PRODUCT[matrix.n](c, a, b);
    else product_of_groups(c, a, b, matrix.n);
}

/* How many registers a number for each row takes. */
INLINE int rows_of(Whole matrix) { return matrix.blocks > 0 ? matrix.blocks : matrix.n; }

/* From lanes to the matrices that they belong to. */
INLINE Mask of_matrices(Whole matrix, Mask lanes) {
    if (matrix.blocks == 0) return lanes;
    return any(lanes) ? others_than(no_lane()) : no_lane();
}

/* Adds a multiple of the identity. */
INLINE void add_identity(Whole matrix, Number *a, Lane factor) {
    for (int i = 0; i < matrix.n; i++) {
        Lane *const real = (Lane *)(matrix.blocks > 0 ? a + i * matrix.blocks + i / LANES : a + i * (matrix.n + 1));
        if (matrix.blocks == 0) *real += factor;
        else *real = pick(equal(rows_of_block(i / LANES), broadcast(i)), *real + factor, *real);
    }
}

INLINE void identity_into(Whole matrix, Number *a) {
    for (int i = 0; i < matrix.count; i++) a[i] = number(broadcast(0.0));
    add_identity(matrix, a, broadcast(1.0));
}

/* The largest of a number for each row, in every lane of the matrix that it belongs to. */
INLINE Lane largest_row(Whole matrix, const Lane *rows) {
    const int count = rows_of(matrix);
    Lane most = rows[0];
    for (int i = 1; i < count; i++) most = larger(rows[i], most);
    return matrix.blocks > 0 ? broadcast(largest_lane(most)) : most;
}

/* The largest sum of a row, of sizes times a power of two. A size is the sum of the sizes of both parts, which is no
 * less than that of a product of the factors' sizes, as a norm wants it. */
INLINE Lane row_norm(Whole matrix, const Number *a, double scale) {
    const int count = rows_of(matrix);
    Lane sums[LARGEST_MASKED_SIDE] = {broadcast(0.0)};
    for (int i = 1; i < count; i++) sums[i] = broadcast(0.0);
    for (int j = 0; j < matrix.n; j++)
        for (int i = 0; i < count; i++) sums[i] += rough_size(scaled(a[i + j * count], broadcast(scale)));
    return largest_row(matrix, sums);
}

INLINE void scale_whole(Whole matrix, Number *a, Lane factor) {
    for (int i = 0; i < matrix.count; i++) a[i] = scaled(a[i], factor);
}

/* Loads one matrix or a group of them; answers in which lanes it is not finite. */
INLINE Mask load_whole(const LaneProblem *problem, Whole matrix, const char *from, Number *a) {
    const int n = matrix.n;
    if (matrix.blocks == 0) return load_numbers(problem, from, matrix_bytes(problem, n, n), a, n * n);
    Lane spoilt = broadcast(0.0);
    for (int j = 0; j < n; j++)
        load_rows(a + j * matrix.blocks, from + j * matrix_bytes(problem, n, 1), n, problem->narrow, &spoilt);
    return of_matrices(matrix, complement(equal(spoilt, broadcast(0.0))));
}

INLINE void store_whole(const LaneProblem *problem, Whole matrix, char *to, const Number *a) {
    const int n = matrix.n;
    if (matrix.blocks == 0) store_numbers(problem, to, matrix_bytes(problem, n, n), a, n * n);
    else
        for (int j = 0; j < n; j++)
            store_rows(to + j * matrix_bytes(problem, n, 1), a + j * matrix.blocks, n, problem->narrow);
}

typedef struct {
    Lane row;      /* where the pivot of a column is */
    Number number; /* the pivot */
    Lane size;
} Pivot;

/* The first of the largest elements of column j in rows that are not taken. */
INLINE Pivot whole_pivot(Whole matrix, const Number *column, const Bits *taken) {
    Pivot best = {broadcast(0.0), column[0], broadcast(-1.0)};
    for (int i = 0; i < rows_of(matrix); i++) {
        const Lane size = pick_whole(taken[i], broadcast(-1.0), rough_size(column[i]));
        const Mask better = greater(size, best.size);
        best.row = pick(better, matrix.blocks > 0 ? rows_of_block(i) : broadcast(i), best.row);
        best.number = choose(better, column[i], best.number);
        best.size = pick(better, size, best.size);
    }
    if (matrix.blocks == 0) return best;
    const double most = largest_lane(best.size);
    const double row = -largest_lane(pick(equal(best.size, broadcast(most)), -best.row, broadcast(-LARGEST_SIDE)));
    return (Pivot){broadcast(row), row_number(column, (int)row), broadcast(most)};
}

/* What one step of Gauss and Jordan does to a column: the pivot's row is divided by it, others lose multiples. */
INLINE void whole_step(Whole matrix, Number *column, const Bits *here, const Number *factors, int row,
                       PivotDivisor pivot) {
    Number above = matrix.blocks > 0 ? row_number(column, row) : column[0];
    if (matrix.blocks == 0)
        for (int i = 1; i < matrix.n; i++) above = choose_whole(here[i], column[i], above);
    above = divide_by_pivot(above, pivot);
    for (int i = 0; i < rows_of(matrix); i++) {
        Number rest = column[i];
        add_fused(&rest, factors[i], above);
        column[i] = choose_whole(here[i], above, rest);
    }
}

/* One column whose rows come from where the pivots were. */
INLINE void order_rows(Whole matrix, Number *to, const Number *from, const Lane *order) {
    if (matrix.blocks == 0)
        for (int j = 0; j < matrix.n; j++)
            for (int part = 0; part < PARTS; part++)
                ((Lane *)(to + j))[part] = gather((const Lane *)from + part, integers(order[j]) * PARTS);
    else
        for (int i = 0; i < matrix.blocks; i++) {
            Lane parts[PARTS];
            for (int part = 0; part < PARTS; part++)
                for (int lane = 0; lane < LANES; lane++) {
                    const int j = i * LANES + lane, row = j < matrix.n ? (int)order[j][0] : 0;
                    parts[part][lane] = j < matrix.n ? ((const Lane *)(from + row / LANES))[part][row % LANES] : 0.0;
                }
            memcpy(to + i, parts, sizeof(Number));
        }
}

/* The x of a x = b for as many right-hand sides b as there are rows; a and b are lost. Gauss and Jordan's elimination
 * with the largest element of a column as pivot, as no other takes so few steps that wait for one another. Answers where
 * a pivot is zero, and the sizes of all. */
INLINE Mask divide_wholly(Whole matrix, Number *a, Number *b, Number *x, Lane *sizes) {
    const int n = matrix.n, rows = rows_of(matrix);
    Lane order[LARGEST_MASKED_SIDE];
    Bits taken[LARGEST_MASKED_SIDE], here[LARGEST_MASKED_SIDE];
    Mask singular = no_lane();
    Number factors[LARGEST_MASKED_SIDE];
    for (int i = 0; i < rows; i++) taken[i] = (Bits){0};
    for (int j = 0; j < n; j++) {
        const Number *const column = a + j * rows;
        const Pivot best = whole_pivot(matrix, column, taken);
        const Mask zero = others_than(greater(best.size, broadcast(0.0)));
        const PivotDivisor pivot = pivot_divisor(choose(zero, number(broadcast(1.0)), best.number));
        const int row = matrix.blocks > 0 ? (int)best.row[0] : 0;
        singular |= zero;
        sizes[j] = best.size;
        order[j] = best.row;
        for (int i = 0; i < rows; i++) {
            here[i] = whole_mask(equal(matrix.blocks > 0 ? rows_of_block(i) : broadcast(i), best.row));
            taken[i] |= here[i];
            factors[i] = minus(column[i]);
        }
        for (int c = j + 1; c < n; c++) whole_step(matrix, a + c * rows, here, factors, row, pivot);
        for (int c = 0; c < n; c++) whole_step(matrix, b + c * rows, here, factors, row, pivot);
    }
    for (int c = 0; c < n; c++) order_rows(matrix, x + c * rows, b + c * rows, order);
    return singular;
}

static __attribute__((noinline)) Mask divide_whole(Whole matrix, Number *a, Number *b, Number *x, Lane *sizes) {
    if (matrix.blocks == 1) return divide_wholly((Whole){matrix.n, 1, matrix.count}, a, b, x, sizes);
    if (matrix.blocks > 1) return divide_wholly(matrix, a, b, x, sizes);
    return divide_wholly((Whole){matrix.n, 0, matrix.count}, a, b, x, sizes);
}
