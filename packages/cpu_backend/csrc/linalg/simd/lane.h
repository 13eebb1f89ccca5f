/* A lane vector: one double of each matrix of a group, and the operations that C has no operator for.
 *
 * Lane is a vector type of GCC and Clang, so + - * / work on it, also with a plain double on one side. A Mask holds
 * one truth value per lane. Powers of two are made from the bits of the exponent, so scaling by them is exact.
 */
#ifndef TENSOR_CPU_LANE_H
#define TENSOR_CPU_LANE_H

#include "core/common.h"

#include <math.h>

#if defined(__AVX512F__)
#define LANES 8
#elif defined(__AVX2__)
#define LANES 4
#else
#define LANES 2
#endif
#if LANES > 2
#include <immintrin.h>
#endif

typedef double Lane __attribute__((vector_size(LANES * 8)));
typedef uint64_t Bits __attribute__((vector_size(LANES * 8)));

/* The same number in every lane. */
INLINE Lane broadcast(double value) { return value - (Lane){0}; }

#if LANES == 8

typedef __mmask8 Mask;
INLINE Mask greater(Lane x, Lane y) { return _mm512_cmp_pd_mask(x, y, _CMP_GT_OQ); }
INLINE Mask equal(Lane x, Lane y) { return _mm512_cmp_pd_mask(x, y, _CMP_EQ_OQ); }
INLINE Lane pick(Mask mask, Lane yes, Lane no) { return _mm512_mask_blend_pd(mask, no, yes); }
INLINE Mask complement(Mask mask) { return (Mask)~mask; }
INLINE bool any(Mask mask) { return mask != 0; }
INLINE Lane root(Lane x) { return _mm512_sqrt_pd(x); }
INLINE Lane larger(Lane x, Lane y) { return _mm512_max_pd(x, y); }
INLINE Mask lanes_before(int lane) { return (Mask)((1u << lane) - 1); }
INLINE Mask one_lane(int lane) { return (Mask)(1u << lane); }

#else

typedef int64_t Mask __attribute__((vector_size(LANES * 8)));
INLINE Mask greater(Lane x, Lane y) { return x > y; }
INLINE Mask equal(Lane x, Lane y) { return x == y; }
INLINE Mask complement(Mask mask) { return ~mask; }

#if LANES == 4
INLINE Lane pick(Mask mask, Lane yes, Lane no) { return _mm256_blendv_pd(no, yes, (Lane)mask); }
INLINE bool any(Mask mask) { return _mm256_movemask_pd((Lane)mask) != 0; }
INLINE Lane root(Lane x) { return _mm256_sqrt_pd(x); }
INLINE Lane larger(Lane x, Lane y) { return _mm256_max_pd(x, y); }
INLINE Mask lanes_before(int lane) { return (Mask){0, 1, 2, 3} < lane; }
INLINE Mask one_lane(int lane) { return (Mask){0, 1, 2, 3} == lane; }
#else
INLINE Lane pick(Mask mask, Lane yes, Lane no) { return (Lane)((mask & (Mask)yes) | (~mask & (Mask)no)); }
INLINE bool any(Mask mask) { return (mask[0] | mask[1]) != 0; }
INLINE Lane root(Lane x) { return (Lane){sqrt(x[0]), sqrt(x[1])}; }
INLINE Lane larger(Lane x, Lane y) { return pick(x > y, x, y); }
#endif

#endif

/* Numbers in pairs as all the first and all the second ones, and back; and the largest lane. */
#if LANES == 8
INLINE void part_pairs(Lane x, Lane y, Lane *first, Lane *second) {
    *first = _mm512_permutex2var_pd(x, _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0), y);
    *second = _mm512_permutex2var_pd(x, _mm512_set_epi64(15, 13, 11, 9, 7, 5, 3, 1), y);
}
INLINE void join_pairs(Lane first, Lane second, Lane *x, Lane *y) {
    *x = _mm512_permutex2var_pd(first, _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0), second);
    *y = _mm512_permutex2var_pd(first, _mm512_set_epi64(15, 7, 14, 6, 13, 5, 12, 4), second);
}
INLINE double largest_lane(Lane x) { return _mm512_reduce_max_pd(x); }
#elif LANES == 4
INLINE void part_pairs(Lane x, Lane y, Lane *first, Lane *second) {
    *first = _mm256_permute4x64_pd(_mm256_unpacklo_pd(x, y), 0xd8);
    *second = _mm256_permute4x64_pd(_mm256_unpackhi_pd(x, y), 0xd8);
}
INLINE void join_pairs(Lane first, Lane second, Lane *x, Lane *y) {
    const __m256d evens = _mm256_permute4x64_pd(first, 0xd8), odds = _mm256_permute4x64_pd(second, 0xd8);
    *x = _mm256_unpacklo_pd(evens, odds);
    *y = _mm256_unpackhi_pd(evens, odds);
}
INLINE double largest_lane(Lane x) {
    const double left = x[0] > x[1] ? x[0] : x[1], right = x[2] > x[3] ? x[2] : x[3];
    return left > right ? left : right;
}
#else
INLINE void part_pairs(Lane x, Lane y, Lane *first, Lane *second) {
    *first = (Lane){x[0], y[0]};
    *second = (Lane){x[1], y[1]};
}
INLINE void join_pairs(Lane first, Lane second, Lane *x, Lane *y) { part_pairs(first, second, x, y); }
INLINE double largest_lane(Lane x) { return x[0] > x[1] ? x[0] : x[1]; }
#endif

INLINE Mask no_lane(void) { return (Mask){0}; }

/* A mask of which all bits are set or none, for many choices: registers have room for more of these. */
INLINE Bits whole_mask(Mask mask) {
#if LANES == 8
    return (Bits)_mm512_movm_epi64(mask);
#else
#if LANES == 2 /* hides how it was made: GCC 12 fails on some choices by comparisons without AVX2 */
    __asm__("" : "+x"(mask));
#endif
    return (Bits)mask;
#endif
}
INLINE Lane pick_whole(Bits mask, Lane yes, Lane no) {
#if LANES == 8
    return (Lane)_mm512_ternarylogic_epi64((__m512i)no, (__m512i)yes, (__m512i)mask, 0xd8);
#else
    return pick((Mask)mask, yes, no);
#endif
}

static const uint64_t SIGN_BIT = (uint64_t)1 << 63;

INLINE Lane size_of(Lane x) { return (Lane)((Bits)x & ~SIGN_BIT); }

/* The size of one with the sign of the other, as copysign. */
INLINE Lane with_sign(Lane size, Lane sign) { return (Lane)(((Bits)size & ~SIGN_BIT) | ((Bits)sign & SIGN_BIT)); }

/* A size, which is not negative, with the sign of the other. */
INLINE Lane signed_like(Lane size, Lane sign) { return (Lane)((Bits)size | ((Bits)sign & SIGN_BIT)); }

/* x y + z, and z - x y, rounded once where the processor can. Of a sum of two products a compiler may round either one
 * first. */
#if LANES == 8
#define FUSES 1
INLINE Lane fused(Lane x, Lane y, Lane z) { return _mm512_fmadd_pd(x, y, z); }
INLINE Lane fused_rest(Lane x, Lane y, Lane z) { return _mm512_fnmadd_pd(x, y, z); }
#elif LANES == 4 && defined(__FMA__)
#define FUSES 1
INLINE Lane fused(Lane x, Lane y, Lane z) { return _mm256_fmadd_pd(x, y, z); }
INLINE Lane fused_rest(Lane x, Lane y, Lane z) { return _mm256_fnmadd_pd(x, y, z); }
#else
#define FUSES 0
INLINE Lane fused(Lane x, Lane y, Lane z) { return x * y + z; }
#endif

/* 1 / x, sqrt(x) and 1 / sqrt(x) of normal numbers, to one or two rounding units: where the processor has estimates of
 * 14 bits, two steps of Newton's make it in a fifth of the time of a division. Rough ones have 27 bits at least, after one
 * step. */
#if LANES == 8
INLINE Lane rough_inverse(Lane x) {
    const Lane y = _mm512_rcp14_pd(x);
    return y + y * (Lane)_mm512_fnmadd_pd(x, y, broadcast(1.0));
}
INLINE Lane inverse(Lane x) {
    const Lane y = rough_inverse(x);
    return y + y * (Lane)_mm512_fnmadd_pd(x, y, broadcast(1.0));
}
INLINE Lane rough_inverse_root(Lane x) {
    const Lane y = _mm512_rsqrt14_pd(x);
    return y + 0.5 * y * (Lane)_mm512_fnmadd_pd(x * y, y, broadcast(1.0));
}
INLINE Lane rough_root(Lane x) { return x * rough_inverse_root(x); }
INLINE Lane inverse_root(Lane x) {
    const Lane y = rough_inverse_root(x);
    return y + 0.5 * y * (Lane)_mm512_fnmadd_pd(x * y, y, broadcast(1.0));
}
#else
INLINE Lane rough_inverse(Lane x) { return 1.0 / x; }
INLINE Lane inverse(Lane x) { return 1.0 / x; }
INLINE Lane rough_root(Lane x) { return root(x); }
INLINE Lane inverse_root(Lane x) { return 1.0 / root(x); }
#endif

/* The root of a normal number, to little more than half a rounding unit, and 1 over it. */
typedef struct {
    Lane root, inverse;
} Root;
INLINE Root root_and_inverse(Lane x) {
#if LANES == 8
    const Lane over = inverse_root(x), near = x * over;
    return (Root){near + 0.5 * over * (Lane)_mm512_fnmadd_pd(near, near, x), over};
#else
    const Lane exact = root(x);
    return (Root){exact, 1.0 / exact};
#endif
}

/* A divisor of several numbers. Where products are fused the remainder is exact, and what it corrects is the rounded
 * quotient (Markstein 1990) unless it is subnormal. */
typedef struct {
    Lane divisor, inverse;
} Quotient;
INLINE Quotient quotient_by(Lane divisor) { return (Quotient){divisor, 1.0 / divisor}; }
INLINE Lane quotient(Lane x, Quotient y) {
#if FUSES
    const Lane first = x * y.inverse;
    return fused(fused_rest(first, y.divisor, x), y.inverse, first);
#else
    return x / y.divisor;
#endif
}

/* Whole numbers from 0 to 2^51 in doubles, as integers. */
INLINE Bits integers(Lane whole) { return (Bits)(whole + 0x1p52) - (Bits)broadcast(0x1p52); }

/* Of each lane the number at a place of its own. */
INLINE Lane gather(const Lane *lanes, Bits places) {
#if LANES == 8
    const Bits at = places * LANES + (Bits){0, 1, 2, 3, 4, 5, 6, 7};
    return _mm512_i64gather_pd((__m512i)at, lanes, 8);
#elif LANES == 4
    const Bits at = places * LANES + (Bits){0, 1, 2, 3};
    return _mm256_i64gather_pd((const double *)lanes, (__m256i)at, 8);
#else
    return (Lane){lanes[places[0]][0], lanes[places[1]][1]};
#endif
}

INLINE void scatter(Lane *lanes, Bits places, Lane numbers) {
#if LANES == 8
    const Bits at = places * LANES + (Bits){0, 1, 2, 3, 4, 5, 6, 7};
    _mm512_i64scatter_pd(lanes, (__m512i)at, numbers, 8);
#else
    for (int lane = 0; lane < LANES; lane++) lanes[places[lane]][lane] = numbers[lane];
#endif
}

/* The exponent e of each lane, 2^e <= |x| < 2^(e+1), as a whole number in a double; -1023 for zeros and subnormals. */
INLINE Lane exponent(Lane x) {
    Bits field = ((Bits)x >> 52) & 0x7ff;
    return (Lane)(field | (Bits)broadcast(0x1p52)) - (0x1p52 + 1023.0); /* the field in the last bits of 2^52 */
}

/* 2^e for whole numbers e from -1022 to 1023. */
INLINE Lane power_of_two(Lane e) { return (Lane)((Bits)(e + (0x1p52 + 1023.0)) << 52); }

/* 1 / factor for a power of two from 2^-1000 to 2^1000, exactly. */
INLINE Lane inverse_power(Lane factor) { return power_of_two(-exponent(factor)); }

/* x, or the bound or its opposite where x is beyond it. */
INLINE Lane within(Lane x, double bound) {
    x = pick(greater(x, broadcast(bound)), broadcast(bound), x);
    return pick(greater(broadcast(-bound), x), broadcast(-bound), x);
}

/* The power of two that brings x to between 2^target and 2^(target+1), as far as that is between 2^-1000 and 2^1000. */
INLINE Lane scale_to(Lane x, double target) { return power_of_two(within(target - exponent(x), 1000.0)); }

#endif
