/* Folds by PLUS (by JOINED of vectors), in double, of VALUE(x, c) over elements x of type S, where c is the centre of
 * the column if it is CENTRED; see ../reduce.h. */
#if defined(CENTRED)
#define CENTRE(i) c[i]
#else
#define CENTRE(i) 0
#endif

/* Rows of WIDE_ROW columns, one behind the other; the folds stay in registers. */
static void NAME(wide_rows)(Index rows, const S *a, const double *c, double *folds, bool begun) {
    Doubles held[VECTORS], centre[VECTORS] = {{0}};
    memset(held, 0, sizeof held);
    if (begun) memcpy(held, folds, sizeof held);
#if defined(CENTRED)
    memcpy(centre, c, sizeof centre);
#else
    (void)c;
#endif
    for (Index row = 0; row < rows; row++)
        for (int k = 0; k < VECTORS; k++) {
            LANES x;
            memcpy(&x, a + row * WIDE_ROW + k * LANE_COUNT, sizeof x);
            held[k] = JOINED(held[k], VALUES(WIDENED(x), centre[k]));
        }
    memcpy(folds, held, sizeof held);
}

static void NAME(rows)(Index rows, Index columns, Index row_stride, const void *source, const double *c, void *folds,
                       bool begun) {
    double *restrict d = folds;
    const S *a = source;
    (void)c;
    if (columns == WIDE_ROW && row_stride == WIDE_ROW) {
        NAME(wide_rows)(rows, a, c, d, begun);
        return;
    }
    if (!begun) memset(d, 0, (size_t)columns * sizeof *d);
    Index row = 0, last = row_stride * (Index)sizeof(S) >= DISTANT ? rows - 4 : -1; /* as in reduce_body.h */
    for (; row <= last; row += 4) {
        const S *a0 = a + row * row_stride, *a1 = a0 + row_stride, *a2 = a1 + row_stride, *a3 = a2 + row_stride;
        INDEPENDENT
        for (Index i = 0; i < columns; i++)
            d[i] = PLUS(d[i], PLUS(PLUS(VALUE(a0[i], CENTRE(i)), VALUE(a1[i], CENTRE(i))),
                                   PLUS(VALUE(a2[i], CENTRE(i)), VALUE(a3[i], CENTRE(i)))));
    }
    for (; row < rows; row++) {
        const S *a0 = a + row * row_stride;
        INDEPENDENT
        for (Index i = 0; i < columns; i++) d[i] = PLUS(d[i], VALUE(a0[i], CENTRE(i)));
    }
}

static void NAME(line)(Index count, const void *source, const double *c, void *fold) {
    const S *a = source;
    Doubles held[VECTORS], centre = (Doubles){0} + CENTRE(0);
    (void)c;
    memset(held, 0, sizeof held);
    Index i = 0;
#if defined(__AVX512F__) /* the same columns */
    Eight all[VECTORS / 2], middle = (Eight){0} + CENTRE(0);
    memset(all, 0, sizeof all);
    for (; i + WIDE_ROW <= count; i += WIDE_ROW) {
        fetch_ahead(a + i, WIDE_ROW * sizeof(S));
        for (int k = 0; k < VECTORS / 2; k++) {
            const Eight x = EIGHT(a + i + 8 * k);
            all[k] = SIMD_JOIN(JOINED, eight)(all[k], SIMD_JOIN(VALUES, eight)(x, middle));
        }
    }
    memcpy(held, all, sizeof held);
#else
    for (; i + WIDE_ROW <= count; i += WIDE_ROW) {
        fetch_ahead(a + i, WIDE_ROW * sizeof(S));
        for (int k = 0; k < VECTORS; k++) {
            LANES x;
            memcpy(&x, a + i + k * LANE_COUNT, sizeof x);
            held[k] = JOINED(held[k], VALUES(WIDENED(x), centre));
        }
    }
#endif
    HALVED(VECTORS, held[k] = JOINED(held[k], held[k + half]))
    for (; i + LANE_COUNT <= count; i += LANE_COUNT) {
        LANES x;
        memcpy(&x, a + i, sizeof x);
        held[0] = JOINED(held[0], VALUES(WIDENED(x), centre));
    }
    double sum = PLUS(PLUS(held[0][0], held[0][2]), PLUS(held[0][1], held[0][3]));
    for (; i < count; i++) sum = PLUS(sum, VALUE(a[i], CENTRE(0)));
    memcpy(fold, &sum, sizeof sum);
}
#undef CENTRE
#undef FOLD
#undef VALUE
#undef VALUES
