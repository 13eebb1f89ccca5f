/* Selects elements by a line of Bool; see ../masks.h. Of 4 and of 8 bytes, a vector at once with AVX-512. */
#include "lines/masks.h"

#include "lines/read_at.h"

#include <string.h>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

enum { WORD = 8 };

/* In runs whose count fits a byte, so that vectors of bytes add up. */
static Index count_true(Index length, const uint8_t *mask) {
    Index count = 0;
    for (Index begin = 0; begin < length; begin += 128) {
        const Index end = smaller(length, begin + 128);
        uint8_t some = 0;
        for (Index i = begin; i < end; i++) some = (uint8_t)(some + (mask[i] != 0));
        count += some;
    }
    return count;
}

#define SELECT(name, T)                                                                                                \
    static inline void name(Index length, const uint8_t *mask, const void *elements, Index found, void *result) {      \
        const T *x = elements;                                                                                         \
        T *y = result;                                                                                                 \
        Index to = 0, i = 0;                                                                                           \
        for (; i + WORD <= length && to + WORD <= found; i += WORD) {                                                  \
            uint64_t word;                                                                                             \
            memcpy(&word, mask + i, sizeof word);                                                                      \
            if (word == 0) continue;                                                                                   \
            for (int k = 0; k < WORD; k++) {                                                                           \
                y[to] = x[i + k];                                                                                      \
                to += mask[i + k] != 0;                                                                                \
            }                                                                                                          \
        }                                                                                                              \
        for (; to < found && i < length; i++)                                                                          \
            if (mask[i] != 0) y[to++] = x[i];                                                                          \
    }
SELECT(select_1, uint8_t)
SELECT(select_4, uint32_t)
SELECT(select_8, uint64_t)
SELECT(select_16, Pair)

#if defined(__AVX512F__)
#define PACKED(name, T, suffix, Mask)                                                                                  \
    static void name(Index length, const uint8_t *mask, const void *elements, Index found, void *result) {             \
        enum { LANES = 64 / sizeof(T) };                                                                               \
        const T *x = elements;                                                                                         \
        T *y = result;                                                                                                 \
        Index to = 0, i = 0;                                                                                           \
        for (; i + 64 <= length && to + 64 <= found; i += 64) {                                                        \
            const __m512i truth = _mm512_loadu_si512(mask + i);                                                        \
            uint64_t bits = _mm512_test_epi8_mask(truth, truth);                                                       \
            for (int k = 0; k < 64; k += LANES, bits >>= LANES) {                                                      \
                const unsigned here = (unsigned)(bits & ((1u << LANES) - 1));                                          \
                _mm512_storeu_si512(y + to,                                                                            \
                                    _mm512_maskz_compress_##suffix((Mask)here, _mm512_loadu_si512(x + i + k)));        \
                to += __builtin_popcount(here);                                                                        \
            }                                                                                                          \
        }                                                                                                              \
        select_##suffix(length - i, mask + i, x + i, found - to, y + to);                                              \
    }
#define select_epi32 select_4
#define select_epi64 select_8
PACKED(packed_4, uint32_t, epi32, __mmask16)
PACKED(packed_8, uint64_t, epi64, __mmask8)
#else
#define packed_4 select_4
#define packed_8 select_8
#endif

const MaskKernels SIMD_NAME(mask_kernels) = {count_true, {select_1, NULL, packed_4, packed_8, select_16}};
