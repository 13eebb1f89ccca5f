/* Loops that make truths of real numbers with AVX-512, 64 at once: the masks of vectors are joined and become bytes by one
 * instruction. Of single comparisons, GCC widens each to the width of an element first and narrows it in steps.
 */
static inline __mmask64 joined_eights(const __mmask8 *k) {
    const __mmask16 pairs[] = {_mm512_kunpackb(k[1], k[0]), _mm512_kunpackb(k[3], k[2]), _mm512_kunpackb(k[5], k[4]),
                               _mm512_kunpackb(k[7], k[6])};
    return _mm512_kunpackd(_mm512_kunpackw(pairs[3], pairs[2]), _mm512_kunpackw(pairs[1], pairs[0]));
}

static inline __mmask64 joined_sixteens(const __mmask16 *k) {
    return _mm512_kunpackd(_mm512_kunpackw(k[3], k[2]), _mm512_kunpackw(k[1], k[0]));
}

/* What is left over, the loop of the other name does. */
#define MASK_LOOP(name, T, suffix, Mask, LANES, JOINED, FORMULA)                                                       \
    static void name##_masks_##suffix(Index n, void *result, const void *first, const void *second, Third third) {     \
        const T *a = first, *b = second;                                                                               \
        uint8_t *d = result;                                                                                           \
        for (; n >= 64; n -= 64, a += 64, b += 64, d += 64) {                                                          \
            Mask masks[64 / (LANES)];                                                                                  \
            _Pragma("GCC unroll 8") for (int i = 0; i < 64; i += (LANES)) masks[i / (LANES)] = FORMULA;                \
            _mm512_storeu_si512(d, _mm512_maskz_set1_epi8(JOINED(masks), 1));                                          \
        }                                                                                                              \
        name##_##suffix(n, d, a, b, third);                                                                            \
    }

#define COMPARED_F64(predicate) _mm512_cmp_pd_mask(_mm512_loadu_pd(a + i), _mm512_loadu_pd(b + i), predicate)
#define COMPARED_F32(predicate) _mm512_cmp_ps_mask(_mm512_loadu_ps(a + i), _mm512_loadu_ps(b + i), predicate)
#define MASK_LOOPS(name, predicate)                                                                                    \
    MASK_LOOP(name, float, f32, __mmask16, 16, joined_sixteens, COMPARED_F32(predicate))                               \
    MASK_LOOP(name, double, f64, __mmask8, 8, joined_eights, COMPARED_F64(predicate))

MASK_LOOPS(equal, _CMP_EQ_OQ)
MASK_LOOPS(not_equal, _CMP_NEQ_UQ)
MASK_LOOPS(less, _CMP_LT_OQ)
MASK_LOOPS(less_equal, _CMP_LE_OQ)
MASK_LOOPS(greater, _CMP_GT_OQ)
MASK_LOOPS(greater_equal, _CMP_GE_OQ)

/* The same of rows with one number each. */
#define MASK_ROWS(name, T, suffix, ps, Mask, LANES, JOINED, predicate)                                                 \
    static void name##_rows_masks_##suffix(Index rows, Index columns, void *result, const void *numbers, Index step,   \
                                           const void *others, Index pitch) {                                          \
        const T *from = numbers, *row = others;                                                                        \
        uint8_t *d = result;                                                                                           \
        for (; rows > 0; rows--, d += columns, from += step, row += pitch) {                                           \
            const __auto_type number = _mm512_set1_##ps(*from);                                                        \
            Index done = 0;                                                                                            \
            for (; done + 64 <= columns; done += 64) {                                                                 \
                Mask masks[64 / (LANES)];                                                                              \
                _Pragma("GCC unroll 8") for (int i = 0; i < 64; i += (LANES)) masks[i / (LANES)] =                     \
                    _mm512_cmp_##ps##_mask(_mm512_loadu_##ps(row + done + i), number, predicate);                      \
                _mm512_storeu_si512(d + done, _mm512_maskz_set1_epi8(JOINED(masks), 1));                               \
            }                                                                                                          \
            name##_rows_##suffix(1, columns - done, d + done, from, 0, row + done, 0);                                 \
        }                                                                                                              \
    }

#define MASKS_OF_ROWS(name, predicate)                                                                                 \
    MASK_ROWS(name, float, f32, ps, __mmask16, 16, joined_sixteens, predicate)                                         \
    MASK_ROWS(name, double, f64, pd, __mmask8, 8, joined_eights, predicate)

MASKS_OF_ROWS(equal, _CMP_EQ_OQ)
MASKS_OF_ROWS(not_equal, _CMP_NEQ_UQ)
MASKS_OF_ROWS(less, _CMP_LT_OQ)
MASKS_OF_ROWS(less_equal, _CMP_LE_OQ)
MASKS_OF_ROWS(greater, _CMP_GT_OQ)
MASKS_OF_ROWS(greater_equal, _CMP_GE_OQ)

static inline __mmask8 near_eight(__m512d x, __m512d y, __m512d relative, __m512d absolute) {
    const __m512d size = _mm512_abs_pd(y), bound = _mm512_add_pd(_mm512_mul_pd(size, relative), absolute);
    const __mmask8 finite = _mm512_cmp_pd_mask(size, _mm512_set1_pd(INFINITY), _CMP_LT_OQ);
    const __m512d distance = _mm512_abs_pd(_mm512_sub_pd(x, y));
    const __mmask8 within = _mm512_mask_cmp_pd_mask(finite, distance, bound, _CMP_LE_OQ);
    return _kor_mask8(within, _mm512_cmp_pd_mask(x, y, _CMP_EQ_OQ));
}

static inline __mmask16 near_sixteen(__m512 x, __m512 y, __m512 relative, __m512 absolute) {
    const __m512 size = _mm512_abs_ps(y), bound = _mm512_add_ps(_mm512_mul_ps(size, relative), absolute);
    const __mmask16 finite = _mm512_cmp_ps_mask(size, _mm512_set1_ps(INFINITY), _CMP_LT_OQ);
    const __m512 distance = _mm512_abs_ps(_mm512_sub_ps(x, y));
    const __mmask16 within = _mm512_mask_cmp_ps_mask(finite, distance, bound, _CMP_LE_OQ);
    return _mm512_kor(within, _mm512_cmp_ps_mask(x, y, _CMP_EQ_OQ));
}

/* Bytes; some twenty operations a vector keep the processor from looking so far itself. */
enum { MASKED_AHEAD = 1 << 12 };

#define NEAR_LOOP(T, suffix, ps, Mask, LANES, JOINED, NEARNESS)                                                        \
    static void near_masks_##suffix(Index n, void *result, const void *first, const void *second, Third third) {       \
        const T *x = first, *y = second, *relative = third.both[0], *absolute = third.both[1];                         \
        uint8_t *d = result;                                                                                           \
        Index done = 0;                                                                                                \
        for (; done + 64 <= n; done += 64) {                                                                           \
            Mask masks[64 / (LANES)];                                                                                  \
            _Pragma("GCC unroll 8") for (int k = 0; k < 64 / (LANES); k++) {                                           \
                const Index i = done + k * (LANES);                                                                    \
                __builtin_prefetch((const char *)(x + i) + MASKED_AHEAD);                                              \
                __builtin_prefetch((const char *)(y + i) + MASKED_AHEAD);                                              \
                masks[k] = NEARNESS(_mm512_loadu_##ps(x + i), _mm512_loadu_##ps(y + i),                                \
                                    _mm512_loadu_##ps(relative + i), _mm512_loadu_##ps(absolute + i));                 \
            }                                                                                                          \
            _mm512_storeu_si512(d + done, _mm512_maskz_set1_epi8(JOINED(masks), 1));                                   \
        }                                                                                                              \
        const void *const rest[] = {relative + done, absolute + done};                                                 \
        near_##suffix(n - done, d + done, x + done, y + done, (Third){.both = rest});                                  \
    }

NEAR_LOOP(double, f64, pd, __mmask8, 8, joined_eights, near_eight)
NEAR_LOOP(float, f32, ps, __mmask16, 16, joined_sixteens, near_sixteen)
