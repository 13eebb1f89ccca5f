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

/* Whether one of so many elements decides; inlined with a constant, so that it is a loop over vectors. */
static inline bool NAME(one_is)(const PART *x, Index count, const bool any) {
    FLAG some = 0;
    for (Index k = 0; k < count; k++) some |= (FLAG)(NAME(is_true)(x + k * PARTS) == any);
    return some != 0;
}

static inline void NAME(decide)(Index lines, Index length, const void *source, void *result, const bool any) {
    enum { AT_ONCE = 32, MANY = PART_BYTES == 1 ? 512 : 128 }; /* the end of each is the longer part of few bytes */
    uint8_t *d = result;
    for (Index line = 0; line < lines; line++) {
        const PART *x = (const PART *)source + line * length * PARTS;
        bool decided = false;
        Index i = 0;
        for (; i + MANY <= length && !decided; i += MANY) decided = NAME(one_is)(x + i * PARTS, MANY, any);
        for (; i + AT_ONCE <= length && !decided; i += AT_ONCE) decided = NAME(one_is)(x + i * PARTS, AT_ONCE, any);
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
