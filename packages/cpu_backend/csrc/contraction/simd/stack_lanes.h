/* The loop over lanes (stack.h) for one element type (every_type.h, sums.h): vectors of neighbouring products, of which
 * a tile of rows by columns stays in registers while the inner index runs. */

#if ALGEBRA == FLOATING
enum { NAME(TILE_COLUMNS) = 4 / PARTS };

/* A tile of four rows or less for the products of one vector, of which there are `part`, unless that is 0. */
INLINE void NAME(tile)(const StackProblem *p, const NAME(Part) * a, const NAME(Part) * b, NAME(Part) * c,
                       const int rows, const int columns, const Index part) {
    NAME(Sum) sums[4][4];
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (int j = 0; j < columns; j++) sums[i][j] = NAME(empty)();
    for (Index k = 0; k < p->depth; k++) {
        const NAME(Part) *x = a + k * p->a_inner * PARTS, *y = b + k * p->b_inner * PARTS;
        NAME(Vector) of_a[4], of_b[4];
#pragma GCC unroll 4
        for (int i = 0; i < rows; i++) {
            const NAME(Part) *from = x + i * p->a_row * PARTS;
            of_a[i] = part ? NAME(load_part)(from, part) : NAME(load)(from);
        }
#pragma GCC unroll 4
        for (int j = 0; j < columns; j++) {
            const NAME(Part) *from = y + j * p->b_column * PARTS;
            of_b[j] = part ? NAME(load_part)(from, part) : NAME(load)(from);
        }
#pragma GCC unroll 4
        for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
            for (int j = 0; j < columns; j++) sums[i][j] = NAME(add_product)(sums[i][j], of_a[i], of_b[j]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (int j = 0; j < columns; j++) {
            NAME(Part) *to = c + (i * p->c_row + j * p->c_column) * PARTS;
            const NAME(Vector) value = NAME(value)(sums[i][j]);
            if (part) NAME(store_part)(to, value, part);
            else if (p->streams && (uintptr_t)to % VECTOR_BYTES == 0) stream_words(to, (Words)value);
            else NAME(store)(to, value);
        }
}

/* All columns of some rows. */
INLINE void NAME(tiles)(const StackProblem *p, const NAME(Part) * a, const NAME(Part) * b, NAME(Part) * c,
                        const int rows) {
    Index left = p->columns;
    const int most = NAME(TILE_COLUMNS);
    for (; left >= most; left -= most, b += most * p->b_column * PARTS, c += most * p->c_column * PARTS)
        NAME(tile)(p, a, b, c, rows, most, 0);
    if (left == 3) NAME(tile)(p, a, b, c, rows, most > 3 ? 3 : 1, 0);
    else if (left == 2) NAME(tile)(p, a, b, c, rows, most > 2 ? 2 : 1, 0);
    else if (left == 1) NAME(tile)(p, a, b, c, rows, 1, 0);
}

static void NAME(whole_vector)(const StackProblem *p, const NAME(Part) * a, const NAME(Part) * b, NAME(Part) * c) {
    Index left = p->rows;
    for (; left >= 4; left -= 4, a += 4 * p->a_row * PARTS, c += 4 * p->c_row * PARTS) NAME(tiles)(p, a, b, c, 4);
    if (left == 3) NAME(tiles)(p, a, b, c, 3);
    else if (left == 2) NAME(tiles)(p, a, b, c, 2);
    else if (left == 1) NAME(tiles)(p, a, b, c, 1);
}

static void NAME(part_of_vector)(const StackProblem *p, const NAME(Part) * a, const NAME(Part) * b, NAME(Part) * c,
                                 Index part) {
    for (Index row = 0; row < p->rows; row++)
        for (Index column = 0; column < p->columns; column++)
            NAME(tile)(p, a + row * p->a_row * PARTS, b + column * p->b_column * PARTS,
                       c + (row * p->c_row + column * p->c_column) * PARTS, 1, 1, part);
}

static void NAME(by_lanes)(const StackProblem *p, const char *first, const char *second, char *result, Index count) {
    const NAME(Part) *a = (const NAME(Part) *)first, *b = (const NAME(Part) *)second;
    NAME(Part) *c = (NAME(Part) *)result;
    Index at = 0;
    for (; at + NAME(LANES) <= count; at += NAME(LANES))
        NAME(whole_vector)(p, a + at * PARTS, b + at * PARTS, c + at * PARTS);
    if (at < count) NAME(part_of_vector)(p, a + at * PARTS, b + at * PARTS, c + at * PARTS, count - at);
}
#endif
