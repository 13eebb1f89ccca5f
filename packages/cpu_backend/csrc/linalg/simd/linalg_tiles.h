/* Products of parts of larger matrices, tile by tile, and substitution with them.
 *
 * The elements of a tile stay in registers while products are subtracted from them, one after the other in the order in
 * which an elimination without tiles subtracts them: the results are the same to the bit, however matrices are cut.
 */

/* As many numbers as fit into registers, with a column and an element of what they are multiplied from. */
enum { TILE_ROWS = 4 / PARTS, TILE_COLUMNS = (LANES == 8 ? 4 : 2) / PARTS };

/* What a tile is multiplied from: the first element, and how far the next column, and the next step, are. */
typedef struct {
    const Number *at;
    Index column, step;
} TileFactor;

/* x -= left right of so many rows and columns, constants, over so many steps. */
INLINE void subtract_tile(Number *x, Index stride, int rows, int columns, const Number *left, Index left_step,
                          TileFactor right, bool conjugated, int steps) {
    Number sums[4][4];
    if (steps <= 0) return;
    for (int c = 0; c < columns; c++)
        for (int r = 0; r < rows; r++) sums[c][r] = x[c * stride + r];
    for (int k = 0; k < steps; k++) {
        for (int c = 0; c < columns; c++) {
            const Number factor = right.at[c * right.column + k * right.step];
            for (int r = 0; r < rows; r++)
                sums[c][r] = subtract_product(sums[c][r], left[r], conjugated ? conjugate(factor) : factor);
        }
        left += left_step;
    }
    for (int c = 0; c < columns; c++)
        for (int r = 0; r < rows; r++) x[c * stride + r] = sums[c][r];
}

/* The same for any number of rows; left has as many. */
INLINE void subtract_rows(Number *x, Index stride, int rows, int columns, const Number *left, Index left_step,
                          TileFactor right, bool conjugated, int steps) {
    int r = 0;
    for (; r + TILE_ROWS <= rows; r += TILE_ROWS)
        subtract_tile(x + r, stride, TILE_ROWS, columns, left + r, left_step, right, conjugated, steps);
    for (; r < rows; r++) subtract_tile(x + r, stride, 1, columns, left + r, left_step, right, conjugated, steps);
}

/* Eliminates the unknowns from `first` to `last` from so many columns, a constant, going down: rows up to `last` become
 * the unknowns, and of the others, up to `rows`, what is left. Unknowns before `first` are zero. */
INLINE void forward_tile(const Number *a, Index a_stride, bool unit_diagonal, Number *x, Index stride, int first,
                         int last, int rows, int columns) {
    for (int from = first; from < last; from += TILE_ROWS) {
        const int to = from + TILE_ROWS < last ? from + TILE_ROWS : last;
        const TileFactor known = {x + first, stride, 1};
        subtract_rows(x + from, stride, to - from, columns, a + from + first * a_stride, a_stride, known, false,
                      from - first);
        for (int j = from; j < to; j++) {
            const Number *below = a + j * a_stride;
            if (!unit_diagonal) {
                const Divisor pivot = divisor(below[j]);
                for (int c = 0; c < columns; c++) x[c * stride + j] = divide(x[c * stride + j], pivot);
            }
            for (int i = j + 1; i < to; i++)
                for (int c = 0; c < columns; c++)
                    x[c * stride + i] = subtract_product(x[c * stride + i], below[i], x[c * stride + j]);
        }
    }
    const TileFactor known = {x + first, stride, 1};
    subtract_rows(x + last, stride, rows - last, columns, a + last + first * a_stride, a_stride, known, false,
                  last - first);
}

/* The unknowns of so many columns, a constant, going up from row n. */
INLINE void backward_tile(const Number *a, Index a_stride, Number *x, Index stride, int n, int columns) {
    for (int to = n; to > 0; to -= TILE_ROWS) {
        const int from = to > TILE_ROWS ? to - TILE_ROWS : 0;
        const TileFactor known = {x + n - 1, stride, -1};
        subtract_rows(x + from, stride, to - from, columns, a + from + (n - 1) * a_stride, -a_stride, known, false,
                      n - to);
        for (int j = to - 1; j >= from; j--) {
            const Number *above = a + j * a_stride;
            const Divisor pivot = divisor(above[j]);
            for (int c = 0; c < columns; c++) x[c * stride + j] = divide(x[c * stride + j], pivot);
            for (int i = from; i < j; i++)
                for (int c = 0; c < columns; c++)
                    x[c * stride + i] = subtract_product(x[c * stride + i], above[i], x[c * stride + j]);
        }
    }
}

/* The same for any number of columns. */
INLINE void forward_columns(const Number *a, Index a_stride, bool unit_diagonal, Number *x, Index stride, int n,
                            int columns) {
    int c = 0;
    for (; c + TILE_COLUMNS <= columns; c += TILE_COLUMNS)
        forward_tile(a, a_stride, unit_diagonal, x + c * stride, stride, 0, n, n, TILE_COLUMNS);
    for (; c < columns; c++) forward_tile(a, a_stride, unit_diagonal, x + c * stride, stride, 0, n, n, 1);
}

INLINE void backward_columns(const Number *a, Index a_stride, Number *x, Index stride, int n, int columns) {
    int c = 0;
    for (; c + TILE_COLUMNS <= columns; c += TILE_COLUMNS)
        backward_tile(a, a_stride, x + c * stride, stride, n, TILE_COLUMNS);
    for (; c < columns; c++) backward_tile(a, a_stride, x + c * stride, stride, n, 1);
}
