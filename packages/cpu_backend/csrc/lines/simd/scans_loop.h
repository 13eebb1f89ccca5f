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

/* A few columns, whose number is a constant where this is inlined. */
INLINE void NAME(SIMD_JOIN(SCAN, few))(Index length, const int columns, Index stride, const S *a, T *d) {
    T sums[6];
    for (int i = 0; i < columns; i++) d[i] = sums[i] = READ(a[i]);
    for (Index k = 1; k < length; k++) {
        a += stride, d += stride;
        for (int i = 0; i < columns; i++) d[i] = sums[i] = JOIN(sums[i], READ(a[i]));
    }
}

static void NAME(SIMD_JOIN(SCAN, across))(Index length, Index columns, Index stride, const void *source, void *result,
                                          void *scratch) {
    const S *a = source;
    T *d = result;
    (void)scratch;
    switch (columns) { /* such as the parts of a complex number, or three coordinates: sums that stay in registers */
    case 2: NAME(SIMD_JOIN(SCAN, few))(length, 2, stride, a, d); return;
    case 3: NAME(SIMD_JOIN(SCAN, few))(length, 3, stride, a, d); return;
    case 4: NAME(SIMD_JOIN(SCAN, few))(length, 4, stride, a, d); return;
    case 5: NAME(SIMD_JOIN(SCAN, few))(length, 5, stride, a, d); return;
    case 6: NAME(SIMD_JOIN(SCAN, few))(length, 6, stride, a, d); return;
    default: break;
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
