/* where(): chooses among elements that are a T by a byte of 0 or 1 per element. */
static void NAME(where)(Index n, void *result, const void *first, const void *second, Third third) {
    T *d = result;
    const uint8_t *a = first;
    const T *b = second, *c = third.elements;
    INDEPENDENT
    for (Index i = 0; i < n; i++) d[i] = a[i] ? b[i] : c[i];
}
#undef T
#undef SUFFIX
