/* The tiles for one type of element: T, unaligned; BLOCK transposes SIDE x SIDE of them.
 *
 * A row of a tile has one entry of row_source and row_target, a column one of column_source and column_target; but for
 * scatter, the columns of a row lie one behind the other in the target. With stream the target is written past the
 * cache, where the method can: steps, gather and scatter cannot.
 */

static void NAME(runs)(const CopyTile *tile, const char *source, char *target, bool stream) {
    for (Index row = 0; row < tile->rows; row++)
        copy_bytes(target + tile->row_target[row], source + tile->row_source[row], tile->columns * (Index)sizeof(T),
                   stream);
}

static void NAME(spread)(const CopyTile *tile, const char *source, char *target, bool stream) {
    enum { PER_LINE = LINE / sizeof(T) };
    Index bytes = tile->columns * (Index)sizeof(T);
    T line[PER_LINE];
    for (Index row = 0; row < tile->rows; row++) {
        T value;
        memcpy(&value, source + tile->row_source[row], sizeof(T));
        for (int k = 0; k < PER_LINE; k++) line[k] = value;
        char *to = target + tile->row_target[row];
        Index k = 0;
        if (stream)
            for (; k + LINE <= bytes; k += LINE) stream_line(to + k, (const char *)line);
        else
            for (; k + LINE <= bytes; k += LINE) memcpy(to + k, line, LINE);
        for (; k < bytes; k += (Index)sizeof(T)) memcpy(to + k, line, sizeof(T));
    }
}

#include "core/simd/steps_body.h"

static void NAME(steps)(const CopyTile *tile, const char *source, char *target, bool stream) {
    (void)stream;
    for (Index row = 0; row < tile->rows; row++)
        NAME(copy_steps)(target + tile->row_target[row], source + tile->row_source[row], tile->columns,
                         tile->column_step);
}

static inline void NAME(move)(const char *source, char *target) { memcpy(target, source, sizeof(T)); }

/* Element by element; called with a constant, so that the loop is compiled without a question. What the target might
 * overlap, for all the compiler knows, is loaded once. */
static inline void NAME(move_all)(const CopyTile *tile, const char *source, char *target, bool scatters) {
    const Index rows = tile->rows, columns = tile->columns;
    const Index *const column_source = tile->column_source, *const column_target = tile->column_target;
    for (Index row = 0; row < rows; row++) {
        const char *from = source + tile->row_source[row];
        char *to = target + tile->row_target[row];
        for (Index column = 0; column < columns; column++)
            NAME(move)(from + column_source[column],
                       to + (scatters ? column_target[column] : column * (Index)sizeof(T)));
    }
}

static void NAME(gather)(const CopyTile *tile, const char *source, char *target, bool stream) {
    (void)stream;
    NAME(move_all)(tile, source, target, false);
}

static void NAME(scatter)(const CopyTile *tile, const char *source, char *target, bool stream) {
    (void)stream;
    NAME(move_all)(tile, source, target, true);
}

/* Here column c of the tile is a row of the source, c elements into each row of the target. Tiles with fewer columns,
 * or rows, than a block: called with a constant where that is 4 to 7, so that the short loop is unrolled. */
static inline void NAME(few_columns)(const CopyTile *tile, const char *source, char *target, int columns) {
    const char *from[SIDE];
    for (int column = 0; column < columns; column++) from[column] = source + tile->column_source[column];
    for (Index row = 0; row < tile->rows; row++)
        for (int column = 0; column < columns; column++)
            NAME(move)(from[column] + row * (Index)sizeof(T),
                       target + tile->row_target[row] + column * (Index)sizeof(T));
}

static inline void NAME(few_rows)(const CopyTile *tile, const char *source, char *target, int rows) {
    char *to[SIDE];
    for (int row = 0; row < rows; row++) to[row] = target + tile->row_target[row];
    for (Index column = 0; column < tile->columns; column++)
        for (int row = 0; row < rows; row++)
            NAME(move)(source + tile->column_source[column] + row * (Index)sizeof(T),
                       to[row] + column * (Index)sizeof(T));
}

static void NAME(transpose)(const CopyTile *tile, const char *source, char *target, bool stream) {
    const Index columns = tile->columns, rows = tile->rows, size = (Index)sizeof(T);
    enum { BAND = 2 * SIDE }; /* two neighbouring lines of the target, for its rows in turn */
    if (columns < SIDE) {
        switch (columns) {
        case 4: NAME(few_columns)(tile, source, target, 4); return;
        case 5: NAME(few_columns)(tile, source, target, 5); return;
        case 6: NAME(few_columns)(tile, source, target, 6); return;
        case 7: NAME(few_columns)(tile, source, target, 7); return;
        default: NAME(few_columns)(tile, source, target, (int)columns); return;
        }
    }
    if (rows < SIDE) {
        switch (rows) {
        case 4: NAME(few_rows)(tile, source, target, 4); return;
        case 5: NAME(few_rows)(tile, source, target, 5); return;
        case 6: NAME(few_rows)(tile, source, target, 6); return;
        case 7: NAME(few_rows)(tile, source, target, 7); return;
        default: NAME(few_rows)(tile, source, target, (int)rows); return;
        }
    }
    /* Blocks begin where lines of the source do (or quarters of them, which hold a block of bytes), when the rows are
     * long: a line that two blocks share may be gone when
     * the second one comes, since rows of the source that are powers of two apart compete for the same few places of
     * the cache. What does not fill a block at either end is done with its neighbours a second time. */
    const Index to_line = -(intptr_t)source & (LINE - 1), first = rows >= 8 * SIDE ? to_line / size % SIDE : 0;
    for (Index band = 0; band < columns; band += BAND) {
        Index end = band + BAND < columns ? band + BAND : columns;
        for (Index row = 0; row < rows; row = row == 0 && first > 0 ? first : row + SIDE) {
            if (row > rows - SIDE) row = rows - SIDE;
            for (Index column = band; column < end; column += SIDE) {
                if (column > columns - SIDE) column = columns - SIDE;
                BLOCK(source + row * size, tile->column_source + column, target + column * size, tile->row_target + row,
                      stream);
            }
        }
    }
}

/* The number that is few is a constant in each of these loops, which the compiler turns into shuffles of vectors. */
static inline void NAME(interleave_some)(const CopyTile *tile, const char *restrict source, char *restrict target,
                                         int columns) {
    const Index size = (Index)sizeof(T), rows = tile->rows;
    const char *from[MOST_INTERLEAVED];
    for (int column = 0; column < columns; column++) from[column] = source + tile->column_source[column];
    for (Index row = 0; row < rows; row++)
        for (int column = 0; column < columns; column++)
            NAME(move)(from[column] + row * size, target + (row * columns + column) * size);
}

static inline void NAME(deinterleave_some)(const CopyTile *tile, const char *restrict source, char *restrict target,
                                           int rows) {
    const Index size = (Index)sizeof(T), columns = tile->columns;
    char *to[MOST_INTERLEAVED];
    for (int row = 0; row < rows; row++) to[row] = target + tile->row_target[row];
    for (Index column = 0; column < columns; column++)
        for (int row = 0; row < rows; row++) NAME(move)(source + (column * rows + row) * size, to[row] + column * size);
}

static void NAME(interleave)(const CopyTile *tile, const char *source, char *target, bool stream) {
    (void)stream;
    switch (tile->columns) {
    case 2: NAME(interleave_some)(tile, source, target, 2); return;
    case 3: NAME(interleave_some)(tile, source, target, 3); return;
    case 4: NAME(interleave_some)(tile, source, target, 4); return;
    case 5: NAME(interleave_some)(tile, source, target, 5); return;
    case 6: NAME(interleave_some)(tile, source, target, 6); return;
    default: NAME(interleave_some)(tile, source, target, 7); return;
    }
}

static void NAME(deinterleave)(const CopyTile *tile, const char *source, char *target, bool stream) {
    (void)stream;
    switch (tile->rows) {
    case 2: NAME(deinterleave_some)(tile, source, target, 2); return;
    case 3: NAME(deinterleave_some)(tile, source, target, 3); return;
    case 4: NAME(deinterleave_some)(tile, source, target, 4); return;
    case 5: NAME(deinterleave_some)(tile, source, target, 5); return;
    case 6: NAME(deinterleave_some)(tile, source, target, 6); return;
    default: NAME(deinterleave_some)(tile, source, target, 7); return;
    }
}

#undef T
#undef SIDE
#undef NAME
#undef BLOCK
