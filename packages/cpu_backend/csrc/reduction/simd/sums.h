/* Vectors of every element type, and sums of products in them: what the inner loops of contractions are made of.
 *
 * For each type (suffix _f32 ... _bool) there are a Vector of LANES elements; load and store, and load_part and
 * store_part for fewer elements; and a Sum, which starts empty and takes products of a vector with one element or of
 * two vectors. Integers wrap; of Bool a product is an and, a sum an or. Floating-point products are fused with the
 * addition where the processor can. An empty sum is -0.0, to which adding a product changes nothing, not even its sign.
 *
 * A complex vector has real and imaginary parts in turn. Its sum keeps the products with the real and with the
 * imaginary part of the other factor apart, so that the loop holds nothing but fused multiply-adds, and crosses them
 * once at the end, as complex matrix products do in F. G. Van Zee and T. M. Smith, "Implementing high-performance
 * complex matrix multiplication via the 3m and 4m methods", ACM Trans. Math. Softw. 44 (2017), section 2.
 */
#ifndef TENSOR_CPU_SUMS_H
#define TENSOR_CPU_SUMS_H

#include "core/common.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
enum { VECTOR_BYTES = 64 };
#elif defined(__AVX2__)
enum { VECTOR_BYTES = 32 };
#else
enum { VECTOR_BYTES = 16 };
#endif

typedef uint32_t Words __attribute__((vector_size(VECTOR_BYTES)));

/* A vector of the first `bytes` at an address, fewer than VECTOR_BYTES, and zeros: nothing behind them is read. For all
 * types but Bool they are a multiple of 4. store_bytes() is its counterpart, and writes nothing behind them. */
INLINE Words load_bytes(const void *source, Index bytes) {
#if defined(__AVX512BW__)
    if (bytes % 4) return (Words)_mm512_maskz_loadu_epi8(((__mmask64)1 << bytes) - 1, source);
    return (Words)_mm512_maskz_loadu_epi32((__mmask16)((1u << (bytes / 4)) - 1), source);
#elif defined(__AVX2__)
    if (bytes % 4 == 0) {
        const __m256i places = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        return (Words)_mm256_maskload_epi32(source, _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(bytes / 4)), places));
    }
#endif
    Words words = {0};
    if (bytes >= VECTOR_BYTES) __builtin_unreachable();
    memcpy(&words, source, (size_t)bytes);
    return words;
}

INLINE void store_bytes(void *target, Words words, Index bytes) {
#if defined(__AVX512BW__)
    if (bytes % 4) _mm512_mask_storeu_epi8(target, ((__mmask64)1 << bytes) - 1, (__m512i)words);
    else _mm512_mask_storeu_epi32(target, (__mmask16)((1u << (bytes / 4)) - 1), (__m512i)words);
#elif defined(__AVX2__)
    if (bytes % 4 == 0) {
        const __m256i places = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        _mm256_maskstore_epi32(target, _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(bytes / 4)), places), (__m256i)words);
        return;
    }
#endif
#if !defined(__AVX512BW__)
    if (bytes >= VECTOR_BYTES) __builtin_unreachable();
    memcpy(target, &words, (size_t)bytes);
#endif
}

/* Past the cache, to an address that is a multiple of VECTOR_BYTES. Other threads see it after finish_stream() of the
 * copy kernels. */
INLINE void stream_words(void *target, Words words) {
#if defined(__AVX512F__)
    _mm512_stream_si512(target, (__m512i)words);
#elif defined(__AVX2__)
    _mm256_stream_si256(target, (__m256i)words);
#elif defined(__SSE2__)
    _mm_stream_si128(target, (__m128i)words);
#else
    memcpy(target, &words, sizeof words);
#endif
}

#define SUMS_BODY "reduction/simd/sums_body.h"
#define BODY SUMS_BODY
#include "core/simd/every_type.h"
#undef BODY

#endif
