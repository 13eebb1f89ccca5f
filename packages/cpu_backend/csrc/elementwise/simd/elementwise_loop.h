/* One loop: NAME(OPERATION) sets every d[i] to FORMULA, an expression in a[i], b[i] and c[i].
 *
 * The type of a, b and c is T; RESULT is that of d where it differs.
 */
#ifndef RESULT
#define RESULT T
#endif

static void NAME(OPERATION)(Index n, void *result, const void *first, const void *second, Third third) {
    RESULT *d = result;
    const T *a = first, *b = second;
    const T *c = third.elements;
    (void)a, (void)b, (void)c;
    INDEPENDENT /* d[i] may lie at a[i] or b[i], never at another element of theirs */
        for (Index i = 0; i < n; i++) d[i] = (RESULT)(FORMULA);
}

#undef OPERATION
#undef FORMULA
#undef RESULT
