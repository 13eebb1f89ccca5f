/* Matrix products through BLAS. A large one borrows the library's threads, which share the operands that they pack;
 * others are cut into tiles of the result that our threads share, each of which is one call of the library in one
 * thread. Sums are not cut, but a kernel of BLAS for the last rows of a tile may round otherwise than the
 * one for rows in the middle, so that last bits may depend on the number of threads.
 */
#include "contraction/products.h"
#include "core/blas_threads.h"
#include "core/threads.h"

#include <string.h>

static const double WORTH_A_THREAD = 2e6; /* operations: some 50 microseconds on one thread */
static const double SMALL_TILE = 40e6;    /* operations: a tile is not worth less */
static const double LONG_SHARE = 500e6;   /* operations of a thread, beside which waking it counts for little */
static const double LEAST_LENT = 1e9;     /* operations: see is_for_the_library() */
enum {
    FEWEST_ROWS = 64,
    FEWEST_COLUMNS = 32,
    ROW_UNIT = 16,
    COLUMN_UNIT = 8,
    FEWEST_OF_VECTOR = 16,
    MIRROR = 32,
    MOST_TILES = 4 /* of a thread: one that wakes late, by up to a millisecond, then finds enough left to do */
};

/* In elements of two parts; F32 and C32 read the floats. */
typedef struct {
    double wide[2];
    float narrow[2];
} Number;
static const Number ONE = {{1.0, 0.0}, {1.0f, 0.0f}}, ZERO = {{0.0, 0.0}, {0.0f, 0.0f}};

static const void *number(const Number *value, ElementType type) {
    return type == F64 || type == C64 ? (const void *)value->wide : (const void *)value->narrow;
}

double products_work(const Products *products) {
    double parts = products->type == C32 || products->type == C64 ? 4.0 : 1.0;
    return 2.0 * parts * (double)products->m * (double)products->n * (double)products->k * (double)products->stack.size;
}

static BlasInt larger(BlasInt a, BlasInt b) { return a > b ? a : b; }

/* How BLAS sees a matrix: as it is when its columns are contiguous, else transposed. A contiguous row is the transpose
 * of a column, with which sums take the fast way. */
static char seen(MatrixSteps steps, BlasInt rows, BlasInt columns, BlasInt *leading) {
    const bool plain = rows == 1 ? steps.column != 1 : steps.row == 1;
    *leading = plain ? (columns > 1 ? steps.column : rows) : (rows > 1 ? steps.row : columns);
    *leading = larger(*leading, 1);
    return plain ? 'N' : 'T';
}

/* The same for a matrix that is read conjugated. 'R' is OpenBLAS's name for conjugated but not transposed. */
static char conjugated(char transpose) { return transpose == 'N' ? 'R' : 'C'; }

bool products_conjugate(Products *products, Role role, bool without_transpose) {
    const bool is_a = products->left == role, by_row = products->m == 1 && products->n > 1; /* see multiply() */
    const MatrixSteps a = products->a, b = products->b, transposed = {b.column, b.row};
    const BlasInt m = products->m, n = products->n, k = products->k;
    BlasInt leading;
    if (products->type != C32 && products->type != C64) return false;
    if (is_a ? by_row : n == 1) return false; /* the vector, beside the matrix that gemv takes */
    const char transpose = is_a     ? seen(a, m, k, &leading)
                           : by_row ? seen(transposed, n, k, &leading)
                                    : seen(b, k, n, &leading);
    if (transpose == 'N' && !without_transpose) return false;
    products->conjugates_a = is_a;
    products->conjugates_b = !is_a;
    products->is_square = false;
    return true;
}

/* y = A x, where A is m by k. */
static void multiply_vector(ElementType type, BlasInt m, BlasInt k, const char *a, MatrixSteps steps, bool conjugates,
                            const char *x, BlasInt x_step, char *y, BlasInt y_step) {
    BlasInt leading;
    const char transpose = seen(steps, m, k, &leading), way = conjugates ? conjugated(transpose) : transpose;
    const bool plain = transpose == 'N';
    blas_table()->gemv[type](&way, plain ? &m : &k, plain ? &k : &m, number(&ONE, type), a, &leading, x, &x_step,
                             number(&ZERO, type), y, &y_step);
}

static void multiply(const Products *products, BlasInt m, BlasInt n, const char *a, const char *b, char *c) {
    const Blas *blas = blas_table();
    const ElementType type = products->type;
    const BlasInt k = products->k;
    if (m == 1 && n == 1 && type == F64) {
        const double sum = blas->ddot(&k, a, &products->a.column, b, &products->b.row);
        memcpy(c, &sum, sizeof sum);
    } else if (m == 1 && n == 1 && type == F32) {
        const float sum = blas->sdot(&k, a, &products->a.column, b, &products->b.row);
        memcpy(c, &sum, sizeof sum);
    } else if (products->n == 1) {
        multiply_vector(type, m, k, a, products->a, products->conjugates_a, b, products->b.row, c, products->c.row);
    } else if (products->m == 1) {
        const MatrixSteps transposed = {products->b.column, products->b.row};
        multiply_vector(type, n, k, b, transposed, products->conjugates_b, a, products->a.column, c,
                        products->c.column);
    } else {
        BlasInt lda, ldb;
        char of_a = seen(products->a, products->m, k, &lda), of_b = seen(products->b, k, products->n, &ldb);
        if (products->conjugates_a) of_a = conjugated(of_a);
        if (products->conjugates_b) of_b = conjugated(of_b);
        blas->gemm[type](&of_a, &of_b, &m, &n, &k, number(&ONE, type), a, &lda, b, &ldb, number(&ZERO, type), c,
                         &products->c.column);
    }
}

/* A block on the diagonal of A Aᵀ: half the work, and exactly symmetric. */
static void multiply_square(const Products *products, BlasInt n, const char *a, char *c) {
    const ElementType type = products->type;
    BlasInt lda;
    const char transpose = seen(products->a, products->m, products->k, &lda);
    blas_table()->syrk[type]("L", &transpose, &n, &products->k, number(&ONE, type), a, &lda, number(&ZERO, type), c,
                             &products->c.column);
}

/* Copies what lies below the diagonal of a block above it, element by element of so many bytes, a constant here. */
static inline void mirror_block(char *c, Index column, Index begin, Index end, Index first_row, Index last_row,
                                const Index bytes) {
    for (Index q = begin; q < end; q++)
        for (Index p = first_row > q ? first_row : q + 1; p < last_row; p++)
            memcpy(c + (p * column + q) * bytes, c + (q * column + p) * bytes, (size_t)bytes);
}

/* The same of a result. */
static void mirror(const Products *products, char *c) {
    const Index n = products->n, bytes = ELEMENT_BYTES[products->type], column = products->c.column;
    for (Index j = 0; j < n; j += MIRROR)
        for (Index i = j; i < n; i += MIRROR) {
            const Index end = smaller(j + MIRROR, n), last = smaller(i + MIRROR, n);
            if (bytes == 4) mirror_block(c, column, j, end, i, last, 4);
            else if (bytes == 8) mirror_block(c, column, j, end, i, last, 8);
            else mirror_block(c, column, j, end, i, last, 16);
        }
}

static void run_tile(const ProductsCall *call, const StridedWalk *walk, Index tile) {
    const Products *products = call->products;
    const Index bytes = ELEMENT_BYTES[products->type];
    const Index row = tile % call->row_tiles * call->tile_rows, column = tile / call->row_tiles * call->tile_columns;
    const BlasInt m = smaller(products->m - row, call->tile_rows),
                  n = smaller(products->n - column, call->tile_columns);
    const char *a = call->a + (walk->offset[products->left] + row * products->a.row) * bytes;
    const char *b =
        call->b + (walk->offset[products->left == FIRST ? SECOND : FIRST] + column * products->b.column) * bytes;
    char *c = call->c + (walk->offset[RESULT] + row * products->c.row + column * products->c.column) * bytes;
    if (!call->symmetric || row > column) multiply(products, m, n, a, b, c);
    else if (row == column) multiply_square(products, m, a, c);
}

static void run_tiles(void *context, Index begin, Index end) {
    const ProductsCall *call = context;
    const Index tiles = call->row_tiles * call->column_tiles;
    const int former = blas_alone_begin();
    StridedWalk walk;
    group_walk_start(&walk, &call->products->stack, begin / tiles);
    for (Index part = begin; part < end; part++) {
        run_tile(call, &walk, part % tiles);
        if (part % tiles == tiles - 1) group_walk_step(&walk, &call->products->stack);
    }
    blas_alone_end(former);
}

static void mirror_all(const ProductsCall *call) {
    const Group *stack = &call->products->stack;
    StridedWalk walk;
    group_walk_start(&walk, stack, 0);
    for (Index number = 0; number < stack->size; number++) {
        mirror(call->products, call->c + walk.offset[RESULT] * ELEMENT_BYTES[call->products->type]);
        group_walk_step(&walk, stack);
    }
}

static BlasInt half(BlasInt extent, BlasInt unit) { return rounded_up((extent + 1) / 2, unit); }

/* Halves the longer side until there is a tile for every thread, or several where they stay large. */
static void choose_tiles(ProductsCall *call, int threads) {
    const Products *products = call->products;
    const bool is_vector = products->m == 1 || products->n == 1;
    const BlasInt fewest_rows = is_vector ? FEWEST_OF_VECTOR : FEWEST_ROWS;
    const BlasInt fewest_columns = is_vector ? FEWEST_OF_VECTOR : FEWEST_COLUMNS;
    const double share = products_work(products) / threads;
    Index wanted = threads;
    for (Index tiles = share < LONG_SHARE ? MOST_TILES : 2; tiles > 1 && wanted == threads; tiles /= 2)
        if (share >= SMALL_TILE * (double)tiles) wanted = tiles * threads;
    while (call->row_tiles * call->column_tiles * products->stack.size < wanted) {
        const BlasInt rows = half(call->tile_rows, ROW_UNIT), columns = half(call->tile_columns, COLUMN_UNIT);
        const bool cuts_rows = rows >= fewest_rows && rows < call->tile_rows;
        const bool cuts_columns = columns >= fewest_columns && columns < call->tile_columns;
        if (call->symmetric && cuts_rows) call->tile_rows = call->tile_columns = rows;
        else if (cuts_rows && (call->tile_rows >= call->tile_columns || !cuts_columns)) call->tile_rows = rows;
        else if (cuts_columns && !call->symmetric) call->tile_columns = columns;
        else break;
        call->row_tiles = pieces(products->m, call->tile_rows);
        call->column_tiles = pieces(products->n, call->tile_columns);
    }
}

/* Tiles would each pack their rows and columns anew; where there are few rows, the library's own cuts are the worse. But
 * the library's threads wait for each other several times in a product: where other work has a processor, each time for
 * as long as the scheduler gives that one, some milliseconds. Who takes tiles waits for nobody but those inside one. */
static bool is_for_the_library(const Products *products) {
    return products->stack.size == 1 && products->m >= FEWEST_ROWS && products->n > 1 &&
           products_work(products) >= LEAST_LENT;
}

static bool run_with_threads_of_the_library(const ProductsCall *call, int threads) {
    int lent;
    if (!is_for_the_library(call->products) || !blas_borrow_threads(threads, &lent)) return false;
    StridedWalk walk;
    group_walk_start(&walk, &call->products->stack, 0);
    run_tile(call, &walk, 0);
    blas_return_threads(lent);
    return true;
}

void products_run(const Products *products, const char *a, const char *b, char *c) {
    const double work = products_work(products);
    const int threads = work >= 2.0 * WORTH_A_THREAD ? threads_for_caller() : 1;
    ProductsCall call = {.products = products,
                         .a = a,
                         .b = b,
                         .c = c,
                         .symmetric = products->is_square && a == b,
                         .tile_rows = products->m,
                         .tile_columns = products->n,
                         .row_tiles = 1,
                         .column_tiles = 1};
    blas_enter();
    if (threads > 1 && run_with_threads_of_the_library(&call, threads)) {
        /* done */
    } else if (threads > 1 && blas_works_alone()) {
        choose_tiles(&call, threads);
        const Index parts = products->stack.size * call.row_tiles * call.column_tiles;
        const Index grain = 1 + (Index)(WORTH_A_THREAD * (double)parts / work), fewest = pieces(parts, MOST_CALLERS);
        parallel_for(parts, larger(grain, fewest), run_tiles, &call);
    } else {
        run_tiles(&call, 0, products->stack.size);
    }
    blas_leave();
    if (call.symmetric) mirror_all(&call);
}
