/* Normalised lines of elements of type T. Sums are made in double: of elements, for the centre, and then of the squares of
 * what differs from it; of RMS_NORM the centre is 0. */

/* Sets totals[i] to the sum of VALUE over the elements x of column i. */
#define SUM_COLUMNS(totals, VALUE)                                                                                     \
    for (Index i = 0; i < columns; i++) totals[i] = latest[i] = 0;                                                     \
    for (Index k = 0; k < length; k++) {                                                                               \
        const T *row = a + k * stride;                                                                                 \
        INDEPENDENT                                                                                                    \
        for (Index i = 0; i < columns; i++) {                                                                          \
            const double x = (double)row[i];                                                                           \
            latest[i] += (VALUE);                                                                                      \
        }                                                                                                              \
        if (k % ROWS_AT_ONCE != ROWS_AT_ONCE - 1 && k != length - 1) continue;                                         \
        INDEPENDENT                                                                                                    \
        for (Index i = 0; i < columns; i++) totals[i] += latest[i], latest[i] = 0;                                     \
    }

INLINE bool NAME(normalize_columns)(Index length, Index columns, Index stride, double epsilon, const T *a, T *d,
                                    void *scratch, bool centred) {
    double *restrict factors = scratch;
    double *restrict latest = factors + MOST_LINE_COLUMNS; /* of ROWS_AT_ONCE rows, so that errors grow slowly */
    double *restrict centres = latest + MOST_LINE_COLUMNS;
    bool good = true;
    if (centred) {
        SUM_COLUMNS(centres, x)
        for (Index i = 0; i < columns; i++) centres[i] /= (double)length;
        SUM_COLUMNS(factors, (x - centres[i]) * (x - centres[i]))
    } else {
        SUM_COLUMNS(factors, x * x)
    }
    for (Index i = 0; i < columns; i++) {
        const double mean = factors[i] / (double)length + epsilon;
        good &= IN_RANGE(mean);
        factors[i] = 1 / sqrt(mean);
    }
    for (Index k = 0; k < length; k++) {
        const T *row = a + k * stride;
        T *to = d + k * stride;
        INDEPENDENT
        for (Index i = 0; i < columns; i++) to[i] = (T)(((double)row[i] - (centred ? centres[i] : 0.0)) * factors[i]);
    }
    return good;
}
#undef SUM_COLUMNS

static double NAME(sum_of_line)(WideFold fold, Index length, const T *a, double centre) {
    const WideLoops *loops = &SIMD_NAME(wide_kernels).loops[fold][TYPE];
    double total = 0;
    for (Index first = 0; first < length; first += MOST_IN_LINE) {
        double found;
        loops->line(smaller(length - first, MOST_IN_LINE), a + first, &centre, &found);
        total += found;
    }
    return total;
}

INLINE bool NAME(normalize_lines)(Index lines, Index length, double epsilon, const T *a, T *d, void *scratch,
                                  bool centred) {
    bool good = true;
    if (length <= SHORT_LINE) {
        T *tile = (T *)scratch + 3 * MOST_LINE_COLUMNS * 8 / sizeof(T), *normalized = tile + SHORT_LINE * LINES_AT_ONCE;
        for (Index line = 0, count; line < lines; line += count) {
            count = smaller(lines - line, LINES_AT_ONCE);
            NAME(turn)(lines - line, length, a + line * length, tile);
            good &= NAME(normalize_columns)(length, count, LINES_AT_ONCE, epsilon, tile, normalized, scratch, centred);
            NAME(turn_back)(lines - line, length, normalized, d + line * length);
        }
        return good;
    }
    for (Index line = 0; line < lines; line++, a += length, d += length) {
        const double centre = centred ? NAME(sum_of_line)(TOTAL, length, a, 0) / (double)length : 0.0;
        const double squares = NAME(sum_of_line)(centred ? DEVIATIONS : SQUARES, length, a, centre);
        const double mean = squares / (double)length + epsilon, factor = 1 / sqrt(mean);
        good &= IN_RANGE(mean);
        if (FITS(centre, factor)) {
            const T near_centre = (T)centre, near_factor = (T)factor;
            INDEPENDENT
            for (Index k = 0; k < length; k++) d[k] = (a[k] - near_centre) * near_factor;
        } else {
            INDEPENDENT
            for (Index k = 0; k < length; k++) d[k] = (T)(((double)a[k] - centre) * factor);
        }
    }
    return good;
}

#define BOTH_WAYS(name, centred)                                                                                       \
    static bool NAME(name##_along)(Index lines, Index length, double epsilon, const void *source, void *result,        \
                                   void *scratch) {                                                                    \
        return NAME(normalize_lines)(lines, length, epsilon, source, result, scratch, centred);                        \
    }                                                                                                                  \
    static bool NAME(name##_across)(Index length, Index columns, Index stride, double epsilon, const void *source,     \
                                    void *result, void *scratch) {                                                     \
        return NAME(normalize_columns)(length, columns, stride, epsilon, source, result, scratch, centred);            \
    }
BOTH_WAYS(layer, true)
BOTH_WAYS(rms, false)
#undef BOTH_WAYS
