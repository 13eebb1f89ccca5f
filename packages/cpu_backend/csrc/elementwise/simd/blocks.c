/* Reads operands into blocks: strided, repeated and transposed planes, for elements of 1, 4, 8 and 16 bytes.
 *
 * The transposition turns 8 rows at a time. For elements of 8 bytes and AVX-512 that is the usual network of three
 * exchanges between 8 registers: neighbours, pairs, halves.
 */
#include "core/simd/moved.h"
#include "elementwise/blocks.h"

#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#define NAME(f) SIMD_JOIN(f, SUFFIX)

static void transpose_eight_1(Byte *restrict target, const Byte *restrict source, Index columns, Index stride) {
    for (Index column = 0; column < columns; column++)
        for (Index row = 0; row < 8; row++) target[row * columns + column] = source[row + column * stride];
}

static void transpose_eight_4(Four *restrict target, const Four *restrict source, Index columns, Index stride) {
    for (Index column = 0; column < columns; column++)
        for (Index row = 0; row < 8; row++) target[row * columns + column] = source[row + column * stride];
}

static void transpose_eight_16(Sixteen *restrict target, const Sixteen *restrict source, Index columns, Index stride) {
    for (Index column = 0; column < columns; column++)
        for (Index row = 0; row < 8; row++) target[row * columns + column] = source[row + column * stride];
}

static void transpose_eight_8(Eight *restrict target, const Eight *restrict source, Index columns, Index stride) {
    Index column = 0;
#if defined(__AVX512F__)
    for (; column + 8 <= columns; column += 8) {
        const Eight *from = source + column * stride;
        __m512i a[8], b[8];
        for (int k = 0; k < 8; k++) a[k] = _mm512_loadu_si512(from + k * stride);
        for (int k = 0; k < 8; k += 2) {
            b[k] = _mm512_unpacklo_epi64(a[k], a[k + 1]);
            b[k + 1] = _mm512_unpackhi_epi64(a[k], a[k + 1]);
        }
        for (int k = 0; k < 8; k += 4)
            for (int j = 0; j < 2; j++) { /* 128-bit pieces 0 and 2, then 1 and 3 */
                a[k + j] = _mm512_shuffle_i64x2(b[k + j], b[k + j + 2], 0x88);
                a[k + j + 2] = _mm512_shuffle_i64x2(b[k + j], b[k + j + 2], 0xdd);
            }
        for (int j = 0; j < 4; j++) {
            b[j] = _mm512_shuffle_i64x2(a[j], a[j + 4], 0x88);
            b[j + 4] = _mm512_shuffle_i64x2(a[j], a[j + 4], 0xdd);
        }
        for (int row = 0; row < 8; row++) _mm512_storeu_si512(target + row * columns + column, b[row]);
    }
#elif defined(__AVX2__)
    for (; column + 4 <= columns; column += 4)
        for (Index half = 0; half < 8; half += 4) {
            const Eight *from = source + column * stride + half;
            __m256i a[4], b[4];
            for (int k = 0; k < 4; k++) a[k] = _mm256_loadu_si256((const __m256i *)(const void *)(from + k * stride));
            for (int k = 0; k < 4; k += 2) {
                b[k] = _mm256_unpacklo_epi64(a[k], a[k + 1]);
                b[k + 1] = _mm256_unpackhi_epi64(a[k], a[k + 1]);
            }
            for (int j = 0; j < 2; j++) {
                Eight *to = target + (half + j) * columns + column;
                _mm256_storeu_si256((__m256i *)(void *)to, _mm256_permute2x128_si256(b[j], b[j + 2], 0x20));
                _mm256_storeu_si256((__m256i *)(void *)(to + 2 * columns),
                                    _mm256_permute2x128_si256(b[j], b[j + 2], 0x31));
            }
        }
#endif
    for (; column < columns; column++)
        for (Index row = 0; row < 8; row++) target[row * columns + column] = source[row + column * stride];
}

#define T Byte
#define SUFFIX 1
#include "elementwise/simd/blocks_body.h"

#define T Four
#define SUFFIX 4
#include "elementwise/simd/blocks_body.h"

#define T Eight
#define SUFFIX 8
#include "elementwise/simd/blocks_body.h"

#define T Sixteen
#define SUFFIX 16
#include "elementwise/simd/blocks_body.h"

static void write_rest(Stream *stream) {
    memcpy(stream->place, stream->line, (size_t)stream->held);
    stream->held = 0;
}

#if defined(__AVX2__)
static void write_line(char *to, const char *from) {
    for (Index half = 0; half < STREAM_LINE; half += 32)
        _mm256_stream_si256((__m256i *)(void *)(to + half),
                            _mm256_loadu_si256((const __m256i *)(const void *)(from + half)));
}

static void stream(Stream *stream, void *target, const void *source, Index bytes) {
    char *to = target;
    const char *from = source;
    Index first = smaller((Index)(-(uintptr_t)to & (STREAM_LINE - 1)), bytes); /* up to the next line */
    if (stream->held > 0 && to != stream->place + stream->held) write_rest(stream);
    if (stream->held > 0) {
        memcpy(stream->line + stream->held, from, (size_t)first);
        stream->held += first;
        if (stream->held < STREAM_LINE) return;
        write_line(stream->place, stream->line);
        stream->held = 0;
    } else memcpy(to, from, (size_t)first);
    to += first, from += first, bytes -= first;
    for (; bytes >= STREAM_LINE; to += STREAM_LINE, from += STREAM_LINE, bytes -= STREAM_LINE) write_line(to, from);
    if (bytes == 0) return;
    memcpy(stream->line, from, (size_t)bytes);
    stream->place = to;
    stream->held = bytes;
}
#else
static void stream(Stream *stream, void *target, const void *source, Index bytes) {
    (void)stream;
    memcpy(target, source, (size_t)bytes);
}
#endif

static void finish_stream(Stream *stream) {
    if (stream != NULL && stream->held > 0) write_rest(stream);
#if defined(__AVX2__)
    _mm_sfence();
#endif
}

const BlockKernels SIMD_NAME(block_kernels) = {
    .copy = {copy_plane_1, NULL, copy_plane_4, copy_plane_8, copy_plane_16},
    .stream = stream,
    .finish_stream = finish_stream,
};
