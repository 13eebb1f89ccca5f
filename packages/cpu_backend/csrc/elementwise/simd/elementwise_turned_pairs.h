/* Turned operands (elementwise_turned.h) of complex elements, with the suffix SUFFIX: pairs of a T, whose bits are BITS, PAIR
 * one of them and PAIRS half a line of the cache. BLOCK turns SIDE x SIDE of them in registers. */
typedef T NAME(Line) __attribute__((vector_size(CACHE_LINE)));
typedef T NAME(LooseLine) __attribute__((vector_size(CACHE_LINE), aligned(sizeof(T)), may_alias));
typedef BITS NAME(Bits) __attribute__((vector_size(CACHE_LINE)));

/* One element over and over. */
static inline __attribute__((always_inline)) NAME(Line) NAME(repeated)(const T *element) {
    NAME(Bits) real, imaginary, first = {0};
    BITS parts[2];
    memcpy(parts, element, sizeof parts);
    real = parts[0] + first, imaginary = parts[1] + first;
    for (int i = 0; i < 2 * SIDE; i += 2) first[i] = (BITS)-1;
    return (NAME(Line))((real & first) | (imaginary & ~first));
}

static inline __attribute__((always_inline)) NAME(Line) NAME(products)(NAME(Line) x, NAME(Line) y) {
    PAIRS a[2], b[2];
    memcpy(a, &x, sizeof a);
    memcpy(b, &y, sizeof b);
    for (int half = 0; half < 2; half++) a[half] = PAIR_PRODUCT(a[half], b[half]);
    memcpy(&x, a, sizeof a);
    return x;
}

/* To where a line begins. */
static inline void NAME(stream)(T *target, NAME(Line) line) {
#if defined(__AVX512F__)
    _mm512_stream_si512((void *)target, (__m512i)line);
#else
    *(NAME(Line) *)target = line;
#endif
}

/* LINES and ONE are the formula of x, the turned operand, and y, for lines and for an element. */
#define TURNED_LOOP(name, LINES, ONE)                                                                                  \
    static inline __attribute__((always_inline)) void NAME(name##_block)(                                              \
        const T *a, const Index *from, const Index *to, T *d, Index pitch, const T *b, Index other_pitch, Index step,  \
        bool past_cache) {                                                                                             \
        NAME(Line) tile[SIDE];                                                                                         \
        BLOCK((const char *)a, from, (char *)tile, to, false);                                                         \
        for (Index i = 0; i < SIDE; i++, d += 2 * pitch, b += 2 * other_pitch) {                                       \
            const NAME(Line) x = tile[i];                                                                              \
            NAME(Line) y;                                                                                              \
            if (step == 1) y = *(const NAME(LooseLine) *)b;                                                            \
            else y = NAME(repeated)(b);                                                                                \
            y = LINES;                                                                                                 \
            if (past_cache && (uintptr_t)d % CACHE_LINE == 0) NAME(stream)(d, y);                                      \
            else *(NAME(LooseLine) *)d = y;                                                                            \
        }                                                                                                              \
    }                                                                                                                  \
    static void NAME(name)(Index rows, Index columns, void *result, Index result_pitch, const void *operand,           \
                           Index pitch, const void *others, Index other_pitch, Index step, bool past_cache) {          \
        const bool blocks = rows >= SIDE && columns >= SIDE;                                                           \
        const T *a = operand, *b = others;                                                                             \
        T *d = result;                                                                                                 \
        Index from[SIDE], to[SIDE];                                                                                    \
        for (Index k = 0; k < SIDE; k++) from[k] = k * pitch * (Index)sizeof(PAIR), to[k] = k * CACHE_LINE;            \
        for (Index row = 0; blocks && row < rows; row += SIDE) {                                                       \
            if (row > rows - SIDE) row = rows - SIDE;                                                                  \
            T *to_row = d + 2 * row * result_pitch;                                                                    \
            const T *other = b + 2 * row * other_pitch;                                                                \
            for (Index k = 0; k < columns; k += SIDE) {                                                                \
                if (k > columns - SIDE) k = columns - SIDE;                                                            \
                const T *turned = a + 2 * (k * pitch + row);                                                           \
                if (step == 1)                                                                                         \
                    NAME(name##_block)(turned, from, to, to_row + 2 * k, result_pitch, other + 2 * k, other_pitch, 1,  \
                                       past_cache);                                                                    \
                else                                                                                                   \
                    NAME(name##_block)(turned, from, to, to_row + 2 * k, result_pitch, other, other_pitch, 0,          \
                                       past_cache);                                                                    \
            }                                                                                                          \
        }                                                                                                              \
        for (Index row = 0; !blocks && row < rows; row++)                                                              \
            for (Index k = 0; k < columns; k++) {                                                                      \
                const PAIR x = *(const PAIR *)(a + 2 * (k * pitch + row));                                             \
                const PAIR y = *(const PAIR *)(b + 2 * (row * other_pitch + k * step));                                \
                *(PAIR *)(d + 2 * (row * result_pitch + k)) = ONE;                                                     \
            }                                                                                                          \
    }

TURNED_LOOP(add_turned, x + y, x + y)
TURNED_LOOP(multiply_turned, NAME(products)(x, y), PAIR_PRODUCT(x, y))
TURNED_LOOP(subtract_turned, x - y, x - y)
TURNED_LOOP(subtract_from_turned, y - x, y - x)

#undef TURNED_LOOP
#undef T
#undef SUFFIX
#undef BITS
#undef PAIR
#undef PAIRS
#undef SIDE
#undef BLOCK
