/* Softmax and its logarithm, of elements of type T. Sums are made in double.
 *
 * A line is x - m, with its largest element m, then exponentials, and then these times the reciprocal of their sum, or what
 * the logarithm of that leaves. The sum is 1 or more. NaN, infinity, and minus infinity alone make a line of NaN, since m or x - m is NaN. */

INLINE void NAME(exponentials)(Index n, const T *a, T largest, T *d) {
    INDEPENDENT
    for (Index i = 0; i < n; i++) d[i] = NAME(exponential)(a[i] - largest);
}

INLINE void NAME(softmax_of_columns)(Index length, Index columns, Index stride, const T *a, T *d, void *scratch,
                                     bool logarithm) {
    double *restrict totals = scratch;
    double *restrict latest = totals + MOST_LINE_COLUMNS; /* of ROWS_AT_ONCE rows, so that errors grow slowly */
    T *restrict largest = (T *)(latest + MOST_LINE_COLUMNS), room[MOST_LINE_COLUMNS];
    const Loop own = SIMD_NAME(math_kernels).own[EXP][TYPE]; /* of as many elements as a vector has; NULL: none */
    for (Index i = 0; i < columns; i++) largest[i] = a[i], totals[i] = latest[i] = 0;
    for (Index k = 1; k < length; k += ROWS_AT_ONCE)
        SIMD_NAME(reduce_kernels)
            .loops[LARGEST][TYPE]
            .rows(smaller(length - k, ROWS_AT_ONCE), columns, stride, a + k * stride, largest, true);
    for (Index k = 0; k < length; k++) {
        const T *row = a + k * stride;
        T *to = d + k * stride;
        if (own == NULL) {
            INDEPENDENT
            for (Index i = 0; i < columns; i++) {
                const T difference = row[i] - largest[i], power = NAME(exponential)(difference);
                to[i] = logarithm ? difference : power;
                latest[i] += (double)power;
            }
        } else {
            T *powers = logarithm ? room : to;
            INDEPENDENT
            for (Index i = 0; i < columns; i++) to[i] = row[i] - largest[i];
            own(columns, powers, to, NULL, (Third){0});
            INDEPENDENT
            for (Index i = 0; i < columns; i++) latest[i] += (double)powers[i];
        }
        if (k % ROWS_AT_ONCE != ROWS_AT_ONCE - 1 && k != length - 1) continue;
        INDEPENDENT
        for (Index i = 0; i < columns; i++) totals[i] += latest[i], latest[i] = 0;
    }
    INDEPENDENT
    for (Index i = 0; i < columns; i++) largest[i] = (T)(logarithm ? logarithm_f64(totals[i]) : 1 / totals[i]);
    for (Index k = 0; k < length; k++) {
        T *to = d + k * stride;
        INDEPENDENT
        for (Index i = 0; i < columns; i++) to[i] = logarithm ? to[i] - largest[i] : to[i] * largest[i];
    }
}

static T NAME(largest_of)(Index length, const T *a) {
    const FoldLoops *loops = &SIMD_NAME(reduce_kernels).loops[LARGEST][TYPE];
    T largest = a[0];
    for (Index first = 0; first < length; first += MOST_IN_LINE) {
        T found;
        loops->line(smaller(length - first, MOST_IN_LINE), a + first, &found);
        largest = NAME(max_propagate_nan)(found, largest);
    }
    return largest;
}

static double NAME(total_of)(Index length, const T *a) {
    const WideLoops *loops = &SIMD_NAME(wide_kernels).loops[TOTAL][TYPE];
    double total = 0;
    for (Index first = 0; first < length; first += MOST_IN_LINE) {
        double found;
        loops->line(smaller(length - first, MOST_IN_LINE), a + first, NULL, &found);
        total += found;
    }
    return total;
}

INLINE void NAME(softmax_of_lines)(Index lines, Index length, const T *a, T *d, void *scratch, bool logarithm) {
    if (length <= SHORT_LINE) {
        T *tile = (T *)scratch + 3 * MOST_LINE_COLUMNS * 8 / sizeof(T), *softened = tile + SHORT_LINE * LINES_AT_ONCE;
        for (Index line = 0, count; line < lines; line += count) {
            count = smaller(lines - line, LINES_AT_ONCE);
            NAME(turn)(lines - line, length, a + line * length, tile);
            NAME(softmax_of_columns)(length, count, LINES_AT_ONCE, tile, softened, scratch, logarithm);
            NAME(turn_back)(lines - line, length, softened, d + line * length);
        }
        return;
    }
    for (Index line = 0; line < lines; line++, a += length, d += length) {
        const T largest = NAME(largest_of)(length, a);
        T *powers = logarithm ? scratch : d;
        NAME(exponentials)(length, a, largest, powers);
        const double total = NAME(total_of)(length, powers);
        if (logarithm) {
            const T less = (T)log(total);
            INDEPENDENT
            for (Index k = 0; k < length; k++) d[k] = a[k] - largest - less;
        } else {
            const T factor = (T)(1 / total);
            INDEPENDENT
            for (Index k = 0; k < length; k++) d[k] = d[k] * factor;
        }
    }
}

static void NAME(softmax_along)(Index lines, Index length, const void *source, void *result, void *scratch) {
    NAME(softmax_of_lines)(lines, length, source, result, scratch, false);
}

static void NAME(log_softmax_along)(Index lines, Index length, const void *source, void *result, void *scratch) {
    NAME(softmax_of_lines)(lines, length, source, result, scratch, true);
}

static void NAME(softmax_across)(Index length, Index columns, Index stride, const void *source, void *result,
                                 void *scratch) {
    NAME(softmax_of_columns)(length, columns, stride, source, result, scratch, false);
}

static void NAME(log_softmax_across)(Index length, Index columns, Index stride, const void *source, void *result,
                                     void *scratch) {
    NAME(softmax_of_columns)(length, columns, stride, source, result, scratch, true);
}
