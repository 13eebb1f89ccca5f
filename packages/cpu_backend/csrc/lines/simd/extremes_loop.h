/* FIND: the places of the EXTREME of lines, where BEFORE(x, y) says that x is the place rather than y. */

#if defined(__AVX512F__)
#include "lines/simd/extremes_once.h"
#endif

/* A long line by pieces: the extreme of each, and then the place in the first piece that has the extreme of all. */
static Index NAME(SIMD_JOIN(FIND, piecewise))(Index length, const T *a) {
    const FoldLoops *loops = &SIMD_NAME(reduce_kernels).loops[EXTREME][TYPE];
    T best = a[0];
    Index piece = 0;
    for (Index first = 0; first < length; first += MOST_IN_LINE) {
        T found;
        loops->line(smaller(length - first, MOST_IN_LINE), a + first, &found);
        if (BEFORE(found, best) || IS_NAN(found)) best = found, piece = first;
        if (IS_NAN(found)) break;
    }
    const Index end = smaller(length, piece + MOST_IN_LINE);
    Index place = piece;
    if (IS_NAN(best))
        while (place < end && !IS_NAN(a[place])) place++;
    else {
        for (; place + 32 <= end; place += 32) { /* vectors, until one has it */
            int found = 0;
            for (Index k = 0; k < 32; k++) found |= a[place + k] == best;
            if (found) break;
        }
        while (place < end && !(a[place] == best)) place++;
    }
    return place;
}

static void NAME(SIMD_JOIN(FIND, across))(Index length, Index columns, Index stride, const void *source, void *result,
                                          void *scratch) {
    const T *a = source;
    int64_t *restrict d = result;
    T *restrict best = scratch;
    for (Index i = 0; i < columns; i++) best[i] = a[i], d[i] = 0;
    for (Index k = 1; k < length; k++) {
        const T *row = a + k * stride;
        INDEPENDENT
        for (Index i = 0; i < columns; i++) {
            const T x = row[i], y = best[i];
            const bool is_before = BEFORE(x, y) | (IS_NAN(x) & !IS_NAN(y));
            best[i] = is_before ? x : y;
            d[i] = is_before ? k : d[i];
        }
    }
}

static void NAME(SIMD_JOIN(FIND, along))(Index lines, Index length, const void *source, void *result, void *scratch) {
    const T *a = source;
    int64_t *d = result;
    T *tile = (T *)scratch + 2 * MOST_LINE_COLUMNS;
    if (length > SHORT_LINE) {
        for (Index line = 0; line < lines; line++) {
#if defined(__AVX512F__)
            if (length <= FOUND_AT_ONCE && NAME(SIMD_JOIN(FIND, once))(length, a + line * length, d + line)) continue;
#endif
            d[line] = NAME(SIMD_JOIN(FIND, piecewise))(length, a + line * length);
        }
        return;
    }
    for (Index line = 0, count; line < lines; line += count) {
        count = smaller(lines - line, LINES_AT_ONCE);
        NAME(turn)(lines - line, length, a + line * length, tile);
        NAME(SIMD_JOIN(FIND, across))(length, count, LINES_AT_ONCE, tile, d + line, scratch);
    }
}

static void NAME(SIMD_JOIN(FIND, pieces))(Index begin, Index end, Index length, const void *source, void *extremes) {
    const FoldLoops *loops = &SIMD_NAME(reduce_kernels).loops[EXTREME][TYPE];
    const T *a = source;
    for (Index piece = begin; piece < end; piece++) {
        const Index first = piece * MOST_IN_LINE;
        loops->line(smaller(length - first, MOST_IN_LINE), a + first, (T *)extremes + piece);
    }
}

static Index NAME(SIMD_JOIN(FIND, place))(Index length, const void *source, const void *extremes, int rank,
                                          const Index *extents) {
    const T *a = source, *of_pieces = extremes;
    const Index count = pieces(length, MOST_IN_LINE);
    T best = of_pieces[0];
    for (Index piece = 1; piece < count; piece++) {
        const T x = of_pieces[piece];
        if (BEFORE(x, best) || (IS_NAN(x) && !IS_NAN(best))) best = x;
    }
    /* The last axis of the array is the fastest in memory, and the one that decides: of each of its lines, what is behind
     * the nearest place that was found does not count. */
    const Index line = rank > 0 ? extents[rank - 1] : 1;
    Index place = INT64_MAX, nearest = line - 1;
    for (Index first = 0, piece = 0; first < length; first += line) {
        for (Index i = first, end; i <= first + nearest; i = end) {
            for (; (piece + 1) * MOST_IN_LINE <= i;) piece++;
            end = smaller(first + nearest + 1, (piece + 1) * MOST_IN_LINE);
            if (!(of_pieces[piece] == best) && !(IS_NAN(of_pieces[piece]) && IS_NAN(best))) continue;
            for (; i + 16 <= end; i += 16) {
                int here = 0;
                for (Index k = 0; k < 16; k++) here |= (a[i + k] == best) | (IS_NAN(a[i + k]) & IS_NAN(best));
                if (here) break;
            }
            while (i < end && !(a[i] == best) && !(IS_NAN(a[i]) && IS_NAN(best))) i++;
            if (i == end) continue;
            Index left = i, found = 0;
            for (int axis = rank - 1; axis >= 0; axis--) {
                found = found * extents[axis] + left % extents[axis];
                left /= extents[axis];
            }
            place = smaller(place, found);
            nearest = i - first;
            break;
        }
    }
    return place;
}
#undef FIND
#undef WHICH
#undef ABOVE
#undef WORST
#undef EXTREME
#undef BEFORE
