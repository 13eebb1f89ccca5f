/* Loops for complex elements: pairs of a T, real part first, whose bits are BITS.
 *
 * Quotients follow Robert L. Smith (Algorithm 116, Communications of the ACM 5, 1962), as NumPy's do: no overflow in
 * between, and the same infinities and NaN.
 */

static void NAME(multiply)(Index n, void *result, const void *first, const void *second, Third third) {
    T *d = result;
    const T *a = first, *b = second;
    (void)third;
    INDEPENDENT
    for (Index i = 0; i < n; i++) {
        T ar = a[2 * i], ai = a[2 * i + 1], br = b[2 * i], bi = b[2 * i + 1];
        d[2 * i] = ar * br - ai * bi;
        d[2 * i + 1] = ar * bi + ai * br;
    }
}

/* Where the imaginary part of the divisor is the larger one, both operands are divided by i first: the same products and
 * sums, and no branch. A divisor of 0 gives infinities and NaN by the signs of the dividend. */
static void NAME(divide)(Index n, void *result, const void *first, const void *second, Third third) {
    T *d = result;
    const T *a = first, *b = second;
    (void)third;
    INDEPENDENT
    for (Index i = 0; i < n; i++) {
        T ar = a[2 * i], ai = a[2 * i + 1], br = b[2 * i], bi = b[2 * i + 1];
        bool turned = !(FUNCTION(fabs)(br) >= FUNCTION(fabs)(bi));
        T x = turned ? ai : ar, y = turned ? -ar : ai;
        T larger = turned ? bi : br, other = turned ? -br : bi;
        bool zero = (larger == 0) & (other == 0); /* not beside a NaN */
        T ratio = other / larger, scale = 1 / (larger + other * ratio);
        T re = (x + y * ratio) * scale, im = (y - x * ratio) * scale;
        d[2 * i] = zero ? ar * (T)INFINITY : re;
        d[2 * i + 1] = zero ? ai * (T)INFINITY : im;
    }
}

static void NAME(equal)(Index n, void *result, const void *first, const void *second, Third third) {
    uint8_t *d = result;
    const T *a = first, *b = second;
    (void)third;
    for (Index i = 0; i < n; i++) d[i] = (a[2 * i] == b[2 * i]) & (a[2 * i + 1] == b[2 * i + 1]);
}

static void NAME(not_equal)(Index n, void *result, const void *first, const void *second, Third third) {
    uint8_t *d = result;
    const T *a = first, *b = second;
    (void)third;
    for (Index i = 0; i < n; i++) d[i] = (a[2 * i] != b[2 * i]) | (a[2 * i + 1] != b[2 * i + 1]);
}

/* The sign of every second part, in vectors; of a loop over pairs, the compiler makes permutations. */
typedef BITS NAME(Parts) __attribute__((vector_size(64)));

static void NAME(conjugate)(Index n, void *result, const void *first, const void *second, Third third) {
    enum { IN_VECTOR = 64 / sizeof(T) };
    T *d = result;
    const T *a = first;
    NAME(Parts) parts, signs;
    Index i = 0;
    (void)second, (void)third;
    for (int k = 0; k < IN_VECTOR; k++) signs[k] = (BITS)(k % 2) << (8 * sizeof(T) - 1);
    for (; i + IN_VECTOR <= 2 * n; i += IN_VECTOR) {
        memcpy(&parts, a + i, sizeof parts);
        parts ^= signs;
        memcpy(d + i, &parts, sizeof parts);
    }
    for (; i < 2 * n; i += 2) {
        d[i] = a[i];
        d[i + 1] = -a[i + 1];
    }
}

static void NAME(real_part)(Index n, void *result, const void *first, const void *second, Third third) {
    T *d = result;
    const T *a = first;
    (void)second, (void)third;
    for (Index i = 0; i < n; i++) d[i] = a[2 * i];
}

static void NAME(imaginary_part)(Index n, void *result, const void *first, const void *second, Third third) {
    T *d = result;
    const T *a = first;
    (void)second, (void)third;
    for (Index i = 0; i < n; i++) d[i] = a[2 * i + 1];
}

static void NAME(join_parts)(Index n, void *result, const void *first, const void *second, Third third) {
    T *d = result;
    const T *a = first, *b = second;
    (void)third;
    for (Index i = 0; i < n; i++) {
        d[2 * i] = a[i];
        d[2 * i + 1] = b[i];
    }
}

/* Part by part, so twice as many real elements. */
static void NAME(add)(Index n, void *result, const void *first, const void *second, Third third) {
    REAL_NAME(add)(2 * n, result, first, second, third);
}

static void NAME(subtract)(Index n, void *result, const void *first, const void *second, Third third) {
    REAL_NAME(subtract)(2 * n, result, first, second, third);
}

static void NAME(negative)(Index n, void *result, const void *first, const void *second, Third third) {
    REAL_NAME(negative)(2 * n, result, first, second, third);
}

static void NAME(isfinite)(Index n, void *result, const void *first, const void *second, Third third) {
    uint8_t *d = result;
    const T *a = first;
    (void)second, (void)third;
    for (Index i = 0; i < n; i++)
        d[i] = (FUNCTION(fabs)(a[2 * i]) < (T)INFINITY) & (FUNCTION(fabs)(a[2 * i + 1]) < (T)INFINITY);
}

static void NAME(isinf)(Index n, void *result, const void *first, const void *second, Third third) {
    uint8_t *d = result;
    const T *a = first;
    (void)second, (void)third;
    for (Index i = 0; i < n; i++)
        d[i] = (FUNCTION(fabs)(a[2 * i]) == (T)INFINITY) | (FUNCTION(fabs)(a[2 * i + 1]) == (T)INFINITY);
}

static void NAME(isnan)(Index n, void *result, const void *first, const void *second, Third third) {
    uint8_t *d = result;
    const T *a = first;
    (void)second, (void)third;
    for (Index i = 0; i < n; i++) d[i] = (a[2 * i] != a[2 * i]) | (a[2 * i + 1] != a[2 * i + 1]);
}
#undef T
#undef SUFFIX
#undef BITS
#undef FUNCTION
#undef REAL_NAME
