/* Exponentials, logarithms and what is made of them, one element at a time and without a branch, for the compiler to
 * vectorise: T with the suffix SUFFIX, whose bits are BITS. Errors are below 2 rounding units, gate's below 4.
 *
 * Method: x = k ln 2 + r with |r| <= ln 2 / 2, ln 2 in two parts, and the Taylor polynomial of exp(r), whose rest is below
 * a tenth of a rounding unit (Jean-Michel Muller, Elementary Functions, 3rd edition, 2016, section 6.2). The coefficients
 * of tanh near 0 are those of Stephen Moshier's Cephes; those of log are fdlibm's.
 */

INLINE T NAME(of_bits)(BITS bits) {
    T x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

INLINE BITS NAME(bits_of)(T x) {
    BITS bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

INLINE T NAME(multiply_add)(T x, T y, T z) { return FMA(x, y, z); }

/* 2^k of a whole number k, in the range of normal numbers: adding SHIFTER leaves k in the last bits. */
INLINE T NAME(power_of_two)(T k) { return NAME(of_bits)(NAME(bits_of)(k + (SHIFTER + BIAS)) << MANTISSA); }

/* The polynomial of exp(x - k ln 2), with k in *whole. */
INLINE T NAME(reduced)(T x, T *whole) {
    const T k = FMA(x, (T)1.44269504088896340736, SHIFTER) - SHIFTER;
    const T r = FMA(-k, LN2_LOW, FMA(-k, LN2_HIGH, x));
    *whole = k;
#if IS_DOUBLE
    T p = (T)(1 / 6227020800.0);
    p = FMA(p, r, (T)(1 / 479001600.0));
    p = FMA(p, r, (T)(1 / 39916800.0));
    p = FMA(p, r, (T)(1 / 3628800.0));
    p = FMA(p, r, (T)(1 / 362880.0));
    p = FMA(p, r, (T)(1 / 40320.0));
    p = FMA(p, r, (T)(1 / 5040.0));
#else
    T p = (T)(1 / 5040.0);
#endif
    p = FMA(p, r, (T)(1 / 720.0));
    p = FMA(p, r, (T)(1 / 120.0));
    p = FMA(p, r, (T)(1 / 24.0));
    p = FMA(p, r, (T)(1 / 6.0));
    p = FMA(p, r, (T)0.5);
    return FMA(r * r, p, r) + 1;
}

/* exp(x), of x whose exponential is a normal number. */
INLINE T NAME(exp_within)(T x) {
    T k;
    const T p = NAME(reduced)(x, &k);
    return p * NAME(power_of_two)(k);
}

/* exp(x) of any x: the scale in two factors, of which the second alone rounds what is subnormal. */
INLINE T NAME(exponential)(T x) {
    T k;
    x = x > GREATEST ? GREATEST : x; /* NaN stays */
    x = x < LEAST ? LEAST : x;
    const T p = NAME(reduced)(x, &k);
    const T half = FMA(k, (T)0.5, SHIFTER) - SHIFTER;
    return p * NAME(power_of_two)(half) * NAME(power_of_two)(k - half);
}

/* 1 / (1 + exp(-x)), of exp(-|x|), so that nothing overflows and small results keep their bits. */
INLINE T NAME(logistic)(T x) {
    const T e = NAME(exponential)(x < 0 ? x : -x);
    return (x < 0 ? e : 1) / (1 + e);
}

/* x times the logistic function of y. Below 0 that is s²/(1 + s²) with s = exp(y / 2); x is multiplied by s once before
 * and once after everything else, so that a subnormal result is rounded once. -0.0 at minus infinity. */
INLINE T NAME(gate)(T x, T y) {
    const T s = NAME(exponential)(y < 0 ? y * (T)0.5 : y * (T)-0.5);
    const T factor = y >= 0 ? 1 : s;
    const T finite = x < -LARGEST ? -LARGEST : x;
    return finite * factor / (1 + s * s) * factor;
}

#if IS_DOUBLE
/* tanh(|x|) is above / below + rest: one quotient for small and for other ones. */
INLINE void NAME(hyperbolic_tangent_parts)(T x, T *above, T *below, T *rest) {
    const T size = FUNCTION(fabs)(x), a = size > 20 ? 20 : size, z = a * a;
    const bool small = a < 0.625;
    T p = FMA(-9.64399179425052238628e-1, z, -9.92877231001918586564e1);
    p = FMA(p, z, -1.61468768441708447952e3);
    T q = z + 1.12811678491632931402e2;
    q = FMA(q, z, 2.23548839060100448583e3);
    q = FMA(q, z, 4.84406305325125486048e3);
    const T e = NAME(exp_within)(a + a);
    *above = small ? a * z * p : -2;
    *below = small ? q : e + 1;
    *rest = small ? a : 1;
}

INLINE T NAME(logarithm)(T x) {
    const bool tiny = x < 0x1p-1022;
    const BITS bits = NAME(bits_of)(tiny ? x * 0x1p54 : x) + (0x3ff0000000000000 - 0x3fe6a09e667f3bcd);
    const T k = NAME(of_bits)((bits >> MANTISSA) | 0x4330000000000000) - (0x1p52 + BIAS) - (tiny ? 54 : 0);
    const T f = NAME(of_bits)((bits & 0x000fffffffffffff) + 0x3fe6a09e667f3bcd) - 1;
    const T s = f / (2 + f), z = s * s, w = z * z, half = 0.5 * f * f;
    const T even = w * FMA(w, FMA(w, 1.531383769920937332e-01, 2.222219843214978396e-01), 3.999999999940941908e-01);
    const T odd =
        z * FMA(w, FMA(w, FMA(w, 1.479819860511658591e-01, 1.818357216161805012e-01), 2.857142874366239149e-01),
                6.666666666666735130e-01);
    const T found = k * LN2_HIGH - ((half - FMA(s, half + (odd + even), k * LN2_LOW)) - f);
    const T outside = x == 0 ? -(T)INFINITY : x < 0 ? (T)NAN : x; /* infinity and NaN are themselves */
    return x > 0 && x < (T)INFINITY ? found : outside;
}
#endif
