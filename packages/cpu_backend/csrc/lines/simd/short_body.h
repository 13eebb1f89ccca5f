/* Folds of lines of at most MOST_IN_LINE elements of type T, of which those of at most SHORT_LINE are turned. Sums of
 * elements are of type SUMS, and wrap as WRAPPING does; sums of squares are made in double, of T unless WHOLES. */

/* Sets held[j] to the fold of column j of the tile: FIRST of an element x, and NEXT of one and of what is held, y. */
#define FOLD(WIDE, FIRST, NEXT)                                                                                        \
    for (Index j = 0; j < LINES_AT_ONCE; j++) {                                                                        \
        const T x = tile[j];                                                                                           \
        held[j] = (FIRST);                                                                                             \
    }                                                                                                                  \
    for (Index k = 1; k < length; k++)                                                                                 \
        for (Index j = 0; j < LINES_AT_ONCE; j++) {                                                                    \
            const T x = tile[k * LINES_AT_ONCE + j];                                                                   \
            const WIDE y = held[j];                                                                                    \
            held[j] = (NEXT);                                                                                          \
        }

/* TURNED sets held[j] to the fold of column j of the tile, FOUND sets y to that of a line. */
#define SHORT_LINES(name, MADE, WIDE, TURNED, FOUND, FINISHED)                                                         \
    static void NAME(name)(Index lines, Index length, const void *source, void *result, double divisor, bool root) {   \
        T tile[SHORT_LINE * LINES_AT_ONCE];                                                                            \
        WIDE held[LINES_AT_ONCE];                                                                                      \
        MADE *d = result;                                                                                              \
        (void)divisor, (void)root;                                                                                     \
        for (Index line = 0; length > SHORT_LINE && line < lines; line++) {                                            \
            const T *a = (const T *)source + line * length;                                                            \
            WIDE y;                                                                                                    \
            FOUND;                                                                                                     \
            d[line] = (MADE)(FINISHED);                                                                                \
        }                                                                                                              \
        if (length > SHORT_LINE) return;                                                                               \
        memset(tile, 0, sizeof(T) * LINES_AT_ONCE * (size_t)length);                                                   \
        for (Index line = 0, count; line < lines; line += count) {                                                     \
            count = smaller(lines - line, LINES_AT_ONCE);                                                              \
            NAME(turn)(lines - line, length, (const T *)source + line * length, tile);                                 \
            TURNED                                                                                                     \
            for (Index j = 0; j < count; j++) {                                                                        \
                const WIDE y = held[j];                                                                                \
                d[line + j] = (MADE)(FINISHED);                                                                        \
            }                                                                                                          \
        }                                                                                                              \
    }

#define FOLDED(fold) SIMD_NAME(reduce_kernels).loops[fold][TYPE].line(length, a, &y)
#define FOLDED_ROWS(fold)                                                                                              \
    SIMD_NAME(reduce_kernels).loops[fold][TYPE].rows(length, LINES_AT_ONCE, LINES_AT_ONCE, tile, held, false);
#define SUMMED(fold, centre) SIMD_NAME(wide_kernels).loops[fold][TYPE].line(length, a, centre, &y)

SHORT_LINES(short_sum, SUMS, SUMS, FOLD(SUMS, x, (SUMS)((WRAPPING)y + (WRAPPING)x)), FOLDED(SUM), y)
SHORT_LINES(short_largest, T, T, FOLDED_ROWS(LARGEST), FOLDED(LARGEST), y)
SHORT_LINES(short_least, T, T, FOLDED_ROWS(LEAST), FOLDED(LEAST), y)
#if !defined(WHOLES)
SHORT_LINES(short_mean, T, T, FOLD(T, x, y + x), FOLDED(SUM), y / (T)divisor)
SHORT_LINES(short_squares, T, double, FOLD(double, (double)x *(double)x, y + (double)x * (double)x),
            SUMMED(SQUARES, NULL), root ? sqrt(y) : y)

static void NAME(short_spread)(Index lines, Index length, const void *source, void *result, double divisor, bool root) {
    T tile[SHORT_LINE * LINES_AT_ONCE];
    double held[LINES_AT_ONCE], centres[LINES_AT_ONCE];
    T *d = result;
    for (Index line = 0; length > SHORT_LINE && line < lines; line++) {
        const T *a = (const T *)source + line * length;
        double y, centre;
        SUMMED(TOTAL, NULL);
        centre = y / (double)length;
        SUMMED(DEVIATIONS, &centre);
        d[line] = (T)(root ? sqrt(y / divisor) : y / divisor);
    }
    if (length > SHORT_LINE) return;
    memset(tile, 0, sizeof(T) * LINES_AT_ONCE * (size_t)length);
    for (Index line = 0, count; line < lines; line += count) {
        count = smaller(lines - line, LINES_AT_ONCE);
        NAME(turn)(lines - line, length, (const T *)source + line * length, tile);
        FOLD(double, (double)x, y + (double)x)
        for (Index j = 0; j < LINES_AT_ONCE; j++) centres[j] = held[j] / (double)length;
        FOLD(double, ((double)x - centres[j]) * ((double)x - centres[j]),
             y + ((double)x - centres[j]) * ((double)x - centres[j]))
        for (Index j = 0; j < count; j++) d[line + j] = (T)(root ? sqrt(held[j] / divisor) : held[j] / divisor);
    }
}
#endif
#undef FOLD
#undef FOLDED
#undef FOLDED_ROWS
#undef SUMMED
#undef SHORT_LINES
