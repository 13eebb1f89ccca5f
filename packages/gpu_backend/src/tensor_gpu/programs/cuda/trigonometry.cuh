/* Trigonometric and hyperbolic functions, and their inverses; f_NAME is what the elementwise kernel NAME computes. What
 * exponential.cuh says of accuracy, of complex numbers and of infinities holds here too. */

template <class T> __device__ T f_hypot(T a, T b) { return hypot(a, b); }
template <class T> __device__ T f_atan2(T a, T b) { return atan2(a, b); }

__device__ inline complex64 c_sinh(complex64 z) {
    const double nan = limits<double>::nan();
    if (z.im == 0.0) return {sinh(z.re), z.im};
    if (!is_finite(z.im)) return {z.re == 0.0 || is_infinite(z.re) ? z.re : nan, nan};
    double sine, cosine;
    sincos(z.im, &sine, &cosine);
    if (fabs(z.re) < limits<double>::exponential()) return {sinh(z.re) * cosine, cosh(z.re) * sine};
    return times_exp(fabs(z.re), copysign(0.5, z.re) * cosine, 0.5 * sine);
}

__device__ inline complex64 c_cosh(complex64 z) {
    const double nan = limits<double>::nan();
    if (z.im == 0.0) return {cosh(z.re), copysign(0.0, z.re) * z.im};
    if (!is_finite(z.im)) {
        if (z.re == 0.0) return {nan, 0.0};
        return {is_infinite(z.re) ? limits<double>::infinity() : nan, nan};
    }
    double sine, cosine;
    sincos(z.im, &sine, &cosine);
    if (fabs(z.re) < limits<double>::exponential()) return {cosh(z.re) * cosine, sinh(z.re) * sine};
    return times_exp(fabs(z.re), 0.5 * cosine, copysign(0.5, z.re) * sine);
}

/* By Kahan's formula in the tangent t of the angle and the hyperbolic sine s. */
__device__ inline complex64 c_tanh(complex64 z) {
    const double nan = limits<double>::nan();
    if (is_nan(z.re)) return {nan, z.im == 0.0 ? z.im : nan};
    if (is_infinite(z.re)) return {copysign(1.0, z.re), copysign(0.0, is_finite(z.im) ? sin(z.im) * cos(z.im) : z.im)};
    if (!is_finite(z.im)) return {z.re == 0.0 ? z.re : nan, nan};
    if (fabs(z.re) >= 22.0) {
        const double root = exp(-fabs(z.re));
        return {copysign(1.0, z.re), 4.0 * sin(z.im) * cos(z.im) * root * root};
    }
    const double t = tan(z.im), beta = 1.0 + t * t, s = sinh(z.re), rho = sqrt(1.0 + s * s), below = 1.0 + beta * s * s;
    return {beta * rho * s / below, t / below};
}

/* What z gives by a function that is odd, and that turns a quarter with its argument. */
#define TENSOR_GPU_TURNED(NAME, OTHER)                                                                                 \
    __device__ inline complex64 c_##NAME(complex64 z) {                                                                \
        const complex64 turned = c_##OTHER(complex64{z.im, z.re});                                                     \
        return {turned.im, turned.re};                                                                                 \
    }
TENSOR_GPU_TURNED(sin, sinh)
TENSOR_GPU_TURNED(tan, tanh)
__device__ inline complex64 c_cos(complex64 z) { return c_cosh({-z.im, z.re}); }

/* The arc sine and the arc cosine of x + iy in the first quadrant: both real parts, and the size of the imaginary one.
 *
 * Source: T. E. Hull, T. F. Fairgrieve, P. T. P. Tang, Implementing the complex arcsine and arccosine functions using
 * exception handling, ACM Transactions on Mathematical Software 23 (1997), 299-335. */
struct arc {
    double sine, cosine, size;
};
__device__ inline arc arc_of(double x, double y) {
    if (!(x < limits<double>::large() && y < limits<double>::large()))
        return {atan2(x, y), atan2(y, x), log_modulus(x, y) + TENSOR_GPU_LN2};
    if (y <= 0x1p-56 * fabs(x - 1.0)) {
        if (x < 1.0) return {asin(x), acos(x), y / sqrt((1.0 - x) * (1.0 + x))};
        const double root = sqrt((x - 1.0) * (x + 1.0));
        return {0.5 * TENSOR_GPU_PI, root > 0.0 ? y / root : 0.0, log1p((x - 1.0) + root)};
    }
    const double r = hypot(x + 1.0, y), s = hypot(x - 1.0, y), a = 0.5 * (r + s), b = x / a;
    arc found;
    if (b <= 0.6417) {
        found.sine = asin(b);
        found.cosine = acos(b);
    } else {
        const double outer = (a + x) / (r + x + 1.0);
        const double height = x <= 1.0 ? sqrt(0.5 * (a + x) * (y * (y / (r + x + 1.0)) + (s + (1.0 - x))))
                                       : y * sqrt(0.5 * (outer + (a + x) / (s + (x - 1.0))));
        found.sine = atan2(x, height);
        found.cosine = atan2(height, x);
    }
    if (a <= 1.5) {
        const double inner = x < 1.0 ? y * (y / (s + (1.0 - x))) : s + (x - 1.0);
        const double above = 0.5 * (y * (y / (r + x + 1.0)) + inner);
        found.size = log1p(above + sqrt(above * (a + 1.0)));
    } else {
        found.size = log(a + sqrt((a - 1.0) * (a + 1.0)));
    }
    return found;
}

__device__ inline complex64 c_asin(complex64 z) {
    const arc found = arc_of(fabs(z.re), fabs(z.im));
    if (z.re == 0.0 && is_nan(z.im)) return z;
    return {copysign(found.sine, z.re), copysign(found.size, z.im)};
}
__device__ inline complex64 c_acos(complex64 z) {
    const arc found = arc_of(fabs(z.re), fabs(z.im));
    if (z.re == 0.0 && is_nan(z.im)) return {0.5 * TENSOR_GPU_PI, z.im};
    return {is_negative(z.re) ? TENSOR_GPU_PI - found.cosine : found.cosine,
            is_negative(z.im) ? found.size : -found.size};
}
__device__ inline complex64 c_acosh(complex64 z) {
    const complex64 angle = c_acos(z);
    if (is_nan(angle.re)) return {is_nan(angle.im) ? angle.im : fabs(angle.im), angle.re};
    if (is_nan(angle.im)) return {angle.im, z.re == 0.0 ? angle.re : angle.im};
    return {fabs(angle.im), copysign(angle.re, z.im)};
}

__device__ inline complex64 c_atanh(complex64 z) {
    const double x = fabs(z.re), y = fabs(z.im), nan = limits<double>::nan();
    const double quarter = copysign(0.5 * TENSOR_GPU_PI, z.im);
    if (is_nan(x)) return {is_infinite(y) ? copysign(0.0, z.re) : nan, is_infinite(y) ? quarter : nan};
    if (is_nan(y)) return {x == 0.0 || is_infinite(x) ? copysign(0.0, z.re) : nan, nan};
    if (x > limits<double>::large() || y > limits<double>::large()) {
        const double size = hypot(0.5 * x, 0.5 * y);
        return {copysign(is_infinite(size) ? 0.0 : 0.25 * x / size / size, z.re), quarter};
    }
    const bool far = x == 1.0 && y < 1e-100 && y > 0.0;
    const double re = far ? 0.5 * (TENSOR_GPU_LN2 - log(y)) : 0.25 * log1p(4.0 * x / ((1.0 - x) * (1.0 - x) + y * y));
    if (y == 0.0) return {copysign(re, z.re), x <= 1.0 ? z.im : quarter};
    return {copysign(re, z.re), copysign(0.5 * atan2(2.0 * y, (1.0 - x) * (1.0 + x) - y * y), z.im)};
}
TENSOR_GPU_TURNED(asinh, asin)
TENSOR_GPU_TURNED(atan, atanh)

TENSOR_GPU_FUNCTION(sinh)
TENSOR_GPU_FUNCTION(cosh)
TENSOR_GPU_FUNCTION(tanh)
TENSOR_GPU_FUNCTION(sin)
TENSOR_GPU_FUNCTION(cos)
TENSOR_GPU_FUNCTION(tan)
TENSOR_GPU_FUNCTION(asin)
TENSOR_GPU_FUNCTION(acos)
TENSOR_GPU_FUNCTION(atan)
TENSOR_GPU_FUNCTION(asinh)
TENSOR_GPU_FUNCTION(acosh)
TENSOR_GPU_FUNCTION(atanh)
