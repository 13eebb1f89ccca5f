/* Transpositions of one block in registers, for each element size. With stream, a block writes whole aligned lines.
 *
 * The vector versions interleave pairs of rows, then pairs of pairs, as every in-register transposition does; the
 * comments name what a register holds, rc for the element of row r and column c.
 */
#include "core/common.h"

#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

typedef struct {
    uint64_t half[2];
} Pair;

typedef const Index *Offsets;

/* Without a vector version: element by element, with the row of the target innermost. */
static inline void block_plain(const char *source, Offsets rows, char *target, Offsets columns, int side, int size) {
    for (int column = 0; column < side; column++)
        for (int row = 0; row < side; row++)
            memcpy(target + columns[column] + row * size, source + rows[row] + column * size, (size_t)size);
}

#if defined(__SSE2__)

/* Elements of 1 and 2 bytes: a register of a row beside the one half the rows further on, interleaved, as often as an
 * index has bits. Each round turns the bits of (row, column) by one place, until they are (column, row). */
static inline void block_1(const char *source, Offsets rows, char *target, Offsets columns, bool stream) {
    (void)stream;
    __m128i a[16], b[16];
    for (int row = 0; row < 16; row++) a[row] = _mm_loadu_si128((const void *)(source + rows[row]));
    for (int round = 0; round < 2; round++) {
        for (int k = 0; k < 8; k++) {
            b[2 * k] = _mm_unpacklo_epi8(a[k], a[k + 8]);
            b[2 * k + 1] = _mm_unpackhi_epi8(a[k], a[k + 8]);
        }
        for (int k = 0; k < 8; k++) {
            a[2 * k] = _mm_unpacklo_epi8(b[k], b[k + 8]);
            a[2 * k + 1] = _mm_unpackhi_epi8(b[k], b[k + 8]);
        }
    }
    for (int column = 0; column < 16; column++) _mm_storeu_si128((void *)(target + columns[column]), a[column]);
}

static inline void block_2(const char *source, Offsets rows, char *target, Offsets columns, bool stream) {
    (void)stream;
    for (int part = 0; part < 4; part++) { /* 8 x 8 each */
        const int below = part / 2 * 8, beside = part % 2 * 8;
        __m128i a[8], b[8];
        for (int row = 0; row < 8; row++)
            a[row] = _mm_loadu_si128((const void *)(source + rows[below + row] + 2 * beside));
        for (int k = 0; k < 4; k++) {
            b[2 * k] = _mm_unpacklo_epi16(a[k], a[k + 4]);
            b[2 * k + 1] = _mm_unpackhi_epi16(a[k], a[k + 4]);
        }
        for (int k = 0; k < 4; k++) {
            a[2 * k] = _mm_unpacklo_epi16(b[k], b[k + 4]);
            a[2 * k + 1] = _mm_unpackhi_epi16(b[k], b[k + 4]);
        }
        for (int k = 0; k < 4; k++) {
            b[2 * k] = _mm_unpacklo_epi16(a[k], a[k + 4]);
            b[2 * k + 1] = _mm_unpackhi_epi16(a[k], a[k + 4]);
        }
        for (int column = 0; column < 8; column++)
            _mm_storeu_si128((void *)(target + columns[beside + column] + 2 * below), b[column]);
    }
}

#else

static inline void block_1(const char *source, Offsets rows, char *target, Offsets columns, bool stream) {
    (void)stream;
    block_plain(source, rows, target, columns, 16, 1);
}

static inline void block_2(const char *source, Offsets rows, char *target, Offsets columns, bool stream) {
    (void)stream;
    block_plain(source, rows, target, columns, 16, 2);
}

#endif

#if defined(__AVX512F__)

static inline void put(char *target, __m512i line, bool stream) {
    if (stream) _mm512_stream_si512((void *)target, line);
    else _mm512_storeu_si512(target, line);
}

/* 4 x 4 elements of 16 bytes: two rounds of exchanges of quarters. */
static inline void quarters(__m512i a, __m512i b, __m512i c, __m512i d, char *target, Offsets columns, int step,
                            bool stream) {
    __m512i even_ab = _mm512_shuffle_i64x2(a, b, 0x88), odd_ab = _mm512_shuffle_i64x2(a, b, 0xdd); /* 00 02 10 12 */
    __m512i even_cd = _mm512_shuffle_i64x2(c, d, 0x88), odd_cd = _mm512_shuffle_i64x2(c, d, 0xdd);
    put(target + columns[0], _mm512_shuffle_i64x2(even_ab, even_cd, 0x88), stream);
    put(target + columns[step], _mm512_shuffle_i64x2(odd_ab, odd_cd, 0x88), stream);
    put(target + columns[2 * step], _mm512_shuffle_i64x2(even_ab, even_cd, 0xdd), stream);
    put(target + columns[3 * step], _mm512_shuffle_i64x2(odd_ab, odd_cd, 0xdd), stream);
}

static inline void block_16(const char *source, Offsets rows, char *target, Offsets columns, bool stream) {
    quarters(_mm512_loadu_si512(source + rows[0]), _mm512_loadu_si512(source + rows[1]),
             _mm512_loadu_si512(source + rows[2]), _mm512_loadu_si512(source + rows[3]), target, columns, 1, stream);
}

static inline void block_8(const char *source, Offsets rows, char *target, Offsets columns, bool stream) {
    __m512i even[4], odd[4]; /* columns 0 2 4 6 and 1 3 5 7 of two rows: 00 10 | 02 12 | 04 14 | 06 16 */
    for (int pair = 0; pair < 4; pair++) {
        __m512i first = _mm512_loadu_si512(source + rows[2 * pair]);
        __m512i second = _mm512_loadu_si512(source + rows[2 * pair + 1]);
        even[pair] = _mm512_unpacklo_epi64(first, second);
        odd[pair] = _mm512_unpackhi_epi64(first, second);
    }
    quarters(even[0], even[1], even[2], even[3], target, columns, 2, stream);
    quarters(odd[0], odd[1], odd[2], odd[3], target, columns + 1, 2, stream);
}

static inline void block_4(const char *source, Offsets rows, char *target, Offsets columns, bool stream) {
    __m512i four[4][4]; /* [k][q]: columns k, k + 4, k + 8, k + 12 of rows 4 q ... 4 q + 3: 00 10 20 30 | 04 14 ... */
    for (int q = 0; q < 4; q++) {
        __m512i a = _mm512_loadu_si512(source + rows[4 * q]), b = _mm512_loadu_si512(source + rows[4 * q + 1]);
        __m512i c = _mm512_loadu_si512(source + rows[4 * q + 2]), d = _mm512_loadu_si512(source + rows[4 * q + 3]);
        __m512i low_ab = _mm512_unpacklo_epi32(a, b), high_ab = _mm512_unpackhi_epi32(a, b); /* 00 10 01 11 | ... */
        __m512i low_cd = _mm512_unpacklo_epi32(c, d), high_cd = _mm512_unpackhi_epi32(c, d);
        four[0][q] = _mm512_unpacklo_epi64(low_ab, low_cd);
        four[1][q] = _mm512_unpackhi_epi64(low_ab, low_cd);
        four[2][q] = _mm512_unpacklo_epi64(high_ab, high_cd);
        four[3][q] = _mm512_unpackhi_epi64(high_ab, high_cd);
    }
    for (int k = 0; k < 4; k++)
        quarters(four[k][0], four[k][1], four[k][2], four[k][3], target, columns + k, 4, stream);
}

#elif defined(__AVX2__)

static inline __m256i get(const char *source) { return _mm256_loadu_si256((const void *)source); }

/* A line of two halves; both are written at once, so that a streamed line is never read. */
static inline void put(char *target, __m256i low, __m256i high, bool stream) {
    if (stream) {
        _mm256_stream_si256((void *)target, low);
        _mm256_stream_si256((void *)(target + 32), high);
    } else {
        _mm256_storeu_si256((void *)target, low);
        _mm256_storeu_si256((void *)(target + 32), high);
    }
}

static inline __m256i low_halves(__m256i a, __m256i b) { return _mm256_permute2x128_si256(a, b, 0x20); }
static inline __m256i high_halves(__m256i a, __m256i b) { return _mm256_permute2x128_si256(a, b, 0x31); }

static inline void block_16(const char *source, Offsets rows, char *target, Offsets columns, bool stream) {
    for (int part = 0; part < 2; part++) { /* columns 0 and 1, then 2 and 3 */
        __m256i a = get(source + rows[0] + 32 * part), b = get(source + rows[1] + 32 * part);
        __m256i c = get(source + rows[2] + 32 * part), d = get(source + rows[3] + 32 * part);
        put(target + columns[2 * part], low_halves(a, b), low_halves(c, d), stream);
        put(target + columns[2 * part + 1], high_halves(a, b), high_halves(c, d), stream);
    }
}

static inline void block_8(const char *source, Offsets rows, char *target, Offsets columns, bool stream) {
    for (int part = 0; part < 2; part++) { /* columns 0 to 3, then 4 to 7 */
        __m256i even[4], odd[4];           /* columns 0 2 and 1 3 of two rows: 00 10 | 02 12 */
        for (int pair = 0; pair < 4; pair++) {
            __m256i first = get(source + rows[2 * pair] + 32 * part);
            __m256i second = get(source + rows[2 * pair + 1] + 32 * part);
            even[pair] = _mm256_unpacklo_epi64(first, second);
            odd[pair] = _mm256_unpackhi_epi64(first, second);
        }
        Offsets to = columns + 4 * part;
        put(target + to[0], low_halves(even[0], even[1]), low_halves(even[2], even[3]), stream);
        put(target + to[1], low_halves(odd[0], odd[1]), low_halves(odd[2], odd[3]), stream);
        put(target + to[2], high_halves(even[0], even[1]), high_halves(even[2], even[3]), stream);
        put(target + to[3], high_halves(odd[0], odd[1]), high_halves(odd[2], odd[3]), stream);
    }
}

static inline void block_4(const char *source, Offsets rows, char *target, Offsets columns, bool stream) {
    for (int part = 0; part < 2; part++) { /* columns 0 to 7, then 8 to 15 */
        __m256i four[4][4];                /* [k][q]: columns k and k + 4 of rows 4 q ... 4 q + 3: 00 10 20 30 | ... */
        for (int q = 0; q < 4; q++) {
            __m256i a = get(source + rows[4 * q] + 32 * part), b = get(source + rows[4 * q + 1] + 32 * part);
            __m256i c = get(source + rows[4 * q + 2] + 32 * part), d = get(source + rows[4 * q + 3] + 32 * part);
            __m256i low_ab = _mm256_unpacklo_epi32(a, b), high_ab = _mm256_unpackhi_epi32(a, b);
            __m256i low_cd = _mm256_unpacklo_epi32(c, d), high_cd = _mm256_unpackhi_epi32(c, d);
            four[0][q] = _mm256_unpacklo_epi64(low_ab, low_cd);
            four[1][q] = _mm256_unpackhi_epi64(low_ab, low_cd);
            four[2][q] = _mm256_unpacklo_epi64(high_ab, high_cd);
            four[3][q] = _mm256_unpackhi_epi64(high_ab, high_cd);
        }
        for (int k = 0; k < 4; k++) {
            __m256i *f = four[k];
            put(target + columns[8 * part + k], low_halves(f[0], f[1]), low_halves(f[2], f[3]), stream);
            put(target + columns[8 * part + k + 4], high_halves(f[0], f[1]), high_halves(f[2], f[3]), stream);
        }
    }
}

#else

static inline void block_4(const char *source, Offsets rows, char *target, Offsets columns, bool stream) {
    (void)stream;
    block_plain(source, rows, target, columns, 16, 4);
}

static inline void block_8(const char *source, Offsets rows, char *target, Offsets columns, bool stream) {
    (void)stream;
    block_plain(source, rows, target, columns, 8, 8);
}

static inline void block_16(const char *source, Offsets rows, char *target, Offsets columns, bool stream) {
    (void)stream;
    block_plain(source, rows, target, columns, 4, 16);
}

#endif
