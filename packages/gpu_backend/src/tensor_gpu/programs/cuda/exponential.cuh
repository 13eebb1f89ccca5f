/* Exponentials, logarithms, roots, error functions and activations; f_NAME is what the elementwise kernel NAME computes.
 * Of real numbers they are functions of CUDA's mathematics, within 4 rounding units. Of complex numbers they are ours
 * and computed in double, within some rounding units of the magnitude; a complex32 is rounded once, at the end.
 *
 * Infinities, zeros with signs, and what is no number: annex G of the C standard says what they give. */

/* f_NAME(x), by NAME(x) of real numbers and c_NAME(x) of complex64. */
#define TENSOR_GPU_COMPLEX_FUNCTION(NAME)                                                                              \
    template <class T> __device__ complex_of<T> f_##NAME(complex_of<T> x) {                                            \
        return to<complex_of<T>>(c_##NAME(to<complex64>(x)));                                                          \
    }
#define TENSOR_GPU_FUNCTION(NAME)                                                                                      \
    template <class T> __device__ T f_##NAME(T x) { return NAME(x); }                                                  \
    TENSOR_GPU_COMPLEX_FUNCTION(NAME)

/* e to the power x, times a complex number, where the power alone leaves the range or loses digits, too. */
__device__ inline complex64 times_exp(double x, double re, double im) {
    if (fabs(x) < limits<double>::exponential()) {
        const double power = exp(x);
        return {power * re, power * im};
    }
    const double root = exp(0.5 * x);
    return {root * re * root, root * im * root};
}

/* Of an angle that is no number of a finite size. */
__device__ inline complex64 exp_of_no_angle(double x, double y) {
    const double nan = limits<double>::nan(), infinity = limits<double>::infinity();
    if (x == -infinity) return {0.0, copysign(0.0, y)};
    return {x == infinity ? infinity : nan, nan};
}

__device__ inline complex64 c_exp(complex64 z) {
    if (z.im == 0.0) return {exp(z.re), z.im};
    if (!is_finite(z.im)) return exp_of_no_angle(z.re, z.im);
    double sine, cosine;
    sincos(z.im, &sine, &cosine);
    return times_exp(z.re, cosine, sine);
}

__device__ inline complex64 c_exp2(complex64 z) {
    if (z.im == 0.0) return {exp2(z.re), z.im};
    if (!is_finite(z.im)) return exp_of_no_angle(z.re, z.im);
    double sine, cosine;
    sincos(z.im * TENSOR_GPU_LN2, &sine, &cosine);
    const double root = exp2(0.5 * z.re);
    return {root * cosine * root, root * sine * root};
}

__device__ inline complex64 c_expm1(complex64 z) {
    if (!(fabs(z.re) < limits<double>::exponential() && is_finite(z.im))) {
        const complex64 power = c_exp(z);
        return {power.re - 1.0, power.im};
    }
    const double half = sin(0.5 * z.im);
    return {expm1(z.re) * cos(z.im) - 2.0 * half * half + 0.0, exp(z.re) * sin(z.im)};
}

/* The logarithm of the modulus; near 1 by what the square of the modulus differs from 1, at the ends of the range by
 * numbers that have a square. */
__device__ inline double log_modulus(double x, double y) {
    const double a = fabs(x), b = fabs(y), large = a < b ? b : a, little = a < b ? a : b;
    if (large > 1e300 && is_finite(large)) return log(hypot(0.5 * large, 0.5 * little)) + TENSOR_GPU_LN2;
    if (large < 1e-290) return log(hypot(large * 0x1p60, little * 0x1p60)) - 60.0 * TENSOR_GPU_LN2;
    if (0.5 < large && large < 2.0 && little < 2.0) return 0.5 * log1p((large - 1.0) * (large + 1.0) + little * little);
    return log(hypot(a, b));
}

__device__ inline complex64 c_log(complex64 z) { return {log_modulus(z.re, z.im), atan2(z.im, z.re)}; }
__device__ inline complex64 c_log2(complex64 z) {
    return {log_modulus(z.re, z.im) * TENSOR_GPU_LOG2_E, atan2(z.im, z.re) * TENSOR_GPU_LOG2_E};
}
__device__ inline complex64 c_log10(complex64 z) {
    return {log_modulus(z.re, z.im) * TENSOR_GPU_LOG10_E, atan2(z.im, z.re) * TENSOR_GPU_LOG10_E};
}
__device__ inline complex64 c_log1p(complex64 z) {
    const bool near = fabs(z.re) < 0.5 && fabs(z.im) < 0.5;
    const double size = near ? 0.5 * log1p(z.re * (z.re + 2.0) + z.im * z.im) : log_modulus(z.re + 1.0, z.im);
    return {size, atan2(z.im, z.re + 1.0)};
}

__device__ inline complex64 c_sqrt(complex64 z) {
    const double x = fabs(z.re), y = fabs(z.im), infinity = limits<double>::infinity();
    if (x == 0.0 && y == 0.0) return {0.0, z.im};
    if (y == infinity) return {infinity, z.im};
    if (x == infinity) {
        const double rest = is_nan(y) ? y : 0.0;
        if (z.re > 0.0) return {infinity, is_nan(y) ? y : copysign(0.0, z.im)};
        return {rest, copysign(infinity, z.im)};
    }
    /* sqrt(2) * root is the square root of x + |z|; a power of 4 keeps that in the range. */
    const bool large = x > 1e300 || y > 1e300, little = x < 1e-280 && y < 1e-280;
    const double scale = large ? 0.0625 : little ? 0x1p104 : 1.0, back = large ? 4.0 : little ? 0x1p-52 : 1.0;
    const double root = sqrt(0.5 * (x * scale + hypot(x * scale, y * scale)));
    const double other = y * scale / (2.0 * root);
    if (z.re >= 0.0) return {root * back, copysign(other * back, z.im)};
    return {other * back, copysign(root * back, z.im)};
}
__device__ inline complex64 c_rsqrt(complex64 z) {
    const complex64 root = c_sqrt(z);
    if (fabs(root.im) <= fabs(root.re)) {
        const double ratio = root.im / root.re, size = root.re + root.im * ratio;
        return {1.0 / size, -ratio / size};
    }
    const double ratio = root.re / root.im, size = root.re * ratio + root.im;
    return {ratio / size, -1.0 / size};
}

/* Whole exponents by squares, so that powers of whole numbers are whole; others by the logarithm. */
__device__ inline complex64 c_pow(complex64 z, complex64 exponent) {
    if (exponent.re == 0.0 && exponent.im == 0.0) return {1.0, 0.0};
    if (z.re == 0.0 && z.im == 0.0) {
        if (exponent.re > 0.0) return {0.0, 0.0};
        return {limits<double>::nan(), limits<double>::nan()};
    }
    if (exponent.im == 0.0 && fabs(exponent.re) < 100.0 && trunc(exponent.re) == exponent.re) {
        complex64 power = {1.0, 0.0};
        for (int n = (int)fabs(exponent.re); n > 0; n >>= 1) {
            if (n & 1) power = f_multiply(power, z);
            if (n > 1) z = f_multiply(z, z);
        }
        return exponent.re < 0.0 ? f_divide(complex64{1.0, 0.0}, power) : power;
    }
    return c_exp(f_multiply(exponent, c_log(z)));
}
template <class T> __device__ complex_of<T> f_pow(complex_of<T> z, complex_of<T> exponent) {
    return to<complex_of<T>>(c_pow(to<complex64>(z), to<complex64>(exponent)));
}

TENSOR_GPU_FUNCTION(exp)
TENSOR_GPU_FUNCTION(exp2)
TENSOR_GPU_FUNCTION(expm1)
TENSOR_GPU_FUNCTION(log)
TENSOR_GPU_FUNCTION(log2)
TENSOR_GPU_FUNCTION(log10)
TENSOR_GPU_FUNCTION(log1p)
TENSOR_GPU_FUNCTION(sqrt)
TENSOR_GPU_COMPLEX_FUNCTION(rsqrt)
template <class T> __device__ T f_rsqrt(T x) { return (T)1 / sqrt(x); }
template <class T> __device__ T f_cbrt(T x) { return cbrt(x); }
template <class T> __device__ T f_erf(T x) { return erf(x); }
template <class T> __device__ T f_erfc(T x) { return erfc(x); }

/* log(exp(a) + exp(b)); the larger one comes out of the sum. */
template <class T> __device__ T f_logaddexp(T a, T b) {
    if (a == b) return a + (T)TENSOR_GPU_LN2; // infinities, whose difference is no number, too
    const T apart = a - b;
    return apart > (T)0 ? a + log1p(exp(-apart)) : apart <= (T)0 ? b + log1p(exp(apart)) : apart;
}

/* Activations; nothing overflows, and what is no number stays. */
template <class T> __device__ T f_relu(T x) { return f_maximum(x, (T)0); }
template <class T> __device__ T f_softplus(T x) { return f_relu(x) + log1p(exp(-fabs(x))); }
template <class T> __device__ T f_sigmoid(T x) {
    const T power = exp(-fabs(x)), below = power / (power + (T)1);
    return x >= (T)0 ? (T)1 - below : below;
}
/* Below 0 by the root of the exponential, once before and once after the division: a small result is rounded once. */
template <class T> __device__ T f_silu(T x) {
    const T root = exp((T)-0.5 * fabs(x)), factor = x >= (T)0 ? (T)1 : root;
    if (x == -limits<T>::infinity()) return (T)-0.0;
    return x * factor / (root * root + (T)1) * factor;
}
