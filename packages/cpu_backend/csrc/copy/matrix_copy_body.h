/* The body of matrix_copy.c for one element type: T is the type of a real number, R that which it becomes, and WIDTH how
 * many make an element. LOOK(block, count) answers what is wanted to know of numbers that have been copied, as a value of
 * type SEEN, and BOTH(a, b) what is known of two parts. */

/* One column, or a part of one. */
static void NAME(copy_column)(const T *source, Index rows, Index row_stride, R *block) {
    if (row_stride == 1) {
        for (Index i = 0; i < WIDTH * rows; i++) block[i] = (R)source[i];
    } else {
        for (Index i = 0; i < rows; i++)
            for (int part = 0; part < WIDTH; part++) block[WIDTH * i + part] = (R)source[WIDTH * row_stride * i + part];
    }
}

/* Several columns of a matrix whose rows lie together in memory: row by row, so that whole cache lines are read. */
static void NAME(copy_rows)(const T *source, Index rows, Index columns, Index row_stride, Index column_stride,
                            R *block) {
    for (Index i = 0; i < rows; i++)
        for (Index j = 0; j < columns; j++)
            for (int part = 0; part < WIDTH; part++)
                block[WIDTH * (rows * j + i) + part] = (R)source[WIDTH * (row_stride * i + column_stride * j) + part];
}

static SEEN NAME(load)(const T *source, Index rows, Index columns, Index row_stride, Index column_stride, R *block) {
    bool by_rows = llabs(column_stride) < llabs(row_stride);
    Index step = by_rows ? COLUMNS_AT_ONCE : 1;
    SEEN seen = LOOK(block, 0);
    for (Index j = 0; j < columns; j += step) {
        Index now = columns - j < step ? columns - j : step;
        const T *from = source + WIDTH * column_stride * j;
        R *to = block + WIDTH * rows * j;
        if (by_rows) NAME(copy_rows)(from, rows, now, row_stride, column_stride, to);
        else NAME(copy_column)(from, rows, row_stride, to);
        seen = BOTH(seen, LOOK(to, WIDTH * rows * now));
    }
    return seen;
}
