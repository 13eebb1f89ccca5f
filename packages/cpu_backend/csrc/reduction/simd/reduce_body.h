/* Folds of rows of elements of type S into folds of type A; JOIN is the fold of two, x and y, of type WRAPPING.
 * See ../reduce.h. */

static inline A NAME(joined)(A first, A second) {
    WRAPPING x = (WRAPPING)first, y = (WRAPPING)second;
    return (A)(JOIN);
}

static void NAME(join)(Index columns, void *folds, const void *other) {
    A *d = folds;
    const A *a = other;
    INDEPENDENT
    for (Index i = 0; i < columns; i++) d[i] = NAME(joined)(d[i], a[i]);
}

/* Folds parts that lie side by side, of so many columns each, into the first of them, half of them at a time. */
static void NAME(parts)(Index count, Index columns, void *folds) {
    while (count > 1) {
        Index half = count / 2, kept = count - half;
        NAME(join)(half * columns, folds, (A *)folds + kept * columns);
        count = kept;
    }
}

#if defined(EXTREME) && defined(LETTERS) && defined(__AVX512F__)
#define OVERLOOKS_NAN
#include "reduction/simd/reduce_extremes.h"
#endif

#if defined(LANES) /* a vector of A, which is S; JOIN works on vectors too */
/* One that lies anywhere; GCC would copy it to the stack by halves, for which a load of all of it waits. */
typedef LANES NAME(Anywhere) __attribute__((aligned(1), may_alias));

/* Rows of WIDE_ROW columns, one behind the other; the folds stay in registers. */
static void NAME(wide_rows)(Index rows, const S *a, A *folds, bool begun) {
    enum { VECTORS = WIDE_ROW * sizeof(A) / sizeof(LANES) };
    LANES held[VECTORS];
    memcpy(held, begun ? folds : a, sizeof held);
    for (Index row = begun ? 0 : 1; row < rows; row++)
        for (int k = 0; k < VECTORS; k++) {
            LANES x = held[k], y = *(const NAME(Anywhere) *)(a + row * WIDE_ROW + k * (WIDE_ROW / VECTORS));
            held[k] = JOIN;
        }
    memcpy(folds, held, sizeof held);
}

/* A vector of elements that are so many apart. */
static inline __attribute__((always_inline)) LANES NAME(lanes_at)(const S *a, Index step) {
    enum { LANE_COUNT = sizeof(LANES) / sizeof(A) };
    if (step == 1) return *(const NAME(Anywhere) *)a;
    LANES read;
    A lanes[LANE_COUNT];
    for (int k = 0; k < LANE_COUNT; k++) lanes[k] = a[k * step];
    memcpy(&read, lanes, sizeof read);
    return read;
}

static inline __attribute__((always_inline)) void NAME(line_of)(Index count, const S *a, Index step, void *fold) {
    enum { LANE_COUNT = sizeof(LANES) / sizeof(A), VECTORS = WIDE_ROW / LANE_COUNT };
    if (count < WIDE_ROW) {
        A total = VALUE(a[0]);
        for (Index i = 1; i < count; i++) total = NAME(joined)(total, a[i * step]);
        memcpy(fold, &total, sizeof total);
        return;
    }
    LANES held[VECTORS];
#pragma GCC unroll 8 /* or GCC makes one copy of them all, to the stack */
    for (int k = 0; k < VECTORS; k++) held[k] = NAME(lanes_at)(a + k * LANE_COUNT * step, step);
    Index i = WIDE_ROW;
    for (; i + WIDE_ROW <= count; i += WIDE_ROW) {
        fetch_ahead(a + i * step, WIDE_ROW * step * (Index)sizeof(S));
        for (int k = 0; k < VECTORS; k++) {
            LANES x = held[k], y = NAME(lanes_at)(a + (i + k * LANE_COUNT) * step, step);
            held[k] = JOIN;
        }
    }
    HALVED(VECTORS, LANES x = held[k], y = held[k + half]; held[k] = JOIN)
    for (; i + LANE_COUNT <= count; i += LANE_COUNT) {
        LANES x = held[0], y = NAME(lanes_at)(a + i * step, step);
        held[0] = JOIN;
    }
    A lanes[LANE_COUNT];
    memcpy(lanes, held, sizeof lanes);
    HALVED(LANE_COUNT, lanes[k] = NAME(joined)(lanes[k], lanes[k + half]))
    for (; i < count; i++) lanes[0] = NAME(joined)(lanes[0], a[i * step]);
    memcpy(fold, lanes, sizeof(A));
}

static void NAME(line)(Index count, const void *source, void *fold) { NAME(line_of)(count, source, 1, fold); }

static void NAME(line_apart)(Index count, const void *source, Index step, void *fold) {
    if (step == 2) NAME(line_of)(count, source, 2, fold);
    else NAME(line_of)(count, source, step, fold);
}
#elif !defined(OWN_LINES)
static void NAME(line)(Index count, const void *source, void *fold) {
    const S *a = source;
#if defined(OVERLOOKS_NAN)
    if (count >= WIDE_ROW && NAME(numbers_of_line)(count, a, fold)) return;
#endif
    A held[WIDE_ROW];
    Index width = count < WIDE_ROW ? count : WIDE_ROW, i = width;
    for (Index k = 0; k < width; k++) held[k] = VALUE(a[k]);
    for (; i + WIDE_ROW <= count; i += WIDE_ROW) {
        fetch_ahead(a + i, WIDE_ROW * sizeof(S));
        INDEPENDENT
        for (Index k = 0; k < WIDE_ROW; k++) held[k] = NAME(joined)(held[k], VALUE(a[i + k]));
    }
    for (Index k = 0; i < count; k++, i++) held[k] = NAME(joined)(held[k], VALUE(a[i]));
    if (width == WIDE_ROW) {
        HALVED(WIDE_ROW, held[k] = NAME(joined)(held[k], held[k + half]))
    } else {
        NAME(parts)(width, 1, held);
    }
    memcpy(fold, held, sizeof(A));
}
#endif

#if defined(OF_VECTORS) /* elements of which no compiler makes wider vectors */
/* So many rows, one after the other. */
static inline __attribute__((always_inline)) void NAME(few_rows)(const int rows, Index columns, Index row_stride,
                                                                 const S *a, A *d) {
    enum { LANE_COUNT = sizeof(LANES) / sizeof(A) };
    Index i = 0;
    for (; i + LANE_COUNT <= columns; i += LANE_COUNT) {
        LANES x, y;
        memcpy(&x, d + i, sizeof x);
        for (int row = 0; row < rows; row++) {
            memcpy(&y, a + row * row_stride + i, sizeof y);
            x = JOIN;
        }
        memcpy(d + i, &x, sizeof x);
    }
    for (; i < columns; i++)
        for (int row = 0; row < rows; row++) d[i] = NAME(joined)(d[i], a[row * row_stride + i]);
}
#endif

static void NAME(rows)(Index rows, Index columns, Index row_stride, const void *source, void *folds, bool begun) {
    A *d = folds;
    const S *a = source;
#if defined(OVERLOOKS_NAN)
    if (NAME(numbers_alone)(rows, columns, row_stride, a, d, begun)) return;
#endif
#if defined(LANES)
    if (columns == WIDE_ROW && row_stride == WIDE_ROW) {
        NAME(wide_rows)(rows, a, d, begun);
        return;
    }
#endif
    Index row = 0;
    if (!begun)
        for (Index i = row++; i < columns; i++) d[i] = VALUE(a[i]);
#if defined(OF_VECTORS)
    for (; row + 4 <= rows; row += 4) NAME(few_rows)(4, columns, row_stride, a + row * row_stride, d);
    for (; row < rows; row++) NAME(few_rows)(1, columns, row_stride, a + row * row_stride, d);
#endif
    /* Four distant rows at once, so that the folds are read and written less often; near ones in the order of memory,
     * which is what processors fetch ahead. */
    Index last = row_stride * (Index)sizeof(S) >= DISTANT ? rows - 4 : -1;
    for (; row <= last; row += 4) {
        const S *a0 = a + row * row_stride, *a1 = a0 + row_stride, *a2 = a1 + row_stride, *a3 = a2 + row_stride;
        INDEPENDENT
        for (Index i = 0; i < columns; i++) {
            A four = NAME(joined)(NAME(joined)(VALUE(a0[i]), VALUE(a1[i])), NAME(joined)(VALUE(a2[i]), VALUE(a3[i])));
            d[i] = NAME(joined)(d[i], four);
        }
    }
    /* Long ones, too, but one after the other: the same folds, read and written less often. */
    for (last = columns * (Index)sizeof(S) >= LONG_ROW ? rows - 4 : -1; row <= last; row += 4) {
        const S *a0 = a + row * row_stride, *a1 = a0 + row_stride, *a2 = a1 + row_stride, *a3 = a2 + row_stride;
        INDEPENDENT
        for (Index i = 0; i < columns; i++) {
            const A two = NAME(joined)(NAME(joined)(d[i], VALUE(a0[i])), VALUE(a1[i]));
            d[i] = NAME(joined)(NAME(joined)(two, VALUE(a2[i])), VALUE(a3[i]));
        }
    }
    for (; row < rows; row++) {
        const S *a0 = a + row * row_stride;
        INDEPENDENT
        for (Index i = 0; i < columns; i++) d[i] = NAME(joined)(d[i], VALUE(a0[i]));
    }
}
#undef JOIN
#undef FOLD
#undef EXTREME
#undef OVERLOOKS_NAN
