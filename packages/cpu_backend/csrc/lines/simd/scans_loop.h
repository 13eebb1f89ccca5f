/* SCAN: what JOIN makes of an element, read by READ, and all before it in its line. */

/* Each sum waits for the one before it, so four lines at once. */
static void NAME(SIMD_JOIN(SCAN, along))(Index lines, Index length, const void *source, void *result, void *scratch) {
    const S *restrict a = source;
    T *restrict d = result;
    Index line = 0;
    (void)scratch;
    for (; line + 4 <= lines; line += 4, a += 4 * length, d += 4 * length) {
        T s0 = READ(a[0]), s1 = READ(a[length]), s2 = READ(a[2 * length]), s3 = READ(a[3 * length]);
        d[0] = s0, d[length] = s1, d[2 * length] = s2, d[3 * length] = s3;
        for (Index k = 1; k < length; k++) {
            d[k] = s0 = JOIN(s0, READ(a[k]));
            d[k + length] = s1 = JOIN(s1, READ(a[k + length]));
            d[k + 2 * length] = s2 = JOIN(s2, READ(a[k + 2 * length]));
            d[k + 3 * length] = s3 = JOIN(s3, READ(a[k + 3 * length]));
        }
    }
    for (; line < lines; line++, a += length, d += length) {
        T sum = d[0] = READ(a[0]);
        for (Index k = 1; k < length; k++) d[k] = sum = JOIN(sum, READ(a[k]));
    }
}

static void NAME(SIMD_JOIN(SCAN, across))(Index length, Index columns, Index stride, const void *source, void *result,
                                          void *scratch) {
    const S *a = source;
    T *d = result;
    (void)scratch;
    if (columns == 2) { /* such as complex numbers in a line */
        T s0 = d[0] = READ(a[0]), s1 = d[1] = READ(a[1]);
        for (Index k = 1; k < length; k++) {
            d[k * stride] = s0 = JOIN(s0, READ(a[k * stride]));
            d[k * stride + 1] = s1 = JOIN(s1, READ(a[k * stride + 1]));
        }
        return;
    }
    for (Index i = 0; i < columns; i++) d[i] = READ(a[i]);
    for (Index k = 1; k < length; k++) {
        const S *row = a + k * stride;
        const T *before = d + (k - 1) * stride;
        T *sums = d + k * stride;
        INDEPENDENT
        for (Index i = 0; i < columns; i++) sums[i] = JOIN(before[i], READ(row[i]));
    }
}
#undef SCAN
#undef JOIN
