/* FOLD, the largest or the least, of elements of type S with AVX-512: loops that overlook NaN, and tell whether they met
 * one. Whoever calls them then folds the same elements once more, by loops that do not; extremes stay what they are when
 * they are folded twice. EXTREME is max or min, and LETTERS what instructions on S end with.
 *
 * MAXPD and its like give their second operand where one is NaN, and of two equal ones: so what is held stays, NaN too.
 */
#define OP(name) SIMD_JOIN(SIMD_JOIN(_mm512, name), LETTERS)
#define VECTOR SIMD_JOIN(VectorOf, LETTERS)
#define MASK SIMD_JOIN(MaskOf, LETTERS)
#define NUMBERS(so_far, x, y) SIMD_JOIN(OP(mask_cmp), mask)(so_far, x, y, _CMP_ORD_Q)
#define HELD(held, other) OP(EXTREME)(other, held)

enum { NAME(LANES) = 64 / sizeof(S), NAME(VECTORS) = WIDE_ROW / NAME(LANES) };

static inline MASK NAME(first_lanes)(Index count) { return (MASK)(count >= NAME(LANES) ? -1 : (1 << count) - 1); }

/* Of WIDE_ROW columns, the fold of half of them with the other half, and so on. */
static inline S NAME(across_lanes)(VECTOR *held) {
    HALVED(NAME(VECTORS), held[k] = HELD(held[k], held[k + half]))
    VECTOR all = held[0];
    all = HELD(all, (VECTOR)_mm512_shuffle_i64x2((__m512i)all, (__m512i)all, 0x4E));
    all = HELD(all, (VECTOR)_mm512_shuffle_i64x2((__m512i)all, (__m512i)all, 0xB1));
    all = HELD(all, (VECTOR)_mm512_shuffle_epi32((__m512i)all, 0x4E));
    if (sizeof(S) == 4) all = HELD(all, (VECTOR)_mm512_shuffle_epi32((__m512i)all, 0xB1));
    return all[0];
}

/* Rows of WIDE_ROW columns, one behind the other, and fewer elements behind them, in registers. */
static inline bool NAME(numbers_of_wide_rows)(Index rows, Index behind, const S *a, VECTOR *folds) {
    MASK numbers = (MASK)-1, others = (MASK)-1;
    VECTOR held[NAME(VECTORS)];
    for (int k = 0; k < NAME(VECTORS); k++) held[k] = folds[k];
    for (; rows >= 2; rows -= 2, a += 2 * WIDE_ROW) {
        fetch_ahead(a, 2 * WIDE_ROW * sizeof(S));
        for (int k = 0; k < NAME(VECTORS); k++) {
            const VECTOR x = OP(loadu)(a + k * NAME(LANES)), y = OP(loadu)(a + WIDE_ROW + k * NAME(LANES));
            if (k % 2) numbers = NUMBERS(numbers, x, y);
            else others = NUMBERS(others, x, y);
            held[k] = HELD(held[k], HELD(x, y));
        }
    }
    if (rows > 0) {
        for (int k = 0; k < NAME(VECTORS); k += 2) {
            const VECTOR x = OP(loadu)(a + k * NAME(LANES)), y = OP(loadu)(a + (k + 1) * NAME(LANES));
            numbers = NUMBERS(numbers, x, y);
            held[k] = HELD(held[k], x), held[k + 1] = HELD(held[k + 1], y);
        }
        a += WIDE_ROW;
    }
    for (int k = 0; k < NAME(VECTORS) && behind > 0; k++, behind -= NAME(LANES)) {
        const VECTOR x = OP(mask_loadu)(held[k], NAME(first_lanes)(behind), a + k * NAME(LANES));
        others = NUMBERS(others, x, x);
        held[k] = HELD(held[k], x);
    }
    for (int k = 0; k < NAME(VECTORS); k++) folds[k] = held[k];
    return (MASK)(numbers & others) == (MASK)-1;
}

/* Of WIDE_ROW elements or more. */
static inline bool NAME(numbers_of_line)(Index count, const S *a, S *fold) {
    VECTOR held[NAME(VECTORS)];
    MASK numbers = (MASK)-1;
    for (int k = 0; k < NAME(VECTORS); k++) held[k] = OP(loadu)(a + k * NAME(LANES));
    for (int k = 0; k < NAME(VECTORS); k += 2) numbers = NUMBERS(numbers, held[k], held[k + 1]);
    const bool others = NAME(numbers_of_wide_rows)(count / WIDE_ROW - 1, count % WIDE_ROW, a + WIDE_ROW, held);
    *fold = NAME(across_lanes)(held);
    return others & (numbers == (MASK)-1);
}

/* Some lanes of a row. */
static inline bool NAME(numbers_of_lanes)(MASK lanes, const S *a, S *d) {
    const VECTOR x = OP(maskz_loadu)(lanes, a);
    OP(mask_storeu)(d, lanes, HELD(OP(maskz_loadu)(lanes, d), x));
    return NUMBERS((MASK)-1, x, x) == (MASK)-1;
}

/* Four distant rows at once, as in reduce_body.h; rows and columns that are left over by themselves. */
static inline bool NAME(numbers_of_distant_rows)(Index rows, Index columns, Index stride, const S *a, S *d) {
    const Index whole = columns - columns % NAME(LANES);
    MASK numbers = (MASK)-1, others = (MASK)-1;
    bool ends = true;
    for (Index taken; rows > 0; rows -= taken, a += taken * stride) {
        taken = rows >= 4 ? 4 : 1;
        const S *a0 = a, *a1 = a + stride, *a2 = a1 + stride, *a3 = a2 + stride;
        for (Index i = 0; i < whole && taken == 4; i += NAME(LANES)) {
            const VECTOR x0 = OP(loadu)(a0 + i), x1 = OP(loadu)(a1 + i), x2 = OP(loadu)(a2 + i), x3 = OP(loadu)(a3 + i);
            numbers = NUMBERS(numbers, x0, x1);
            others = NUMBERS(others, x2, x3);
            OP(storeu)(d + i, HELD(OP(loadu)(d + i), HELD(HELD(x0, x1), HELD(x2, x3))));
        }
        for (Index k = 0; k < taken; k++)
            for (Index i = taken == 4 ? whole : 0; i < columns; i += NAME(LANES))
                ends &= NAME(numbers_of_lanes)(NAME(first_lanes)(columns - i), a + k * stride + i, d + i);
    }
    return ends & ((MASK)(numbers & others) == (MASK)-1);
}

/* Whether all were numbers; begun or not, the folds hold something afterwards. False, too, for other rows than those of
 * WIDE_ROW columns side by side, and distant ones. */
static bool NAME(numbers_alone)(Index rows, Index columns, Index stride, const S *a, S *d, bool begun) {
    const bool wide = columns == WIDE_ROW && stride == WIDE_ROW;
    if (!wide && stride * (Index)sizeof(S) < DISTANT) return false;
    if (!begun) memcpy(d, a, (size_t)columns * sizeof *d); /* the first row, which is then folded in a second time */
    if (!wide) return NAME(numbers_of_distant_rows)(rows, columns, stride, a, d);
    VECTOR held[NAME(VECTORS)];
    memcpy(held, d, sizeof held);
    const bool all = NAME(numbers_of_wide_rows)(rows, 0, a, held);
    memcpy(d, held, sizeof held);
    return all;
}
#undef OP
#undef VECTOR
#undef MASK
#undef NUMBERS
#undef HELD
