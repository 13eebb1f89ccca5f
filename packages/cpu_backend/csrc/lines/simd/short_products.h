/* Products of lines of at most MOST_IN_LINE complex elements of type T: of short ones one element after the other, as rows
 * of columns would be (../../reduction/reduce.h), of several lines at once. */
static void NAME(short_product)(Index lines, Index length, const void *source, void *result, double divisor,
                                bool root) {
    enum { TOGETHER = 4 };
    const T *a = source;
    T *d = result;
    (void)divisor, (void)root;
    for (Index line = 0, count; line < lines; line += count, a += count * length) {
        count = length <= SHORT_LINE && lines - line >= TOGETHER ? TOGETHER : 1;
        if (length > SHORT_LINE) {
            SIMD_NAME(reduce_kernels).loops[PRODUCT][TYPE].line(length, a, d + line);
            continue;
        }
        T held[TOGETHER];
        for (Index j = 0; j < count; j++) held[j] = a[j * length];
        for (Index k = 1; k < length && count == TOGETHER; k++)
            for (Index j = 0; j < TOGETHER; j++) held[j] = PAIR_PRODUCT(a[j * length + k], held[j]);
        for (Index k = 1; k < length && count < TOGETHER; k++) held[0] = PAIR_PRODUCT(a[k], held[0]);
        for (Index j = 0; j < count; j++) d[line + j] = held[j];
    }
}
