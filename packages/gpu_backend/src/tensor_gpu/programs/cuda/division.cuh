/* Divisions that round, their remainders, powers of integers, and casts; f_NAME is what the elementwise kernel NAME
 * computes. A zero divisor of integers gives 0 here: whoever refuses it looks at the divisors. The smallest integer over
 * -1 wraps. Of floats, every step is rounded as the CPU backend rounds it. */

template <class T> struct divided {
    static __device__ T floor_quotient(T a, T b) {
        if (b == (T)0) return (T)0;
        if (b == (T)-1) return f_negative(a);
        const T quotient = a / b;
        return a % b != (T)0 && (a < (T)0) != (b < (T)0) ? quotient - 1 : quotient;
    }
    static __device__ T floor_remainder(T a, T b) {
        const T rest = truncated_remainder(a, b);
        return rest != (T)0 && (rest < (T)0) != (b < (T)0) ? rest + b : rest;
    }
    static __device__ T truncated_quotient(T a, T b) { return b == (T)0 ? (T)0 : b == (T)-1 ? f_negative(a) : a / b; }
    static __device__ T truncated_remainder(T a, T b) { return b == (T)0 || b == (T)-1 ? (T)0 : a % b; }
};

template <class T> struct divided_real {
    static __device__ T floor_remainder(T a, T b) {
        const T rest = fmod(a, b);
        if (b == (T)0) return rest;
        if (rest == (T)0) return copysign((T)0, b);
        return (b < (T)0) != (rest < (T)0) ? rest + b : rest;
    }
    static __device__ T floor_quotient(T a, T b) {
        if (b == (T)0) return a / b;
        const T rest = fmod(a, b);
        T quotient = (a - rest) / b;
        if (rest != (T)0 && (b < (T)0) != (rest < (T)0)) quotient -= (T)1;
        if (quotient == (T)0) return copysign((T)0, a / b);
        const T whole = floor(quotient);
        return quotient - whole > (T)0.5 ? whole + (T)1 : whole;
    }
    static __device__ T truncated_quotient(T a, T b) {
        const T plain = a / b;
        return b == (T)0 ? plain : copysign(rint((a - fmod(a, b)) / b), plain);
    }
    static __device__ T truncated_remainder(T a, T b) { return fmod(a, b); }
};
template <> struct divided<float> : divided_real<float> {};
template <> struct divided<double> : divided_real<double> {};

template <class T> __device__ T f_floor_divide(T a, T b) { return divided<T>::floor_quotient(a, b); }
template <class T> __device__ T f_remainder(T a, T b) { return divided<T>::floor_remainder(a, b); }
template <class T> __device__ T f_trunc_divide(T a, T b) { return divided<T>::truncated_quotient(a, b); }
template <class T> __device__ T f_fmod(T a, T b) { return divided<T>::truncated_remainder(a, b); }

/* div and rem are the strict divisions: of integers truncated, of floats true. */
template <class T> __device__ T f_div(T a, T b) { return f_trunc_divide(a, b); }
__device__ inline float f_div(float a, float b) { return a / b; }
__device__ inline double f_div(double a, double b) { return a / b; }
template <class T> __device__ T f_rem(T a, T b) { return f_fmod(a, b); }

/* Powers of integers by squares, which wrap; a negative exponent gives 0 here. */
template <class T> __device__ T integer_power(T base, T exponent) {
    T power = (T)(exponent >= 0);
    for (; exponent > 0; exponent >>= 1) {
        if (exponent & 1) power = f_multiply(power, base);
        base = f_multiply(base, base);
    }
    return power;
}
__device__ inline int f_pow(int base, int exponent) { return integer_power(base, exponent); }
__device__ inline long long f_pow(long long base, long long exponent) { return integer_power(base, exponent); }

/* Whole exponents by squares, so that powers of whole numbers are whole where they have few digits: devices' own pow may
 * be off by a unit there, too. Of float in the digits of double; of double in twice its digits, away from the ends of
 * the range. */
__device__ inline float f_pow(float base, float exponent) {
    if (!(trunc(exponent) == exponent && fabs(exponent) <= 64.0f)) return pow(base, exponent);
    double power = 1.0, square = base;
    for (int n = (int)fabs(exponent); n > 0; n >>= 1) {
        if (n & 1) power *= square;
        if (n > 1) square *= square;
    }
    return (float)(exponent < 0.0f ? 1.0 / power : power);
}
struct twice_double {
    double high, low;
};
__device__ inline twice_double times(twice_double a, twice_double b) {
    const double product = a.high * b.high;
    const double rest = fma(a.high, b.high, -product) + (a.high * b.low + a.low * b.high);
    const double high = product + rest;
    return {high, rest - (high - product)};
}
__device__ inline double f_pow(double base, double exponent) {
    const double found = pow(base, exponent), size = fabs(found);
    const bool inside = size > 1e-250 && size < 1e250;
    if (!(inside && trunc(exponent) == exponent && fabs(exponent) <= 64.0)) return found;
    twice_double power = {1.0, 0.0}, square = {base, 0.0};
    for (int n = (int)fabs(exponent); n > 0; n >>= 1) {
        if (n & 1) power = times(power, square);
        if (n > 1) square = times(square, square);
    }
    if (exponent >= 0.0) return power.high + power.low;
    const double inverse = 1.0 / power.high;
    return inverse + inverse * (fma(-inverse, power.high, 1.0) - inverse * power.low);
}

/* f_cast_wrap<T>(x): x without its fraction, modulo 2^64 or 2^32; 0 for infinities and what is no number.
 * f_cast_saturate<T>(x): the nearest number that the type has; 0 for what is no number.
 * f_cast_error<T>(x): any of these, as whoever refuses numbers out of range looks at them.
 * Targets that are no integers are those of to<T>. */
template <class T> struct cast_to {
    template <class S> static __device__ T wrapped(S x) { return to<T>(x); }
    template <class S> static __device__ T saturated(S x) { return to<T>(x); }
};

template <class T> struct cast_to_integer {
    static __device__ T wrapped(double x) {
        if (!is_finite(x)) return (T)0;
        const double rest = fmod(trunc(x), 18446744073709551616.0);
        const unsigned long long size = (unsigned long long)fabs(rest);
        return (T)(rest < 0.0 ? 0ull - size : size);
    }
    static __device__ T saturated(double x) {
        const double end = width_of<T>::value == 32 ? 2147483648.0 : 9223372036854775808.0;
        if (is_nan(x)) return (T)0;
        if (trunc(x) >= end) return (T)(~0ull >> (65 - width_of<T>::value));
        if (trunc(x) < -end) return (T)(~(~0ull >> (65 - width_of<T>::value)));
        return (T)x;
    }
    static __device__ T saturated(long long x) {
        if (width_of<T>::value == 64) return (T)x;
        return (T)(x > 2147483647LL ? 2147483647LL : x < -2147483647LL - 1 ? -2147483647LL - 1 : x);
    }
    static __device__ T wrapped(long long x) { return (T)x; }
    static __device__ T wrapped(float x) { return wrapped((double)x); }
    static __device__ T saturated(float x) { return saturated((double)x); }
    static __device__ T wrapped(int x) { return (T)x; }
    static __device__ T saturated(int x) { return (T)x; }
    static __device__ T wrapped(bool x) { return (T)x; }
    static __device__ T saturated(bool x) { return (T)x; }
    template <class S> static __device__ T wrapped(complex_of<S> x) { return wrapped((double)x.re); }
    template <class S> static __device__ T saturated(complex_of<S> x) { return saturated((double)x.re); }
};
template <> struct cast_to<int> : cast_to_integer<int> {};
template <> struct cast_to<long long> : cast_to_integer<long long> {};

template <class T, class S> __device__ T f_cast_wrap(S x) { return cast_to<T>::wrapped(x); }
template <class T, class S> __device__ T f_cast_saturate(S x) { return cast_to<T>::saturated(x); }
template <class T, class S> __device__ T f_cast_error(S x) { return cast_to<T>::wrapped(x); }
