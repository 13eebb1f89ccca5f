/* where(): chooses among elements that are a T by a byte of 0 or 1 per element. CHOOSE(d, a, b, c, n) sets as many of
 * them as are whole vectors and says how many, where that is not left to the compiler, which reads either operand under
 * a mask of its own. */
#ifndef CHOOSE
#define CHOOSE(d, a, b, c, n) 0
#endif

static void NAME(where)(Index n, void *result, const void *first, const void *second, Third third) {
    T *d = result;
    const uint8_t *a = first;
    const T *b = second, *c = third.elements;
    INDEPENDENT
    for (Index i = CHOOSE(d, a, b, c, n); i < n; i++) d[i] = a[i] ? b[i] : c[i];
}
#undef T
#undef SUFFIX
#undef CHOOSE
