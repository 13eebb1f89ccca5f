/* Between memory and lanes: a group of matrices lies there one matrix after the other, here one lane per matrix.
 *
 * That is a transposition, of LANES rows of doubles or floats. It runs in registers, four columns at a time; the last
 * four may overlap those before. Shorter rows, and processors without AVX2, go number by number.
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

#endif

INLINE void load_as(Lane *lanes, const char *group, Index row_bytes, int count, bool narrow) {
    int at = 0;
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

/* So many doubles or floats of one matrix, and zeros; and back. */
INLINE Lane load_some(const char *from, int count, bool narrow) {
#if LANES == 8
    const __mmask8 mask = (__mmask8)((1u << count) - 1);
    return narrow ? _mm512_cvtps_pd(_mm256_maskz_loadu_ps(mask, from)) : _mm512_maskz_loadu_pd(mask, from);
#else
    Lane lanes = broadcast(0.0);
    if (count == LANES && !narrow) memcpy(&lanes, from, sizeof lanes);
    else
        for (int i = 0; i < count; i++)
            lanes[i] = narrow ? (double)((const float *)from)[i] : ((const double *)from)[i];
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
#if LANES == 8 /* where four sums that do not wait for each other take a part of the time */
    Lane second = sum, third = sum, fourth = sum;
    const Lane zero = sum;
    for (; i + 4 <= count; i += 4) {
        sum = _mm512_fmadd_pd(lanes[i], zero, sum);
        second = _mm512_fmadd_pd(lanes[i + 1], zero, second);
        third = _mm512_fmadd_pd(lanes[i + 2], zero, third);
        fourth = _mm512_fmadd_pd(lanes[i + 3], zero, fourth);
    }
    sum += second + (third + fourth);
#endif
    for (; i < count; i++) sum += lanes[i] * 0.0;
    return complement(equal(sum, broadcast(0.0)));
}

#endif
