/* Vectors of AVX-512 as extremes are looked for in them (extremes_once.h), by the suffixes of types. Steps are numbered in
 * integers of the size of an element. */
#include <immintrin.h>

#define VECTORS(suffix, T, V, M, of, ints, COUNT)                                                                      \
    typedef V Elements_##suffix;                                                                                       \
    typedef M Mask_##suffix;                                                                                           \
    static inline V every_##suffix(T x) { return _mm512_set1_##of(x); }                                                \
    static inline V load_##suffix(const T *a) { return _mm512_loadu_##of(a); }                                         \
    static inline V load_part_##suffix(V x, M there, const T *a) { return _mm512_mask_loadu_##of(x, there, a); }       \
    static inline V chosen_##suffix(V x, M second, V y) { return _mm512_mask_mov_##of(x, second, y); }                 \
    static inline V max_##suffix(V x, V y) { return _mm512_max_##of(x, y); }                                           \
    static inline V min_##suffix(V x, V y) { return _mm512_min_##of(x, y); }                                           \
    static inline T max_of_all_##suffix(V x) { return _mm512_reduce_max_##of(x); }                                     \
    static inline T min_of_all_##suffix(V x) { return _mm512_reduce_min_##of(x); }                                     \
    static inline M first_lanes_##suffix(Index count) {                                                                \
        return (M)(count >= COUNT ? ~(uint32_t)0 : count > 0 ? ((uint32_t)1 << count) - 1 : 0);                        \
    }                                                                                                                  \
    static inline __m512i next_##suffix(__m512i step) { return _mm512_add_##ints(step, _mm512_set1_##ints(1)); }       \
    static inline __m512i chosen_steps_##suffix(__m512i x, M second, __m512i y) {                                      \
        return _mm512_mask_mov_##ints(x, second, y);                                                                   \
    }                                                                                                                  \
    static inline __m512i no_places_##suffix(void) { return _mm512_set1_##ints(INT32_MAX); }                           \
    static inline __m512i nearer_##suffix(__m512i places, M here, __m512i step, int vector) {                          \
        __m512i place = _mm512_add_##ints(_mm512_slli_##ints(step, 2), _mm512_set1_##ints(vector));                    \
        place = _mm512_add_##ints(_mm512_slli_##ints(place, COUNT == 8 ? 3 : 4), LANES_##ints);                        \
        return _mm512_mask_min_##ints(places, here, places, place);                                                    \
    }                                                                                                                  \
    static inline int64_t nearest_##suffix(__m512i places) { return _mm512_reduce_min_##ints(places); }
#define LANES_epi64 _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0)
#define LANES_epi32 _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
VECTORS(f32, float, __m512, __mmask16, ps, epi32, 16)
VECTORS(f64, double, __m512d, __mmask8, pd, epi64, 8)
VECTORS(i32, int32_t, __m512i, __mmask16, epi32, epi32, 16)
VECTORS(i64, int64_t, __m512i, __mmask8, epi64, epi64, 8)
#undef VECTORS
#undef LANES_epi64
#undef LANES_epi32

#define COMPARED(suffix, V, M, above, below, alike, unordered)                                                         \
    static inline M above_##suffix(V x, V y) { return above; }                                                         \
    static inline M below_##suffix(V x, V y) { return below; }                                                         \
    static inline M alike_##suffix(V x, V y) { return alike; }                                                         \
    static inline M unordered_##suffix(V x, V y) { return unordered; }
#define FLOATS(of, M, suffix, V)                                                                                       \
    COMPARED(suffix, V, M, _mm512_cmp_##of##_mask(x, y, _CMP_GT_OQ), _mm512_cmp_##of##_mask(x, y, _CMP_LT_OQ),         \
             _mm512_cmp_##of##_mask(x, y, _CMP_EQ_OQ), _mm512_cmp_##of##_mask(x, y, _CMP_UNORD_Q))
#define INTEGERS(of, M, suffix)                                                                                        \
    COMPARED(suffix, __m512i, M, _mm512_cmpgt_##of##_mask(x, y), _mm512_cmplt_##of##_mask(x, y),                       \
             _mm512_cmpeq_##of##_mask(x, y), ((void)x, (void)y, (M)0))
FLOATS(ps, __mmask16, f32, __m512)
FLOATS(pd, __mmask8, f64, __m512d)
INTEGERS(epi32, __mmask16, i32)
INTEGERS(epi64, __mmask8, i64)
#undef COMPARED
#undef FLOATS
#undef INTEGERS
