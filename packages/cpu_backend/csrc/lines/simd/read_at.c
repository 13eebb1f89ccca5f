/* Reads elements at numbers; see ../read_at.h. Of 4 and of 8 bytes, eight at once with AVX-512. */
#include "lines/read_at.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#define READ_AT(name, T)                                                                                               \
    static inline bool name(Index count, const int64_t *numbers, Index wraps, Index last, Index stride, Index step,    \
                            const void *elements, void *result) {                                                      \
        const T *x = elements;                                                                                         \
        T *y = result;                                                                                                 \
        Index outside = 0;                                                                                             \
        for (Index i = 0; i < count; i++) {                                                                            \
            const Index from = numbers[i] + (wraps & numbers[i] >> 63);                                                \
            const bool beyond = (uint64_t)from > (uint64_t)last;                                                       \
            outside |= beyond;                                                                                         \
            y[i] = x[(beyond ? 0 : from) * stride + i * step];                                                         \
        }                                                                                                              \
        return outside == 0;                                                                                           \
    }
READ_AT(read_1, uint8_t)
READ_AT(read_4, uint32_t)
READ_AT(read_8, uint64_t)
READ_AT(read_16, Pair)

#define READ_PAIRS(name, T)                                                                                            \
    static inline bool name(Index count, const int64_t *const *numbers, const Index *extents, const Index *strides,    \
                            const void *elements, void *result) {                                                      \
        const int64_t *first = numbers[0], *second = numbers[1];                                                       \
        const T *x = elements;                                                                                         \
        T *y = result;                                                                                                 \
        bool outside = false;                                                                                          \
        for (Index i = 0; i < count; i++) {                                                                            \
            const Index j = first[i] + (extents[0] & first[i] >> 63), k = second[i] + (extents[1] & second[i] >> 63);  \
            const bool beyond = ((uint64_t)j >= (uint64_t)extents[0]) | ((uint64_t)k >= (uint64_t)extents[1]);         \
            outside |= beyond;                                                                                         \
            y[i] = x[beyond ? 0 : j * strides[0] + k * strides[1]];                                                    \
        }                                                                                                              \
        return !outside;                                                                                               \
    }
READ_PAIRS(pairs_1, uint8_t)
READ_PAIRS(pairs_4, uint32_t)
READ_PAIRS(pairs_8, uint64_t)
READ_PAIRS(pairs_16, Pair)

#if defined(__AVX512F__)
/* Of one axis, what the numbers of eight elements add to their places; lanes outside are noted. */
static inline __m512i places_along(const int64_t *numbers, Index extent, Index stride, __mmask8 *beyond) {
    const __m512i all = _mm512_set1_epi64(extent), given = _mm512_loadu_si512(numbers);
    const __m512i from = _mm512_mask_add_epi64(given, _mm512_movepi64_mask(given), given, all);
    *beyond |= _mm512_cmpge_epu64_mask(from, all);
    return stride == 1 ? from : _mm512_mullo_epi64(from, _mm512_set1_epi64(stride));
}

#define GATHER_PAIRS(name, T, gather, store)                                                                           \
    static bool name(Index count, const int64_t *const *numbers, const Index *extents, const Index *strides,           \
                     const void *elements, void *result) {                                                             \
        const int64_t *first = numbers[0], *second = numbers[1];                                                       \
        T *y = result;                                                                                                 \
        unsigned outside = 0;                                                                                          \
        Index i = 0;                                                                                                   \
        for (; i + 8 <= count; i += 8) {                                                                               \
            __mmask8 beyond = 0;                                                                                       \
            const __m512i j = places_along(first + i, extents[0], strides[0], &beyond);                                \
            const __m512i k = places_along(second + i, extents[1], strides[1], &beyond);                               \
            outside |= beyond;                                                                                         \
            const __m512i from = _mm512_maskz_add_epi64((__mmask8)~beyond, j, k);                                      \
            store(y + i, gather(from, elements, sizeof(T)));                                                           \
        }                                                                                                              \
        const int64_t *const left[] = {first + i, second + i};                                                         \
        return (outside == 0) & pairs_##T(count - i, left, extents, strides, elements, y + i);                         \
    }
#define pairs_uint32_t pairs_4
#define pairs_uint64_t pairs_8

#define GATHER(name, T, gather, store)                                                                                 \
    static bool name(Index count, const int64_t *numbers, Index wraps, Index last, Index stride, Index step,           \
                     const void *elements, void *result) {                                                             \
        const T *x = elements;                                                                                         \
        T *y = result;                                                                                                 \
        const __m512i added = _mm512_set1_epi64(wraps), most = _mm512_set1_epi64(last), zero = _mm512_setzero_si512(); \
        const __m512i strides = _mm512_set1_epi64(stride);                                                             \
        const __m512i steps = _mm512_mullo_epi64(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0), _mm512_set1_epi64(step));   \
        unsigned outside = 0;                                                                                          \
        Index i = 0;                                                                                                   \
        for (; i + 8 <= count; i += 8) {                                                                               \
            __m512i from = _mm512_loadu_si512(numbers + i);                                                            \
            from = _mm512_add_epi64(from, _mm512_and_si512(added, _mm512_srai_epi64(from, 63)));                       \
            const __mmask8 beyond = _mm512_cmpgt_epu64_mask(from, most);                                               \
            outside |= beyond;                                                                                         \
            from = _mm512_mask_mov_epi64(from, beyond, zero);                                                          \
            if (stride != 1) from = _mm512_mullo_epi64(from, strides);                                                 \
            store(y + i, gather(_mm512_add_epi64(from, steps), x + i * step, sizeof(T)));                              \
        }                                                                                                              \
        return (outside == 0) &                                                                                        \
               (i == count || read_##T(count - i, numbers + i, wraps, last, stride, step, x + i * step, y + i));       \
    }
#define read_uint32_t read_4
#define read_uint64_t read_8
#define STORE_4(to, from) _mm256_storeu_si256((__m256i *)(void *)(to), from)
#define STORE_8(to, from) _mm512_storeu_si512(to, from)
GATHER(gathered_4, uint32_t, _mm512_i64gather_epi32, STORE_4)
GATHER(gathered_8, uint64_t, _mm512_i64gather_epi64, STORE_8)
GATHER_PAIRS(gathered_pairs_4, uint32_t, _mm512_i64gather_epi32, STORE_4)
GATHER_PAIRS(gathered_pairs_8, uint64_t, _mm512_i64gather_epi64, STORE_8)
#else
#define gathered_pairs_4 pairs_4
#define gathered_pairs_8 pairs_8
#define gathered_4 read_4
#define gathered_8 read_8
#endif

const ReadKernels SIMD_NAME(read_kernels) = {{read_1, NULL, gathered_4, gathered_8, read_16},
                                             {pairs_1, NULL, gathered_pairs_4, gathered_pairs_8, pairs_16}};
