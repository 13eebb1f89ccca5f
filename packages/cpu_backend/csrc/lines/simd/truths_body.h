/* Whether any elements of a line, or all of them, are true: lines that lie side by side, of which no more is read than
 * what decides. For one element type (every_type.h); flags are of the size of a part of an element, so that vectors of
 * both go together. */
#if PART_BYTES == 8
#define FLAG int64_t
#elif PART_BYTES == 4
#define FLAG int32_t
#else
#define FLAG uint8_t
#endif

static inline bool NAME(is_true)(const PART *element) {
#if PARTS == 2
    return (element[0] != 0) | (element[1] != 0);
#else
    return element[0] != 0;
#endif
}

static inline void NAME(decide)(Index lines, Index length, const void *source, void *result, const bool any) {
    enum { AT_ONCE = 32 * (8 / PART_BYTES) }; /* four vectors of the widest registers, and as many of parts */
    uint8_t *d = result;
    for (Index line = 0; line < lines; line++) {
        const PART *x = (const PART *)source + line * length * PARTS;
        bool decided = false;
        Index i = 0;
        for (; i + AT_ONCE <= length && !decided; i += AT_ONCE) {
            FLAG some = 0;
            for (Index k = i; k < i + AT_ONCE; k++) some |= (FLAG)(NAME(is_true)(x + k * PARTS) == any);
            decided = some != 0;
        }
        for (; i < length && !decided; i++) decided = NAME(is_true)(x + i * PARTS) == any;
        d[line] = decided == any;
    }
}

static void NAME(any)(Index lines, Index length, const void *source, void *result, double divisor, bool root) {
    (void)divisor, (void)root;
    NAME(decide)(lines, length, source, result, true);
}

static void NAME(all)(Index lines, Index length, const void *source, void *result, double divisor, bool root) {
    (void)divisor, (void)root;
    NAME(decide)(lines, length, source, result, false);
}
#undef FLAG
