/* Short lines of elements of type T, turned into columns of a tile, and back: so vectors take several lines at once. A
 * function that is given so many lines may read and write all of them. */

#if defined(__AVX2__)
enum { NAME(SIDE) = CACHE_LINE / sizeof(T) }; /* of a block that is turned in registers */

#define BLOCK(source, rows, target, columns)                                                                           \
    (sizeof(T) == 4 ? block_4 : block_8)((const char *)(source), rows, (char *)(target), columns, false)

/* Multiples of a number of elements, in bytes. */
INLINE void NAME(offsets)(Index step, Index *offsets) {
    for (Index k = 0; k < NAME(SIDE); k++) offsets[k] = k * step * (Index)sizeof(T);
}
#endif

/* Of `lines`, LINES_AT_ONCE or fewer are turned. */
INLINE void NAME(turn)(Index lines, Index length, const T *restrict a, T *restrict tile) {
    const Index count = smaller(lines, LINES_AT_ONCE);
#if defined(__AVX2__)
    Index rows[NAME(SIDE)], columns[NAME(SIDE)];
    if (length > 2 && (LINES_AT_ONCE - 1) * length + rounded_up(length, NAME(SIDE)) <= lines * length) {
        NAME(offsets)(length, rows);
        NAME(offsets)(LINES_AT_ONCE, columns);
        for (Index j = 0; j < LINES_AT_ONCE; j += NAME(SIDE)) /* what is behind a line becomes rows that nobody reads */
            for (Index k = 0; k < length; k += NAME(SIDE))
                BLOCK(a + j * length + k, rows, tile + k * LINES_AT_ONCE + j, columns);
        return;
    }
#endif
    for (Index k = 0; k < length; k++)
        for (Index j = 0; j < count; j++) tile[k * LINES_AT_ONCE + j] = a[j * length + k];
}

INLINE void NAME(turn_back)(Index lines, Index length, const T *restrict tile, T *restrict a) {
    const Index count = smaller(lines, LINES_AT_ONCE);
#if defined(__AVX2__)
    Index rows[NAME(SIDE)], columns[NAME(SIDE)];
    T turned[NAME(SIDE) * SHORT_LINE];
    if (length > 2 && count == LINES_AT_ONCE) {
        const Index last = length % NAME(SIDE), whole = length - last;
        NAME(offsets)(LINES_AT_ONCE, rows);
        NAME(offsets)(SHORT_LINE, columns);
        for (Index j = 0; j < LINES_AT_ONCE; j += NAME(SIDE)) {
            for (Index k = 0; k < length; k += NAME(SIDE))
                BLOCK(tile + k * LINES_AT_ONCE + j, rows, turned + k, columns);
            for (Index i = 0; i < NAME(SIDE); i++) {
                const T *from = turned + i * SHORT_LINE;
                T *to = a + (j + i) * length;
                for (Index k = 0; k < whole; k += NAME(SIDE)) memcpy(to + k, from + k, CACHE_LINE);
                if (last == 0) continue;
                /* What follows a line is written over by the next ones. */
                if ((j + i) * length + whole + NAME(SIDE) <= LINES_AT_ONCE * length)
                    memcpy(to + whole, from + whole, CACHE_LINE);
                else
                    for (Index k = whole; k < length; k++) to[k] = from[k];
            }
        }
        return;
    }
#endif
    for (Index j = 0; j < count; j++)
        for (Index k = 0; k < length; k++) a[j * length + k] = tile[k * LINES_AT_ONCE + j];
}
#undef BLOCK
