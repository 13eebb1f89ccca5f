/* The tiles for one type of element: T, unaligned; BLOCK transposes SIDE x SIDE of them. */

static void NAME(runs)(const CopyTile *tile, const char *source, char *target, bool stream) {
    for (Index row = 0; row < tile->rows; row++)
        copy_bytes(target + tile->row_target[row], source + tile->row_source[row],
                   tile->columns * (Index)sizeof(T), stream);
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

static inline void NAME(move)(const char *source, char *target) { memcpy(target, source, sizeof(T)); }

static void NAME(gather)(const CopyTile *tile, const char *source, char *target, bool stream) {
    (void)stream;
    for (Index row = 0; row < tile->rows; row++) {
        const char *from = source + tile->row_source[row];
        char *to = target + tile->row_target[row];
        for (Index column = 0; column < tile->columns; column++)
            NAME(move)(from + tile->column_source[column], to + column * (Index)sizeof(T));
    }
}

static void NAME(scatter)(const CopyTile *tile, const char *source, char *target, bool stream) {
    (void)stream;
    for (Index row = 0; row < tile->rows; row++) {
        const char *from = source + tile->row_source[row];
        char *to = target + tile->row_target[row];
        for (Index column = 0; column < tile->columns; column++)
            NAME(move)(from + tile->column_source[column], to + tile->column_target[column]);
    }
}

/* Here column c of the tile is a row of the source, c elements into each row of the target. */
static void NAME(transpose)(const CopyTile *tile, const char *source, char *target, bool stream) {
    const Index columns = tile->columns, rows = tile->rows, size = (Index)sizeof(T);
    if (columns < SIDE || rows < SIDE) {
        for (Index row = 0; row < rows; row++)
            for (Index column = 0; column < columns; column++)
                NAME(move)(source + tile->column_source[column] + row * size,
                           target + tile->row_target[row] + column * size);
        return;
    }
    /* What does not fill a block at the end is done with its neighbours a second time. */
    for (Index column = 0; column < columns; column += SIDE) {
        if (column > columns - SIDE) column = columns - SIDE;
        for (Index row = 0; row < rows; row += SIDE) {
            if (row > rows - SIDE) row = rows - SIDE;
            BLOCK(source + row * size, tile->column_source + column, target + column * size, tile->row_target + row,
                  stream);
        }
    }
}

#undef T
#undef SIDE
#undef NAME
#undef BLOCK
