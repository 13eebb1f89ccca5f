/* Loops of the scatter GEMM for one element type (every_type.h, sums.h): a tile of the result stays in registers while
 * the products of a panel of rows and a panel of columns are added to it, and is then written to, or added to, the
 * result. The includer defines TILE_VECTORS and TILE_COLUMNS. Addresses count parts of elements: a real or an imaginary
 * one. */

enum { NAME(ROWS) = TILE_VECTORS * NAME(LANES), NAME(COLUMNS) = TILE_COLUMNS / PARTS };

/* Writes the first few rows and columns of a tile, wherever the tables say. */
static void NAME(scatter)(const GemmBlock *block, const NAME(Vector) * tile, Index room, NAME(Part) * result,
                          const Index *across, const Index *along, Index rows, Index columns) {
    const NAME(Part) *values = (const NAME(Part) *)tile; /* the vectors of a column after one another */
    for (Index row = 0; row < rows; row++)
        for (Index column = 0; column < columns; column++)
            for (int part = 0; part < PARTS; part++) {
                NAME(Part) *to = result + (across[row] + along[column]) * PARTS + part;
                NAME(Part) value = values[(column * room + row) * PARTS + part];
#if ALGEBRA == LOGICAL
                *to = block->adds ? *to | value : value;
#else
                *to = block->adds ? *to + value : value;
#endif
            }
}

/* One tile, `vectors` high, of rows in a panel, or neighbours where they lie, and columns in a panel, or where they lie;
 * all three are constants where this is inlined. What will be read next where it lies is asked for on the way. */
INLINE void NAME(tile)(const GemmBlock *block, const NAME(Part) * x, const NAME(Part) * y, NAME(Part) * result,
                       const Index *across, Index column, Index rows, Index columns, const bool in_run,
                       const int vectors, const bool packed_x, const bool packed_y) {
    const Index *along = block->along + column;
    const NAME(Part) * of_column[NAME(COLUMNS)], *of_next[NAME(COLUMNS)];
#pragma GCC unroll 8
    for (int j = 0; j < NAME(COLUMNS); j++) {
        if (packed_y) {
            of_column[j] = y + j * PARTS;
            continue;
        }
        /* What is computed of columns beyond the last one is not written. */
        const Index last = block->columns - 1, here = smaller(column + j, last);
        of_column[j] = y + block->y_columns[here] * PARTS;
        of_next[j] = y + block->y_columns[smaller(here + NAME(COLUMNS), last)] * PARTS;
    }
    NAME(Sum) sums[TILE_VECTORS][NAME(COLUMNS)];
#pragma GCC unroll 8
    for (int j = 0; j < NAME(COLUMNS); j++)
#pragma GCC unroll 4
        for (int i = 0; i < vectors; i++) sums[i][j] = NAME(empty)();
    for (Index k = 0; k < block->depth; k++) {
        const Index at = (packed_y ? k * NAME(COLUMNS) : block->y_products[k]) * PARTS;
        /* Of neighbours in a column, or in a product, all lines are asked for in turn. */
        if (!packed_y) __builtin_prefetch(of_next[k % NAME(COLUMNS)] + at, 0, 2);
        NAME(Vector) factors[TILE_VECTORS];
#pragma GCC unroll 4
        for (int i = 0; i < vectors; i++) {
            const NAME(Part) *from = x + i * NAME(LANES) * PARTS;
            if (!packed_x) {
                from += block->x_products[k] * PARTS;
                __builtin_prefetch(from + NAME(ROWS) * PARTS, 0, 2);
            }
            factors[i] = NAME(load)(from);
        }
#pragma GCC unroll 8
        for (int j = 0; j < NAME(COLUMNS); j++)
#pragma GCC unroll 4
            for (int i = 0; i < vectors; i++) sums[i][j] = NAME(add_scaled)(sums[i][j], factors[i], of_column[j] + at);
        if (packed_x) x += vectors * NAME(LANES) * PARTS;
    }
    if (in_run) { /* the rows are neighbours in the result */
        const Index part = rows - (vectors - 1) * NAME(LANES);
#pragma GCC unroll 8
        for (int j = 0; j < NAME(COLUMNS); j++) {
            if (j >= columns) return;
#pragma GCC unroll 4
            for (int i = 0; i < vectors; i++) {
                NAME(Part) *to = result + (across[0] + along[j] + i * NAME(LANES)) * PARTS;
                NAME(Vector) value = NAME(value)(sums[i][j]);
                if (i + 1 < vectors || part == NAME(LANES)) {
                    NAME(store)(to, block->adds ? NAME(plus)(NAME(load)(to), value) : value);
                } else {
                    if (block->adds) value = NAME(plus)(NAME(load_part)(to, part), value);
                    NAME(store_part)(to, value, part);
                }
            }
        }
        return;
    }
    NAME(Vector) values[NAME(COLUMNS)][TILE_VECTORS];
    if (vectors < TILE_VECTORS) memset(values, 0, sizeof values); /* or the compiler suspects that it is read */
#pragma GCC unroll 8
    for (int j = 0; j < NAME(COLUMNS); j++)
#pragma GCC unroll 4
        for (int i = 0; i < vectors; i++) values[j][i] = NAME(value)(sums[i][j]);
    NAME(scatter)(block, values[0], NAME(ROWS), result, across, along, rows, columns);
}

INLINE void NAME(tiles)(const GemmBlock *block, const char *rows, const char *columns, char *result,
                        const bool packed_x, const bool packed_y) {
    const NAME(Part) *y = (const NAME(Part) *)columns;
    NAME(Part) *to = (NAME(Part) *)result;
    for (Index column = 0; column < block->columns; column += NAME(COLUMNS)) {
        const Index width = smaller(block->columns - column, NAME(COLUMNS));
        const NAME(Part) *x = (const NAME(Part) *)rows;
        for (Index row = 0; row < block->rows; row += NAME(ROWS)) {
            const Index height = smaller(block->rows - row, NAME(ROWS));
            const Index *across = block->across + row;
            const Index vectors = pieces(height, NAME(LANES));
            const bool in_run = offsets_are_consecutive(across, height);
            if (vectors == TILE_VECTORS || !packed_x)
                NAME(tile)(block, x, y, to, across, column, height, width, in_run, TILE_VECTORS, packed_x, packed_y);
            else if (vectors == 2)
                NAME(tile)(block, x, y, to, across, column, height, width, in_run, 2, true, packed_y);
            else NAME(tile)(block, x, y, to, across, column, height, width, in_run, 1, true, packed_y);
            x += (packed_x ? vectors * NAME(LANES) * block->depth : NAME(ROWS)) * PARTS;
        }
        if (packed_y) y += NAME(COLUMNS) * block->depth * PARTS;
    }
}

static void NAME(multiply)(const GemmBlock *block, const char *rows, const char *columns, char *result) {
    if (block->x_products != NULL) NAME(tiles)(block, rows, columns, result, false, true);
    else if (block->y_columns != NULL) NAME(tiles)(block, rows, columns, result, true, false);
    else NAME(tiles)(block, rows, columns, result, true, true);
}
