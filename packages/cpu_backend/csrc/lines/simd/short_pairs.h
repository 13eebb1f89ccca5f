/* Folds of lines of at most MOST_IN_LINE complex elements of type T, pairs of a PART: of short ones one element after the
 * other, as rows of columns would be (../../reduction/reduce.h), of several lines at once. */
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

/* A line as rows of WIDE_ROW parts, one after the other; what is left is a shorter one, and then halves are added up: the
 * order of what reduce.c makes of such lines, without its calls, which take 25 ns a line. */
static inline T NAME(sum_of_line)(Index length, const T *line) {
    typedef PART Parts __attribute__((vector_size(CACHE_LINE)));
    enum { IN_VECTOR = sizeof(Parts) / sizeof(PART), VECTORS = WIDE_ROW / IN_VECTOR };
    const PART *a = (const PART *)line;
    const Index count = 2 * length;
    Parts held[VECTORS];
    memcpy(held, a, sizeof held);
    Index i = WIDE_ROW;
    for (; i + WIDE_ROW <= count; i += WIDE_ROW) {
        fetch_ahead(a + i, WIDE_ROW * sizeof(PART));
        for (int k = 0; k < VECTORS; k++) {
            Parts x;
            memcpy(&x, a + i + k * IN_VECTOR, sizeof x);
            held[k] += x;
        }
    }
    PART parts[WIDE_ROW];
    memcpy(parts, held, sizeof parts);
    for (Index k = 0; i + k < count; k++) parts[k] += a[i + k];
    HALVED_ONCE(WIDE_ROW, 16, parts[k] += parts[k + half])
    HALVED_ONCE(WIDE_ROW, 8, parts[k] += parts[k + half])
    HALVED_ONCE(WIDE_ROW, 4, parts[k] += parts[k + half])
    HALVED_ONCE(WIDE_ROW, 2, parts[k] += parts[k + half])
    T sum;
    memcpy(&sum, parts, sizeof sum);
    return sum;
}

static void NAME(short_sum)(Index lines, Index length, const void *source, void *result, double divisor, bool root) {
    const T *a = source;
    T *d = result;
    (void)divisor, (void)root;
    for (Index line = 0; line < lines; line++, a += length) {
        if (length >= SHORT_LINE) {
            d[line] = NAME(sum_of_line)(length, a);
            continue;
        }
        T sum = a[0];
        for (Index k = 1; k < length; k++) sum += a[k];
        d[line] = sum;
    }
}
