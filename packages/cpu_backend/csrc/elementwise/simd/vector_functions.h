/* Exponentials, logarithms and hyperbolic tangents of 8 F64 or 16 F32 at once, and powers of 16 F32, with AVX-512, without
 * a branch but for the ends of the range. Errors are below 2 rounding units, those of hyperbolic tangents below 3.
 *
 * Method: as in exponential.h; the polynomials are those of least greatest error for their degree, found by Remez' exchange
 * (Jean-Michel Muller, Elementary Functions, 3rd edition, 2016, section 3.6). Of tanh(x), (E - 1) / (E + 1) with E =
 * exp(2 x) = 2^k (1 + q), numerator and denominator are made of q, so that nothing cancels near 0; that of F64 is told
 * beside it. For log(x), the reciprocal of the mantissa is rounded to 5 bits, of which a table has the logarithm; near 1 it
 * is 1 and its logarithm 0 (Ping-Tak Peter Tang, Table-driven implementation of the logarithm function, ACM Transactions on
 * Mathematical Software 16, 1990).
 */
#include <immintrin.h>

typedef __m512d Eight;
typedef __m512 Sixteen;

#define POLYNOMIAL(Vector, fma, set, x, coefficients)                                                                  \
    ({                                                                                                                 \
        Vector sum = set(coefficients[sizeof coefficients / sizeof *coefficients - 1]);                                \
        _Pragma("GCC unroll 12") for (int j = (int)(sizeof coefficients / sizeof *coefficients) - 2; j >= 0; j--)      \
            sum = fma(sum, x, set(coefficients[j]));                                                                   \
        sum;                                                                                                           \
    })

/* exp(r) - 1 = r + r² times the polynomial, |r| <= ln 2 / 2 */
static const double EXPONENTIAL_F64[] = {
    0.50000000000000055502,   0.16666666666666685989,    0.041666666666573622826,  0.0083333333333145979692,
    0.0013888888932379399017, 0.00019841269903016073904, 2.4801504445290168419e-5, 2.7557227967625306791e-6,
    2.7626326775603429084e-7, 2.51144685095874022e-8,
};
static const float EXPONENTIAL_F32[] = {0.50000000619357529844f, 0.16666542992302235689f, 0.041666282026629317024f,
                                        0.008366583933956981195f, 0.0013946450090149706154f};

/* Of hyperbolic tangents: exp(2 s) - 1 = 2 s + s² times the polynomial, |s| <= ln 2 / 64 */
static const double FINE_EXPONENTIAL[] = {2, 1.3333333332240915829, 0.66666666663935627355, 0.26667039118490739702,
                                          0.088889820017235276048};
/* The bits of 2^(j / 16), less j 2^48: what shifts 16 k + j there makes 2^(k + j / 16) of it. */
static const uint64_t SIXTEENTH_POWERS[16] = {
    0x3ff0000000000000, 0x3fefb5586cf9890f, 0x3fef72b83c7d517b, 0x3fef387a6e756238,
    0x3fef06fe0a31b715, 0x3feedea64c123422, 0x3feebfdad5362a27, 0x3feeab07dd485429,
    0x3feea09e667f3bcd, 0x3feea11473eb0187, 0x3feeace5422aa0db, 0x3feec49182a3f090,
    0x3feee89f995ad3ad, 0x3fef199bdd85529c, 0x3fef5818dcfba487, 0x3fefa4afa2a490da,
};
/* tanh(x) = x + x³ times the quotient of two polynomials of x², |x| < 0.625 (Cephes) */
static const double TANGENT_ABOVE[] = {-1.61468768441708447952e3, -9.92877231001918586564e1,
                                       -9.64399179425052238628e-1};
static const double TANGENT_BELOW[] = {4.84406305325125486048e3, 2.23548839060100448583e3, 1.12811678491632931402e2, 1};

/* log(1 + r) = r + r² times the polynomial, |r| <= 1 / 31 */
static const double LOGARITHM[] = {
    -0.50000000000000000142, 0.33333333333332587731, -0.24999999999997205191,
    0.20000000006960556657,  -0.1666666668078962109, 0.14285694089389922214,
    -0.12499971248522992981, 0.11134200492431384739, -0.10025625588079136633,
};

/* -log(1 + j / 16) in two parts, of which the first is a multiple of 2^-42 */
static const double LOGARITHMS_HIGH[16] = {
    0,
    -0x1.f0a30c0118p-5,
    -0x1.e27076e2b0p-4,
    -0x1.5ff3070a7ap-3,
    -0x1.c8ff7c79aap-3,
    -0x1.1675cababap-2,
    -0x1.4618bc21c6p-2,
    -0x1.739d7f6bbdp-2,
    -0x1.9f323ecbfap-2,
    -0x1.c8ff7c79aap-2,
    -0x1.f128f5faf0p-2,
    -0x1.0be72e42528p-1,
    -0x1.1e85f5e704p-1,
    -0x1.307d7334f1p-1,
    -0x1.41d8fe8467p-1,
    -0x1.52a2d265bc8p-1,
};
static const double LOGARITHMS_LOW[16] = {
    0,
    5.2136206391365041336e-14,
    4.6547297475984447325e-14,
    8.649239607212070587e-14,
    4.1697965845271952891e-14,
    -8.6043067728087329325e-14,
    1.7625431312172662757e-14,
    -3.6708569716349381675e-16,
    1.0947087136606639753e-13,
    8.3395931690543905783e-14,
    -9.8404652782326275262e-14,
    -7.1355506601181214625e-14,
    -2.3119493838005379122e-14,
    -2.1107989157842297943e-14,
    -7.6204838231893709059e-14,
    6.6287917903907479466e-14,
};

/* Of powers of F32, which are computed in F64: log2(1 + r) = r times the polynomial, |r| <= 3 / 64 */
static const double BINARY_LOGARITHM[] = {1.4426950409585977,  -0.72134752081035924, 0.48089777974050452,
                                          -0.3606727116831504, 0.28922329047162293,  -0.24124792998514821};
/* 2^f = 1 + f times the polynomial, |f| <= 1 / 2 */
static const double BINARY_EXPONENTIAL[] = {0.69314720285499087,  0.24022647913641712,   0.055503324712349277,
                                            0.009618437356466886, 0.0013398874380960112, 0.00015353362182979807};
/* -log2(c) of c = 11/16 ... 21/16, where the first 4 bits of its mantissa say; those below 1 have even ones from 6 on. */
static const double BINARY_LOGARITHMS[16] = {0,
                                             -0.0874628412503394,
                                             -0.16992500144231237,
                                             -0.2479275134435855,
                                             -0.32192809488736235,
                                             -0.3923174227787603,
                                             0.5405683813627028,
                                             0,
                                             0.4150374992788438,
                                             0,
                                             0.2995602818589078,
                                             0,
                                             0.19264507794239588,
                                             0,
                                             0.09310940439148147,
                                             0};

/* exp(x - k ln 2) - 1, with k in *whole */
static inline Eight reduced_eight(Eight x, Eight *whole) {
    const Eight shifter = _mm512_set1_pd(0x1.8p52);
    const Eight k = _mm512_sub_pd(_mm512_fmadd_pd(x, _mm512_set1_pd(1.44269504088896340736), shifter), shifter);
    const Eight near = _mm512_fnmadd_pd(k, _mm512_set1_pd(6.93147180369123816490e-01), x);
    const Eight r = _mm512_fnmadd_pd(k, _mm512_set1_pd(1.90821492927058770002e-10), near);
    *whole = k;
    return _mm512_fmadd_pd(_mm512_mul_pd(r, r), POLYNOMIAL(Eight, _mm512_fmadd_pd, _mm512_set1_pd, r, EXPONENTIAL_F64),
                           r);
}

static inline Sixteen reduced_sixteen(Sixteen x, Sixteen *whole) {
    const Sixteen shifter = _mm512_set1_ps(0x1.8p23f);
    const Sixteen k = _mm512_sub_ps(_mm512_fmadd_ps(x, _mm512_set1_ps(1.44269504088896340736f), shifter), shifter);
    const Sixteen near = _mm512_fnmadd_ps(k, _mm512_set1_ps(6.9313812256e-01f), x);
    const Sixteen r = _mm512_fnmadd_ps(k, _mm512_set1_ps(9.0580006145e-06f), near);
    *whole = k;
    return _mm512_fmadd_ps(_mm512_mul_ps(r, r),
                           POLYNOMIAL(Sixteen, _mm512_fmadd_ps, _mm512_set1_ps, r, EXPONENTIAL_F32), r);
}

/* Of min and max, NaN is the second operand's. */
static inline Eight exp_eight(Eight x) {
    Eight k;
    x = _mm512_max_pd(_mm512_set1_pd(-746), _mm512_min_pd(_mm512_set1_pd(710), x));
    const Eight q = reduced_eight(x, &k);
    return _mm512_scalef_pd(_mm512_add_pd(q, _mm512_set1_pd(1)), k);
}

static inline Sixteen exp_sixteen(Sixteen x) {
    Sixteen k;
    x = _mm512_max_ps(_mm512_set1_ps(-104), _mm512_min_ps(_mm512_set1_ps(89), x));
    const Sixteen q = reduced_sixteen(x, &k);
    return _mm512_scalef_ps(_mm512_add_ps(q, _mm512_set1_ps(1)), k);
}

static inline Sixteen tanh_sixteen(Sixteen x) {
    const Sixteen sign = _mm512_set1_ps(-0.0f), one = _mm512_set1_ps(1);
    const Sixteen size = _mm512_min_ps(_mm512_set1_ps(10), _mm512_andnot_ps(sign, x));
    Sixteen k;
    const Sixteen q = reduced_sixteen(_mm512_add_ps(size, size), &k);
    const Sixteen scale = _mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_castps_si512(_mm512_add_ps(k, _mm512_set1_ps(0x1.8p23f + 127))), 23));
    const Sixteen above = _mm512_fmadd_ps(scale, q, _mm512_sub_ps(scale, one));
    const Sixteen below = _mm512_add_ps(above, _mm512_set1_ps(2));
    return _mm512_or_ps(_mm512_div_ps(above, below), _mm512_and_ps(sign, x));
}

/* Within 1.7 rounding units: x + x³ times a quotient below 0.6, else 1 - 2 / (exp(2 x) + 1), both with one division. The
 * exponential is 2^(n / 16) exp(2 s); half of ln 2 / 16 needs no second part, as its 53 bits are near enough for n <= 924. */
static inline Eight tanh_eight(Eight x) {
    const Eight sign = _mm512_set1_pd(-0.0), one = _mm512_set1_pd(1), shifter = _mm512_set1_pd(0x1.8p52);
    const Eight size = _mm512_min_pd(_mm512_set1_pd(20), _mm512_andnot_pd(sign, x)), z = _mm512_mul_pd(size, size);
    const Eight shifted = _mm512_fmadd_pd(size, _mm512_set1_pd(46.16624130844683), shifter);
    const Eight s = _mm512_fnmadd_pd(_mm512_sub_pd(shifted, shifter), _mm512_set1_pd(0x1.62e42fefa39efp-6), size);
    const __m512i n = _mm512_castpd_si512(shifted);
    const __m512i part =
        _mm512_permutex2var_epi64(_mm512_loadu_si512(SIXTEENTH_POWERS), n, _mm512_loadu_si512(SIXTEENTH_POWERS + 8));
    const Eight power = _mm512_castsi512_pd(_mm512_add_epi64(part, _mm512_slli_epi64(n, 48)));
    const Eight q =
        _mm512_fmadd_pd(_mm512_mul_pd(s, s), POLYNOMIAL(Eight, _mm512_fmadd_pd, _mm512_set1_pd, s, FINE_EXPONENTIAL),
                        _mm512_add_pd(s, s));
    const Eight larger = _mm512_fmadd_pd(power, q, _mm512_add_pd(power, one));
    const __mmask8 small = _mm512_cmp_pd_mask(size, _mm512_set1_pd(0.625), _CMP_LT_OQ);
    const Eight above = _mm512_mask_mul_pd(_mm512_set1_pd(-2), small, _mm512_mul_pd(size, z),
                                           POLYNOMIAL(Eight, _mm512_fmadd_pd, _mm512_set1_pd, z, TANGENT_ABOVE));
    const Eight below =
        _mm512_mask_mov_pd(larger, small, POLYNOMIAL(Eight, _mm512_fmadd_pd, _mm512_set1_pd, z, TANGENT_BELOW));
    const Eight found = _mm512_add_pd(_mm512_div_pd(above, below), _mm512_mask_mov_pd(one, small, size));
    return _mm512_or_pd(found, _mm512_and_pd(sign, x));
}

static inline Eight log_eight(Eight x) {
    const Eight one = _mm512_set1_pd(1), infinity = _mm512_set1_pd(INFINITY), zero = _mm512_setzero_pd();
    const Eight mantissa = _mm512_getmant_pd(x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_zero);
    const Eight reciprocal = _mm512_roundscale_pd(_mm512_rcp14_pd(mantissa), 5 << 4);
    const Eight k = _mm512_sub_pd(_mm512_getexp_pd(x), _mm512_getexp_pd(reciprocal));
    const Eight r = _mm512_fmsub_pd(mantissa, reciprocal, one);
    const __m512i place = _mm512_srli_epi64(_mm512_castpd_si512(reciprocal), 48); /* its last 4 bits count */
    const Eight high = _mm512_fmadd_pd(
        k, _mm512_set1_pd(6.93147180369123816490e-01),
        _mm512_permutex2var_pd(_mm512_loadu_pd(LOGARITHMS_HIGH), place, _mm512_loadu_pd(LOGARITHMS_HIGH + 8)));
    const Eight low = _mm512_fmadd_pd(
        k, _mm512_set1_pd(1.90821492927058770002e-10),
        _mm512_permutex2var_pd(_mm512_loadu_pd(LOGARITHMS_LOW), place, _mm512_loadu_pd(LOGARITHMS_LOW + 8)));
    const Eight p = POLYNOMIAL(Eight, _mm512_fmadd_pd, _mm512_set1_pd, r, LOGARITHM);
    const Eight found = _mm512_add_pd(high, _mm512_add_pd(r, _mm512_fmadd_pd(_mm512_mul_pd(r, r), p, low)));
    const __mmask8 ordinary = _mm512_cmp_pd_mask(x, zero, _CMP_GT_OQ) & _mm512_cmp_pd_mask(x, infinity, _CMP_LT_OQ);
    if (__builtin_expect(ordinary == 0xff, 1)) return found;
    Eight outside = _mm512_mask_mov_pd(x, _mm512_cmp_pd_mask(x, zero, _CMP_LT_OQ), _mm512_set1_pd(NAN));
    outside = _mm512_mask_mov_pd(outside, _mm512_cmp_pd_mask(x, zero, _CMP_EQ_OQ), _mm512_set1_pd(-INFINITY));
    return _mm512_mask_mov_pd(outside, ordinary, found);
}

/* (2^k m)^y, of m = (1 + r) / c. */
static inline __m256 power_eight(__m256 c, __m256 r, __m256 k, __m256 y) {
    const Eight reciprocal = _mm512_cvtps_pd(c), rest = _mm512_cvtps_pd(r);
    const __m512i place = _mm512_srli_epi64(_mm512_castpd_si512(reciprocal), 48); /* its last 4 bits count */
    const Eight high =
        _mm512_add_pd(_mm512_cvtps_pd(k), _mm512_permutex2var_pd(_mm512_loadu_pd(BINARY_LOGARITHMS), place,
                                                                 _mm512_loadu_pd(BINARY_LOGARITHMS + 8)));
    const Eight logarithm =
        _mm512_fmadd_pd(rest, POLYNOMIAL(Eight, _mm512_fmadd_pd, _mm512_set1_pd, rest, BINARY_LOGARITHM), high);
    const Eight exponent = _mm512_mul_pd(logarithm, _mm512_cvtps_pd(y));
    const Eight whole = _mm512_roundscale_pd(exponent, 0), f = _mm512_sub_pd(exponent, whole);
    const Eight power = _mm512_fmadd_pd(f, POLYNOMIAL(Eight, _mm512_fmadd_pd, _mm512_set1_pd, f, BINARY_EXPONENTIAL),
                                        _mm512_set1_pd(1));
    return _mm512_cvtpd_ps(_mm512_scalef_pd(power, whole));
}

/* The limits of C's pow, where `found` is that of |x| and y, if both are finite and x is not 0. */
static __attribute__((noinline)) Sixteen power_outside(Sixteen x, Sixteen y, Sixteen found) {
    const Sixteen sign = _mm512_set1_ps(-0.0f), zero = _mm512_setzero_ps(), one = _mm512_set1_ps(1);
    const Sixteen infinity = _mm512_set1_ps(INFINITY), size = _mm512_andnot_ps(sign, x);
    const __mmask16 is_zero = _mm512_cmp_ps_mask(x, zero, _CMP_EQ_OQ);
    const __mmask16 is_infinite = _mm512_cmp_ps_mask(size, infinity, _CMP_EQ_OQ);
    const __mmask16 up = _mm512_cmp_ps_mask(y, zero, _CMP_GT_OQ), none = _mm512_cmp_ps_mask(y, zero, _CMP_EQ_OQ);
    const __mmask16 endless = _mm512_cmp_ps_mask(_mm512_andnot_ps(sign, y), infinity, _CMP_EQ_OQ);
    const __mmask16 above = _mm512_cmp_ps_mask(size, one, _CMP_GT_OQ), unit = _mm512_cmp_ps_mask(size, one, _CMP_EQ_OQ);
    const __mmask16 is_one = _mm512_cmp_ps_mask(x, one, _CMP_EQ_OQ);
    const __mmask16 ends = (__mmask16)(is_zero | is_infinite | endless);
    found = _mm512_mask_mov_ps(found, ends, zero); /* or infinite, where a base above 1 goes up or another one down */
    found = _mm512_mask_mov_ps(found, (__mmask16)(ends & ~(above ^ up)), infinity);
    found = _mm512_mask_mov_ps(found, (__mmask16)(none | is_one | (endless & unit)), one);
    const __mmask16 below = _mm512_movepi32_mask(_mm512_castps_si512(x));
    const __mmask16 is_whole = _mm512_cmp_ps_mask(_mm512_roundscale_ps(y, 0), y, _CMP_EQ_OQ);
    const __mmask16 is_odd = /* beyond 2^31, where all are even, the whole number is -2^31 */
        is_whole & _mm512_test_epi32_mask(_mm512_cvttps_epi32(y), _mm512_set1_epi32(1));
    found = _mm512_mask_xor_ps(found, below & is_odd, found, sign);
    const __mmask16 broken = (__mmask16)(below & ~(is_whole | is_zero | is_infinite));
    found = _mm512_mask_mov_ps(found, broken, _mm512_set1_ps(NAN));
    const __mmask16 unordered = _mm512_cmp_ps_mask(x, y, _CMP_UNORD_Q);
    return _mm512_mask_add_ps(found, (__mmask16)(unordered & ~(none | is_one)), x, y);
}

/* Within 0.6 rounding units. Mantissas are from 3/4 to 3/2, and the reciprocal of one near 1 is 1. */
static inline Sixteen power_sixteen(Sixteen x, Sixteen y) {
    const Sixteen mantissa = _mm512_getmant_ps(x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_zero);
    const Sixteen c = _mm512_roundscale_ps(_mm512_rcp14_ps(mantissa), 4 << 4);
    const Sixteen k = _mm512_sub_ps(_mm512_getexp_ps(x), _mm512_getexp_ps(mantissa));
    const Sixteen r = _mm512_fmsub_ps(mantissa, c, _mm512_set1_ps(1));
#define UPPER(v) _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(v), 1))
#define LOWER(v) _mm512_castps512_ps256(v)
    const __m256 lower = power_eight(LOWER(c), LOWER(r), LOWER(k), LOWER(y));
    const __m256 upper = power_eight(UPPER(c), UPPER(r), UPPER(k), UPPER(y));
    const Sixteen found = _mm512_castpd_ps(
        _mm512_insertf64x4(_mm512_castps_pd(_mm512_castps256_ps512(lower)), _mm256_castps_pd(upper), 1));
#undef UPPER
#undef LOWER
    enum { IS_NAN = 0x81, IS_INFINITE = 0x18, IS_ZERO = 0x06, IS_BELOW_ZERO = 0x40 };
    const __mmask16 outside = _mm512_fpclass_ps_mask(x, IS_NAN | IS_INFINITE | IS_ZERO | IS_BELOW_ZERO) |
                              _mm512_fpclass_ps_mask(y, IS_NAN | IS_INFINITE);
    return __builtin_expect(outside == 0, 1) ? found : power_outside(x, y, found);
}

static void power_sixteens(Index n, void *result, const void *first, const void *second, Third third) {
    float *d = result;
    const float *a = first, *b = second;
    const Sixteen one = _mm512_set1_ps(1);
    Index i = 0;
    (void)third;
    for (; i + 16 <= n; i += 16) _mm512_storeu_ps(d + i, power_sixteen(_mm512_loadu_ps(a + i), _mm512_loadu_ps(b + i)));
    if (i == n) return;
    const __mmask16 rest = (__mmask16)((1u << (n - i)) - 1);
    const Sixteen x = _mm512_mask_loadu_ps(one, rest, a + i), y = _mm512_mask_loadu_ps(one, rest, b + i);
    _mm512_mask_storeu_ps(d + i, rest, power_sixteen(x, y));
}

/* A loop that applies a function to as many elements as a vector holds. */
#define VECTOR_LOOP(name, T, suffix, lanes, Mask)                                                                      \
    static void name##s_##suffix(Index n, void *result, const void *first, const void *second, Third third) {          \
        T *d = result;                                                                                                 \
        const T *a = first;                                                                                            \
        Index i = 0;                                                                                                   \
        (void)second, (void)third;                                                                                     \
        for (; i + lanes <= n; i += lanes) _mm512_storeu_##suffix(d + i, name(_mm512_loadu_##suffix(a + i)));          \
        if (i == n) return;                                                                                            \
        const Mask rest = (Mask)((1u << (n - i)) - 1);                                                                 \
        _mm512_mask_storeu_##suffix(d + i, rest, name(_mm512_maskz_loadu_##suffix(rest, a + i)));                      \
    }

VECTOR_LOOP(exp_eight, double, pd, 8, __mmask8)
VECTOR_LOOP(exp_sixteen, float, ps, 16, __mmask16)
VECTOR_LOOP(tanh_eight, double, pd, 8, __mmask8)
VECTOR_LOOP(tanh_sixteen, float, ps, 16, __mmask16)
VECTOR_LOOP(log_eight, double, pd, 8, __mmask8)
