/* Between memory and lanes: a group of matrices lies there one matrix after the other, here one lane per matrix.
 *
 * That is a transposition, of LANES rows of doubles or floats. It runs in registers, eight or four columns at a time; the
 * last four may overlap those before. Shorter rows, and processors without AVX2, go number by number.
 */
#ifndef TENSOR_CPU_LANE_MEMORY_H
#define TENSOR_CPU_LANE_MEMORY_H

#include "linalg/simd/lane.h"

#include <string.h>

#if LANES > 2

INLINE __m256d load4(const char *row, Index at, bool narrow) {
    return narrow ? _mm256_cvtps_pd(_mm_loadu_ps((const float *)row + at)) : _mm256_loadu_pd((const double *)row + at);
}

INLINE void store4(char *row, Index at, bool narrow, __m256d numbers) {
    if (narrow) _mm_storeu_ps((float *)row + at, _mm256_cvtpd_ps(numbers));
    else _mm256_storeu_pd((double *)row + at, numbers);
}

/* Four vectors as a 4 x 4 matrix, or two such matrices side by side, transposed. */
INLINE void transpose4(Lane *rows) {
#if LANES == 8
    const __m512i low = _mm512_set_epi64(13, 12, 5, 4, 9, 8, 1, 0), high = _mm512_set_epi64(15, 14, 7, 6, 11, 10, 3, 2);
    __m512d even01 = _mm512_unpacklo_pd(rows[0], rows[1]), odd01 = _mm512_unpackhi_pd(rows[0], rows[1]);
    __m512d even23 = _mm512_unpacklo_pd(rows[2], rows[3]), odd23 = _mm512_unpackhi_pd(rows[2], rows[3]);
    rows[0] = _mm512_permutex2var_pd(even01, low, even23);
    rows[1] = _mm512_permutex2var_pd(odd01, low, odd23);
    rows[2] = _mm512_permutex2var_pd(even01, high, even23);
    rows[3] = _mm512_permutex2var_pd(odd01, high, odd23);
#else
    __m256d even01 = _mm256_unpacklo_pd(rows[0], rows[1]), odd01 = _mm256_unpackhi_pd(rows[0], rows[1]);
    __m256d even23 = _mm256_unpacklo_pd(rows[2], rows[3]), odd23 = _mm256_unpackhi_pd(rows[2], rows[3]);
    rows[0] = _mm256_permute2f128_pd(even01, even23, 0x20);
    rows[1] = _mm256_permute2f128_pd(odd01, odd23, 0x20);
    rows[2] = _mm256_permute2f128_pd(even01, even23, 0x31);
    rows[3] = _mm256_permute2f128_pd(odd01, odd23, 0x31);
#endif
}

INLINE void load_four_columns(Lane *lanes, const char *group, Index row_bytes, Index at, bool narrow) {
    for (int i = 0; i < 4; i++) {
        __m256d row = load4(group + i * row_bytes, at, narrow);
#if LANES == 8
        lanes[i] = _mm512_insertf64x4(_mm512_castpd256_pd512(row), load4(group + (i + 4) * row_bytes, at, narrow), 1);
#else
        lanes[i] = row;
#endif
    }
    transpose4(lanes);
}

INLINE void store_four_columns(char *group, const Lane *lanes, Index row_bytes, Index at, bool narrow) {
    Lane rows[4] = {lanes[0], lanes[1], lanes[2], lanes[3]};
    transpose4(rows);
    for (int i = 0; i < 4; i++) {
#if LANES == 8
        store4(group + i * row_bytes, at, narrow, _mm512_castpd512_pd256(rows[i]));
        store4(group + (i + 4) * row_bytes, at, narrow, _mm512_extractf64x4_pd(rows[i], 1));
#else
        store4(group + i * row_bytes, at, narrow, rows[i]);
#endif
    }
}

#if LANES == 8

/* Eight vectors as an 8 x 8 matrix, transposed. */
INLINE void transpose_lanes(Lane *x) {
    Lane pairs[LANES], fours[LANES];
#pragma GCC unroll 8
    for (int i = 0; i < LANES; i += 2) {
        pairs[i] = _mm512_unpacklo_pd(x[i], x[i + 1]);
        pairs[i + 1] = _mm512_unpackhi_pd(x[i], x[i + 1]);
    }
#pragma GCC unroll 8
    for (int i = 0; i < LANES; i++) { /* columns i and i + 4, or i - 2 and i + 2, of four rows */
        const int first = i / 4 * 4 + i % 2;
        fours[i] = i % 4 < 2 ? _mm512_shuffle_f64x2(pairs[first], pairs[first + 2], 0x88)
                             : _mm512_shuffle_f64x2(pairs[first], pairs[first + 2], 0xdd);
    }
#pragma GCC unroll 8
    for (int i = 0; i < 4; i++) {
        x[i] = _mm512_shuffle_f64x2(fours[i], fours[4 + i], 0x88);
        x[4 + i] = _mm512_shuffle_f64x2(fours[i], fours[4 + i], 0xdd);
    }
}

/* The same of floats, of which a vector has two rows of eight. */
INLINE void transpose_floats(__m512 *rows) {
    const __m512i left = _mm512_set_epi32(27, 19, 11, 3, 26, 18, 10, 2, 25, 17, 9, 1, 24, 16, 8, 0);
    const __m512i right = _mm512_add_epi32(left, _mm512_set1_epi32(4));
    const __m512i low = _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0), high = _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4);
    const __m512d upper_left = _mm512_castps_pd(_mm512_permutex2var_ps(rows[0], left, rows[1]));
    const __m512d upper_right = _mm512_castps_pd(_mm512_permutex2var_ps(rows[0], right, rows[1]));
    const __m512d lower_left = _mm512_castps_pd(_mm512_permutex2var_ps(rows[2], left, rows[3]));
    const __m512d lower_right = _mm512_castps_pd(_mm512_permutex2var_ps(rows[2], right, rows[3]));
    rows[0] = _mm512_castpd_ps(_mm512_permutex2var_pd(upper_left, low, lower_left));
    rows[1] = _mm512_castpd_ps(_mm512_permutex2var_pd(upper_left, high, lower_left));
    rows[2] = _mm512_castpd_ps(_mm512_permutex2var_pd(upper_right, low, lower_right));
    rows[3] = _mm512_castpd_ps(_mm512_permutex2var_pd(upper_right, high, lower_right));
}

INLINE __m512 join_floats(__m256 low, __m256 high) { return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1); }

INLINE void load_eight_columns(Lane *lanes, const char *group, Index row_bytes, Index at, bool narrow) {
    if (narrow) {
        __m512 rows[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            const float *const row = (const float *)(group + 2 * i * row_bytes) + at;
            rows[i] =
                join_floats(_mm256_loadu_ps(row), _mm256_loadu_ps((const float *)((const char *)row + row_bytes)));
        }
        transpose_floats(rows);
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            lanes[2 * i] = _mm512_cvtps_pd(_mm512_castps512_ps256(rows[i]));
            lanes[2 * i + 1] = _mm512_cvtps_pd(_mm512_extractf32x8_ps(rows[i], 1));
        }
        return;
    }
    Lane rows[LANES];
#pragma GCC unroll 8
    for (int i = 0; i < LANES; i++) rows[i] = _mm512_loadu_pd((const double *)(group + i * row_bytes) + at);
    transpose_lanes(rows);
#pragma GCC unroll 8
    for (int i = 0; i < LANES; i++) lanes[i] = rows[i];
}

/* Eight columns as rows of floats, two in each vector. */
INLINE void float_rows(__m512 *rows, const Lane *lanes) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) rows[i] = join_floats(_mm512_cvtpd_ps(lanes[2 * i]), _mm512_cvtpd_ps(lanes[2 * i + 1]));
    transpose_floats(rows);
}

INLINE void store_eight_columns(char *group, const Lane *lanes, Index row_bytes, Index at, bool narrow) {
    if (narrow) {
        __m512 rows[4];
        float_rows(rows, lanes);
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            float *const row = (float *)(group + 2 * i * row_bytes) + at;
            _mm256_storeu_ps(row, _mm512_castps512_ps256(rows[i]));
            _mm256_storeu_ps((float *)((char *)row + row_bytes), _mm512_extractf32x8_ps(rows[i], 1));
        }
        return;
    }
    Lane rows[LANES];
#pragma GCC unroll 8
    for (int i = 0; i < LANES; i++) rows[i] = lanes[i];
    transpose_lanes(rows);
#pragma GCC unroll 8
    for (int i = 0; i < LANES; i++) _mm512_storeu_pd((double *)(group + i * row_bytes) + at, rows[i]);
}

#endif

#endif

INLINE void load_as(Lane *lanes, const char *group, Index row_bytes, int count, bool narrow) {
    int at = 0;
#if LANES == 8
    for (; at + 8 <= count; at += 8) load_eight_columns(lanes + at, group, row_bytes, at, narrow);
#endif
#if LANES > 2
    for (; count >= 4 && at < count; at += 4) {
        if (at > count - 4) at = count - 4;
        load_four_columns(lanes + at, group, row_bytes, at, narrow);
    }
#endif
    for (; at < count; at++)
        for (int lane = 0; lane < LANES; lane++) {
            const char *row = group + lane * row_bytes;
            lanes[at][lane] = narrow ? (double)((const float *)row)[at] : ((const double *)row)[at];
        }
}

INLINE void store_as(char *group, const Lane *lanes, Index row_bytes, int count, bool narrow) {
    int at = 0;
#if LANES == 8
    for (; at + 8 <= count; at += 8) store_eight_columns(group, lanes + at, row_bytes, at, narrow);
#endif
#if LANES > 2
    for (; count >= 4 && at < count; at += 4) {
        if (at > count - 4) at = count - 4;
        store_four_columns(group, lanes + at, row_bytes, at, narrow);
    }
#endif
    for (; at < count; at++)
        for (int lane = 0; lane < LANES; lane++) {
            char *row = group + lane * row_bytes;
            if (narrow) ((float *)row)[at] = (float)lanes[at][lane];
            else ((double *)row)[at] = lanes[at][lane];
        }
}

/* The same of rows of four numbers without gaps: whole registers are loaded, and all is put into its place at once. */
INLINE void load_fours(Lane *lanes, const char *group, bool narrow) {
#if LANES == 8
    if (narrow) {
        const __m512i first = _mm512_set_epi32(29, 25, 21, 17, 13, 9, 5, 1, 28, 24, 20, 16, 12, 8, 4, 0);
        const __m512i second = _mm512_set_epi32(31, 27, 23, 19, 15, 11, 7, 3, 30, 26, 22, 18, 14, 10, 6, 2);
        const __m512 x = _mm512_loadu_ps(group), y = _mm512_loadu_ps(group + 64);
        const __m512 pairs[] = {_mm512_permutex2var_ps(x, first, y), _mm512_permutex2var_ps(x, second, y)};
        for (int i = 0; i < 2; i++) {
            lanes[2 * i] = _mm512_cvtps_pd(_mm512_castps512_ps256(pairs[i]));
            lanes[2 * i + 1] = _mm512_cvtps_pd(_mm512_extractf32x8_ps(pairs[i], 1));
        }
        return;
    }
    const __m512i low = _mm512_set_epi64(13, 9, 12, 8, 5, 1, 4, 0), high = _mm512_set_epi64(15, 11, 14, 10, 7, 3, 6, 2);
    __m512d rows[4];
    for (int i = 0; i < 4; i++) rows[i] = _mm512_loadu_pd(group + 64 * i);
    const __m512d even01 = _mm512_unpacklo_pd(rows[0], rows[1]), odd01 = _mm512_unpackhi_pd(rows[0], rows[1]);
    const __m512d even23 = _mm512_unpacklo_pd(rows[2], rows[3]), odd23 = _mm512_unpackhi_pd(rows[2], rows[3]);
    lanes[0] = _mm512_permutex2var_pd(even01, low, even23);
    lanes[1] = _mm512_permutex2var_pd(odd01, low, odd23);
    lanes[2] = _mm512_permutex2var_pd(even01, high, even23);
    lanes[3] = _mm512_permutex2var_pd(odd01, high, odd23);
#else
    load_as(lanes, group, 4 * (Index)(narrow ? sizeof(float) : sizeof(double)), 4, narrow);
#endif
}

/* Loads so many numbers from each row of a group. */
static __attribute__((noinline)) void load_lanes(Lane *lanes, const char *group, Index row_bytes, int count,
                                                 bool narrow) {
    if (narrow) load_as(lanes, group, row_bytes, count, true);
    else load_as(lanes, group, row_bytes, count, false);
}

/* Stores so many numbers into each row of a group. */
static __attribute__((noinline)) void store_lanes(char *group, const Lane *lanes, Index row_bytes, int count,
                                                  bool narrow) {
    if (narrow) store_as(group, lanes, row_bytes, count, true);
    else store_as(group, lanes, row_bytes, count, false);
}

/* The same past the caches, of rows that are whole lines. */
static __attribute__((noinline)) void stream_lanes(char *group, const Lane *lanes, Index row_bytes, int count,
                                                   bool narrow) {
#if LANES == 8
    int at = 0;
    for (; narrow && at + 16 <= count; at += 16) {
        __m512 left[4], right[4];
        float_rows(left, lanes + at);
        float_rows(right, lanes + at + 8);
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            float *const row = (float *)(group + 2 * i * row_bytes) + at;
            const __m512d x = _mm512_castps_pd(left[i]), y = _mm512_castps_pd(right[i]);
            _mm512_stream_ps(row, _mm512_castpd_ps(_mm512_shuffle_f64x2(x, y, 0x44)));
            _mm512_stream_ps((float *)((char *)row + row_bytes), _mm512_castpd_ps(_mm512_shuffle_f64x2(x, y, 0xee)));
        }
    }
    for (; !narrow && at + 8 <= count; at += 8) {
        Lane rows[LANES];
#pragma GCC unroll 8
        for (int i = 0; i < LANES; i++) rows[i] = lanes[at + i];
        transpose_lanes(rows);
#pragma GCC unroll 8
        for (int i = 0; i < LANES; i++) _mm512_stream_pd((double *)(group + i * row_bytes) + at, rows[i]);
    }
#elif LANES == 4
    for (int at = 0; at + 8 <= count; at += 8) {
        Lane rows[8];
        for (int i = 0; i < 8; i++) rows[i] = lanes[at + i];
        transpose4(rows);
        transpose4(rows + 4);
        for (int i = 0; i < 4; i++) { /* a line at once */
            double *const row = (double *)(group + i * row_bytes) + at;
            _mm256_stream_pd(row, rows[i]);
            _mm256_stream_pd(row + 4, rows[4 + i]);
        }
    }
    (void)narrow;
#else
    store_lanes(group, lanes, row_bytes, count, narrow);
#endif
}

/* Whether so many numbers of each row of a group are whole lines of a cache; with AVX2, of doubles alone. */
INLINE bool has_whole_lines(const char *group, Index row_bytes, int count, bool narrow) {
    const bool can = LANES == 8 || (LANES == 4 && !narrow);
    return can && (uintptr_t)group % 64 == 0 && row_bytes % 64 == 0 && count % (narrow ? 16 : 8) == 0;
}

/* Makes what has been written past the caches visible to other threads. */
INLINE void finish_streams(void) {
#if LANES > 2
    _mm_sfence();
#endif
}

/* So many doubles or floats of one matrix, and zeros; and back. */
INLINE Lane load_some(const char *from, int count, bool narrow) {
#if LANES == 8
    const __mmask8 mask = (__mmask8)((1u << count) - 1);
    return narrow ? _mm512_cvtps_pd(_mm256_maskz_loadu_ps(mask, from)) : _mm512_maskz_loadu_pd(mask, from);
#elif LANES == 4
    static const int64_t doubles[] = {-1, -1, -1, -1, 0, 0, 0, 0};
    static const int32_t floats[] = {-1, -1, -1, -1, 0, 0, 0, 0};
    if (narrow) {
        const __m128i mask = _mm_loadu_si128((const __m128i *)(floats + LANES - count));
        return _mm256_cvtps_pd(_mm_maskload_ps((const float *)from, mask));
    }
    return _mm256_maskload_pd((const double *)from, _mm256_loadu_si256((const __m256i *)(doubles + LANES - count)));
#else
    Lane lanes = broadcast(0.0);
    for (int i = 0; i < count; i++) lanes[i] = narrow ? (double)((const float *)from)[i] : ((const double *)from)[i];
    return lanes;
#endif
}

INLINE void store_some(char *to, Lane lanes, int count, bool narrow) {
#if LANES == 8
    const __mmask8 mask = (__mmask8)((1u << count) - 1);
    if (narrow) _mm256_mask_storeu_ps(to, mask, _mm512_cvtpd_ps(lanes));
    else _mm512_mask_storeu_pd(to, mask, lanes);
#else
    for (int i = 0; i < count; i++) {
        if (narrow) ((float *)to)[i] = (float)lanes[i];
        else ((double *)to)[i] = lanes[i];
    }
#endif
}

/* The lanes in which one of so many numbers is NaN or infinite: such a number times zero is NaN, and so is the sum. */
INLINE Mask not_finite(const Lane *lanes, int count) {
    Lane sum = broadcast(0.0);
    int i = 0;
#if FUSES /* where four sums that do not wait for each other take a part of the time */
    Lane second = sum, third = sum, fourth = sum;
    const Lane zero = sum;
    for (; i + 4 <= count; i += 4) {
        sum = fused(lanes[i], zero, sum);
        second = fused(lanes[i + 1], zero, second);
        third = fused(lanes[i + 2], zero, third);
        fourth = fused(lanes[i + 3], zero, fourth);
    }
    sum += second + (third + fourth);
#endif
    for (; i < count; i++) sum += lanes[i] * 0.0;
    return complement(equal(sum, broadcast(0.0)));
}

#endif
