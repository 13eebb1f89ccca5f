/* Operations of which one operand is turned (TurnedLoop in elementwise.h): T with the suffix SUFFIX, of which BLOCK turns
 * SIDE x SIDE in registers (copy/simd/permute_blocks.h), where they meet the others. */
typedef T NAME(Line) __attribute__((vector_size(CACHE_LINE)));
typedef T NAME(LooseLine) __attribute__((vector_size(CACHE_LINE), aligned(sizeof(T)), may_alias));

/* Blocks begin where lines of the operand do, and what does not fill one at an end is done with its neighbours again.
 * The FORMULA is one of x, the turned operand, and y, for one element and for vectors. */
#define TURNED_LOOP(name, FORMULA)                                                                                     \
    static inline __attribute__((always_inline)) void NAME(name##_block)(const T *a, const Index *from,                \
                                                                         const Index *to, T *d, Index pitch,           \
                                                                         const T *b, Index other_pitch, Index step) {  \
        NAME(Line) tile[SIDE];                                                                                         \
        BLOCK((const char *)a, from, (char *)tile, to, false);                                                         \
        for (Index i = 0; i < SIDE; i++, d += pitch, b += other_pitch) {                                               \
            NAME(Line) x = tile[i], y;                                                                                 \
            if (step == 1) y = *(const NAME(LooseLine) *)b;                                                            \
            else y = *b - (NAME(Line)){0}; /* which is it, also when it is -0.0 */                                     \
            *(NAME(LooseLine) *)d = FORMULA;                                                                           \
        }                                                                                                              \
    }                                                                                                                  \
    static void NAME(name)(Index rows, Index columns, void *result, Index result_pitch, const void *operand,           \
                           Index pitch, const void *others, Index other_pitch, Index step, bool past_cache) {          \
        (void)past_cache;                                                                                              \
        const bool blocks = rows >= SIDE && columns >= SIDE;                                                           \
        const Index line = (-(intptr_t)operand & (CACHE_LINE - 1)) / (Index)sizeof(T);                                 \
        const Index first = rows >= 4 * SIDE ? line : 0;                                                               \
        const T *a = operand, *b = others;                                                                             \
        T *d = result;                                                                                                 \
        Index from[SIDE], to[SIDE];                                                                                    \
        for (Index k = 0; k < SIDE; k++) from[k] = k * pitch * (Index)sizeof(T), to[k] = k * CACHE_LINE;               \
        for (Index row = 0; blocks && row < rows; row = row == 0 && first > 0 ? first : row + SIDE) {                  \
            if (row > rows - SIDE) row = rows - SIDE;                                                                  \
            T *to_row = d + row * result_pitch;                                                                        \
            const T *other = b + row * other_pitch;                                                                    \
            for (Index k = 0; k < columns; k += SIDE) {                                                                \
                if (k > columns - SIDE) k = columns - SIDE;                                                            \
                if (step == 1)                                                                                         \
                    NAME(name##_block)(a + k * pitch + row, from, to, to_row + k, result_pitch, other + k,             \
                                       other_pitch, 1);                                                                \
                else                                                                                                   \
                    NAME(name##_block)(a + k * pitch + row, from, to, to_row + k, result_pitch, other, other_pitch,    \
                                       0);                                                                             \
            }                                                                                                          \
        }                                                                                                              \
        for (Index row = 0; !blocks && row < rows; row++)                                                              \
            for (Index k = 0; k < columns; k++) {                                                                      \
                const T x = a[k * pitch + row], y = b[row * other_pitch + k * step];                                   \
                d[row * result_pitch + k] = FORMULA;                                                                   \
            }                                                                                                          \
    }

TURNED_LOOP(add_turned, x + y)
TURNED_LOOP(multiply_turned, x *y)
TURNED_LOOP(subtract_turned, x - y)
TURNED_LOOP(subtract_from_turned, y - x)
TURNED_LOOP(divide_turned, x / y)
TURNED_LOOP(divide_by_turned, y / x)

#undef TURNED_LOOP
#undef T
#undef SUFFIX
#undef SIDE
#undef BLOCK
