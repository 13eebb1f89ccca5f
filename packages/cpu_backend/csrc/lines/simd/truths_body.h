/* Whether any elements of a line, or all of them, are true: lines that lie side by side, of which no more is read than
 * what decides. DECIDES(x, k) is whether element k is true, for "any", or false, for "all"; FLAG is of the size of a part
 * of an element, so that vectors of both go together. */
static void LINES(Index lines, Index length, const void *source, void *result, double divisor, bool root) {
    enum { AT_ONCE = 32 };
    uint8_t *d = result;
    (void)divisor, (void)root;
    for (Index line = 0; line < lines; line++) {
        const T *x = (const T *)source + line * length * PARTS;
        bool decided = false;
        Index i = 0;
        for (; i + AT_ONCE <= length && !decided; i += AT_ONCE) {
            FLAG some = 0;
            for (Index k = i; k < i + AT_ONCE; k++) some |= (FLAG)(DECIDES(x, k));
            decided = some != 0;
        }
        for (; i < length && !decided; i++) decided = DECIDES(x, i);
        d[line] = decided == ANY;
    }
}
#undef LINES
#undef DECIDES
#undef ANY
