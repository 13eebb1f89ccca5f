/* FIND in one pass over a line (extremes_vectors.h): of four vectors each lane keeps its extreme, and in which step it was
 * met. WHICH is max or min, ABOVE the comparison that tells that one is before another, WORST what is before none. False
 * where there was NaN. */
static bool NAME(SIMD_JOIN(FIND, once))(Index length, const T *a, int64_t *place) {
    enum { LANES = 64 / sizeof(T), AT_ONCE = 4 * LANES };
    NAME(Elements) best[4];
    NAME(Mask) unordered = 0;
    __m512i met[4], step = _mm512_setzero_si512();
    for (int k = 0; k < 4; k++) {
        best[k] = NAME(load_part)(NAME(every)(WORST), NAME(first_lanes)(length - k * LANES), a + k * LANES);
        unordered |= NAME(unordered)(best[k], best[k]);
        met[k] = step;
    }
    Index first = AT_ONCE;
    for (; first + AT_ONCE <= length; first += AT_ONCE) {
        NAME(Elements) x[4];
        step = NAME(next)(step);
        for (int k = 0; k < 4; k++) x[k] = NAME(load)(a + first + k * LANES);
        unordered |= NAME(unordered)(x[0], x[1]) | NAME(unordered)(x[2], x[3]);
        for (int k = 0; k < 4; k++) {
            const NAME(Mask) is_before = NAME(ABOVE)(x[k], best[k]);
            best[k] = NAME(WHICH)(best[k], x[k]); /* which waits for no comparison */
            met[k] = NAME(chosen_steps)(met[k], is_before, step);
        }
    }
    step = NAME(next)(step);
    for (int k = 0; first < length; k++, first += LANES) {
        const NAME(Elements) x = NAME(load_part)(best[k], NAME(first_lanes)(length - first), a + first);
        const NAME(Mask) is_before = NAME(ABOVE)(x, best[k]);
        unordered |= NAME(unordered)(x, x);
        best[k] = NAME(chosen)(best[k], is_before, x);
        met[k] = NAME(chosen_steps)(met[k], is_before, step);
    }
    if (unordered) return false;
    const NAME(Elements) joined = NAME(WHICH)(NAME(WHICH)(best[0], best[1]), NAME(WHICH)(best[2], best[3]));
    const NAME(Elements) extreme = NAME(every)(NAME(SIMD_JOIN(WHICH, of_all))(joined));
    __m512i places = NAME(no_places)();
    for (int k = 0; k < 4; k++) /* without a branch: which vector has the extreme cannot be foreseen */
        places = NAME(nearer)(places, NAME(alike)(best[k], extreme), met[k], k);
    *place = NAME(nearest)(places);
    return true;
}
