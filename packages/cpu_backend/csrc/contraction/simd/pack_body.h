/* Packing of elements of type T into a panel (pack.h), by one of three loops: rows are copied where `across` walks
 * neighbours in memory, columns are transposed where `along` does. Where neither does, neighbours are read run by run
 * under masks with AVX-512, and one by one elsewhere, or where there are too many runs. VALUE(x) is what an element
 * becomes. */

enum { NAME(RUN) = 8 };
#define RUN NAME(RUN)

/* Neighbours of a step are neighbours in the operand, too. */
static void NAME(pack_rows)(T *restrict panel, const T *source, const Index *along, Index width, Index depth,
                            Index room) {
    for (Index k = 0; k < depth; k++, panel += room) {
        const T *row = source + along[k];
        Index i = 0;
        for (; i + RUN <= width; i += RUN) /* of a constant length: no call, and no loop */
            for (Index step = 0; step < RUN; step++) panel[i + step] = VALUE(row[i + step]);
        for (; i < width; i++) panel[i] = VALUE(row[i]);
    }
}

#if defined(GATHER)
/* Eight steps of eight neighbours, transposed in registers. */
static void NAME(transpose)(T *panel, const T *source, const Index *across, Index room) {
    __m512i x[8], pairs[8], fours[8];
    for (int i = 0; i < 8; i++) x[i] = _mm512_loadu_si512(source + across[i]);
    for (int i = 0; i < 8; i += 2) {
        pairs[i] = _mm512_unpacklo_epi64(x[i], x[i + 1]); /* steps 0, 2, 4, 6 of two neighbours */
        pairs[i + 1] = _mm512_unpackhi_epi64(x[i], x[i + 1]);
    }
    for (int i = 0; i < 8; i += 4)
        for (int odd = 0; odd < 2; odd++) {
            fours[i + odd] = _mm512_shuffle_i64x2(pairs[i + odd], pairs[i + 2 + odd], 0x88); /* 0, 4 */
            fours[i + 2 + odd] = _mm512_shuffle_i64x2(pairs[i + odd], pairs[i + 2 + odd], 0xdd);
        }
    for (int step = 0; step < 4; step++) { /* of a few neighbours, the first four and the last */
        _mm512_storeu_si512(panel + step * room, _mm512_shuffle_i64x2(fours[step], fours[4 + step], 0x88));
        _mm512_storeu_si512(panel + (step + 4) * room, _mm512_shuffle_i64x2(fours[step], fours[4 + step], 0xdd));
    }
}
#endif

/* Steps are neighbours in the operand: a transposition, a few steps at a time so that the panel's lines stay near. */
static void NAME(pack_columns)(T *restrict panel, const T *source, const Index *across, Index width, Index depth,
                               Index room) {
    enum { STEPS = 8 };
    Index k = 0;
    for (; k + STEPS <= depth; k += STEPS) {
        Index i = 0;
#if defined(GATHER)
        for (; i + STEPS <= width; i += STEPS) NAME(transpose)(panel + k * room + i, source + k, across + i, room);
#endif
        for (; i < width; i++) {
            const T *column = source + across[i] + k;
            for (Index step = 0; step < STEPS; step++) panel[(k + step) * room + i] = VALUE(column[step]);
        }
    }
    for (; k < depth; k++)
        for (Index i = 0; i < width; i++) panel[k * room + i] = VALUE(source[across[i] + k]);
}

#if defined(MASKED)
/* Where the neighbours of one vector lie: in a few runs, each under a mask of its lanes. */
enum { NAME(LANES) = 64 / sizeof(T), NAME(MOST_RUNS) = NAME(LANES) / 2 };
typedef struct {
    int count;
    MASK lanes[NAME(MOST_RUNS)];
    Index from[NAME(MOST_RUNS)]; /* where the first lane would be if the run began there */
} NAME(Runs);

static bool NAME(find_runs)(NAME(Runs) * runs, const Index *across, Index count) {
    runs->count = 0;
    for (Index i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && across[end] == across[end - 1] + 1;) end++;
        if (runs->count == NAME(MOST_RUNS)) return false;
        runs->lanes[runs->count] = (MASK)(((1u << end) - 1) & ~((1u << i) - 1));
        runs->from[runs->count++] = across[i] - i;
    }
    return true;
}

/* Reads so many runs, a constant where this is inlined, and writes the first lanes. */
INLINE void NAME(copy_runs)(T *panel, const T *source, const NAME(Runs) * runs, const Index *along, Index depth,
                            Index room, MASK written, const int count) {
    for (Index k = 0; k < depth; k++) {
        const T *step = source + along[k];
        __m512i found = _mm512_setzero_si512();
#pragma GCC unroll 4
        for (int run = 0; run < count; run++)
            found = MASKED(mask_loadu)(found, runs->lanes[run], step + runs->from[run]);
        MASKED(mask_storeu)(panel + k * room, written, found);
    }
}

/* Neither are: the neighbours of a vector are read run by run, or each by itself where there are too many runs. Places
 * without a neighbour become zero. */
static void NAME(pack_scattered)(T *panel, const T *source, const Index *across, const Index *along, Index width,
                                 Index depth, Index room) {
    for (Index i = 0; i < room; i += NAME(LANES)) {
        const Index count = width < i ? 0 : smaller(width - i, NAME(LANES)), places = smaller(room - i, NAME(LANES));
        const MASK written = (MASK)((1u << places) - 1);
        NAME(Runs) runs;
        if (NAME(find_runs)(&runs, across + i, count)) {
            if (runs.count == 1) NAME(copy_runs)(panel + i, source, &runs, along, depth, room, written, 1);
            else if (runs.count == 2) NAME(copy_runs)(panel + i, source, &runs, along, depth, room, written, 2);
            else if (runs.count == 3) NAME(copy_runs)(panel + i, source, &runs, along, depth, room, written, 3);
            else NAME(copy_runs)(panel + i, source, &runs, along, depth, room, written, runs.count);
            continue;
        }
#if defined(GATHER)
        const MASK some = (MASK)((1u << count) - 1);
        const __m512i offsets = _mm512_maskz_loadu_epi64(some, across + i);
        for (Index k = 0; k < depth; k++) {
            const __m512i found =
                _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), some, offsets, source + along[k], sizeof(T));
            MASKED(mask_storeu)(panel + k * room + i, written, found);
        }
#else
        for (Index k = 0; k < depth; k++)
            for (Index place = 0; place < places; place++)
                panel[k * room + i + place] = place < count ? source[across[i + place] + along[k]] : 0;
#endif
    }
}
#endif

static void NAME(pack)(void *panel, const void *source, const Index *across, const Index *along, Index width,
                       Index depth, Index room) {
    T *target = panel;
    const T *from = source;
    if (offsets_are_consecutive(across, width)) {
        NAME(pack_rows)(target, from + across[0], along, width, depth, room);
    } else if (offsets_are_consecutive(along, depth)) {
        NAME(pack_columns)(target, from + along[0], across, width, depth, room);
#if defined(MASKED)
    } else {
        NAME(pack_scattered)(target, from, across, along, width, depth, room);
        return;
    }
#else
    } else {
        for (Index k = 0; k < depth; k++)
            for (Index i = 0; i < width; i++) target[k * room + i] = VALUE(from[across[i] + along[k]]);
    }
#endif
    static const T zero;
    for (Index k = 0; width < room && k < depth; k++)
        for (Index i = width; i < room; i++) target[k * room + i] = zero;
}
#undef RUN
