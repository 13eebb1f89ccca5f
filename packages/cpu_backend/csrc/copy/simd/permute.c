/* The tiles of strided copies: runs, one element spread, steps, transpositions in registers, and elements one by one.
 *
 * Source and target may be unaligned to vectors, and even to elements where several of them are moved as one.
 * Streaming stores write past the cache; they pay where the target is larger than the cache, since a line is then not
 * read before it is written, but only for whole aligned lines.
 */
#include "copy/permute.h"
#include "core/moved_bytes.h"

#include <string.h>

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

enum { LINE = 64 };

static inline void stream_line(char *target, const char *source) {
#if defined(__AVX512F__)
    _mm512_stream_si512((void *)target, _mm512_loadu_si512(source));
#elif defined(__AVX2__)
    __m256i low = _mm256_loadu_si256((const void *)source), high = _mm256_loadu_si256((const void *)(source + 32));
    _mm256_stream_si256((void *)target, low);
    _mm256_stream_si256((void *)(target + 32), high);
#elif defined(__SSE2__)
    for (int part = 0; part < LINE; part += 16)
        _mm_stream_si128((void *)(target + part), _mm_loadu_si128((const void *)(source + part)));
#else
    memcpy(target, source, LINE);
#endif
}

static void finish_stream(void) {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

static void stream_run(const char *source, char *target, Index bytes) {
    Index head = -(intptr_t)target & (LINE - 1), k = head < bytes ? head : bytes;
    memcpy(target, source, (size_t)k);
    for (; k + LINE <= bytes; k += LINE) stream_line(target + k, source + k);
    memcpy(target + k, source + k, (size_t)(bytes - k));
}

static inline void copy_bytes(char *target, const char *source, Index bytes, bool stream) {
    if (stream) {
        stream_run(source, target, bytes);
    } else if (bytes > 8 * LINE) {
        move_bytes(target, source, (size_t)bytes);
    } else {
        Index k = 0;
        for (; k + LINE <= bytes; k += LINE) memcpy(target + k, source + k, LINE);
        for (; k + 8 <= bytes; k += 8) memcpy(target + k, source + k, 8);
        for (; k < bytes; k++) target[k] = source[k];
    }
}

/* Blocks: the SIDE elements at source + rows[0], source + rows[1] ... become columns of SIDE elements at target +
 * columns[0] ... Each type of element has its own in permute_blocks.h. */
#include "copy/simd/permute_blocks.h"

#define T uint8_t
#define SIDE 16
#define NAME(name) name##_1
#define BLOCK block_1
#include "copy/simd/permute_body.h"

#define T uint16_t
#define SIDE 16
#define NAME(name) name##_2
#define BLOCK block_2
#include "copy/simd/permute_body.h"

#define T uint32_t
#define SIDE 16
#define NAME(name) name##_4
#define BLOCK block_4
#include "copy/simd/permute_body.h"

#define T uint64_t
#define SIDE 8
#define NAME(name) name##_8
#define BLOCK block_8
#include "copy/simd/permute_body.h"

#define T Pair
#define SIDE 4
#define NAME(name) name##_16
#define BLOCK block_16
#include "copy/simd/permute_body.h"

const CopyKernels SIMD_NAME(copy_kernels) = {
    .runs = {runs_1, runs_2, runs_4, runs_8, runs_16},
    .spread = {spread_1, spread_2, spread_4, spread_8, spread_16},
    .steps = {steps_1, steps_2, steps_4, steps_8, steps_16},
    .transpose = {transpose_1, transpose_2, transpose_4, transpose_8, transpose_16},
    .interleave = {interleave_1, interleave_2, interleave_4, interleave_8, interleave_16},
    .deinterleave = {deinterleave_1, deinterleave_2, deinterleave_4, deinterleave_8, deinterleave_16},
    .gather = {gather_1, gather_2, gather_4, gather_8, gather_16},
    .scatter = {scatter_1, scatter_2, scatter_4, scatter_8, scatter_16},
    .stream_run = stream_run,
    .finish_stream = finish_stream,
};
