/* Loops that apply a function to blocks of T, LANES at once as a VECTOR; see ../vectormath.h. */

static void NAME(scalar_one)(Index n, void *result, const void *first, const void *second, Third third) {
    T (*function)(T) = (T (*)(T))third.function;
    T *d = result;
    const T *a = first;
    (void)second;
    for (Index i = 0; i < n; i++) d[i] = function(a[i]);
}

static void NAME(scalar_two)(Index n, void *result, const void *first, const void *second, Third third) {
    T (*function)(T, T) = (T (*)(T, T))third.function;
    T *d = result;
    const T *a = first, *b = second;
    for (Index i = 0; i < n; i++) d[i] = function(a[i], b[i]);
}

#if defined(VECTOR)
static VECTOR NAME(some)(const T *a, Index count) { /* ones in the lanes that are left over */
    VECTOR v;
    T lanes[LANES];
    for (Index i = 0; i < LANES; i++) lanes[i] = i < count ? a[i] : 1;
    memcpy(&v, lanes, sizeof v);
    return v;
}

static void NAME(vector_one)(Index n, void *result, const void *first, const void *second, Third third) {
    VECTOR (*function)(VECTOR) = (VECTOR (*)(VECTOR))third.function;
    T *d = result;
    const T *a = first;
    VECTOR v;
    Index i = 0;
    (void)second;
    for (; i + LANES <= n; i += LANES) {
        memcpy(&v, a + i, sizeof v);
        v = function(v);
        memcpy(d + i, &v, sizeof v);
    }
    if (i == n) return;
    v = function(NAME(some)(a + i, n - i));
    memcpy(d + i, &v, (size_t)(n - i) * sizeof(T));
}

static void NAME(vector_two)(Index n, void *result, const void *first, const void *second, Third third) {
    VECTOR (*function)(VECTOR, VECTOR) = (VECTOR (*)(VECTOR, VECTOR))third.function;
    T *d = result;
    const T *a = first, *b = second;
    VECTOR v, w;
    Index i = 0;
    for (; i + LANES <= n; i += LANES) {
        memcpy(&v, a + i, sizeof v);
        memcpy(&w, b + i, sizeof w);
        v = function(v, w);
        memcpy(d + i, &v, sizeof v);
    }
    if (i == n) return;
    v = function(NAME(some)(a + i, n - i), NAME(some)(b + i, n - i));
    memcpy(d + i, &v, (size_t)(n - i) * sizeof(T));
}
#endif
#undef T
#undef SUFFIX
#undef VECTOR
#undef LANES
