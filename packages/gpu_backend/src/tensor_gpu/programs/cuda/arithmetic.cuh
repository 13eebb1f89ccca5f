/* Arithmetic, element by element; f_NAME is what the elementwise kernel NAME computes. Exact, or rounded once for each
 * operation of real numbers that is written here; integers wrap. */

template <class T> __device__ T f_positive(T x) { return x; }

template <class T> __device__ T f_add(T a, T b) { return a + b; }
template <class T> __device__ T f_subtract(T a, T b) { return a - b; }
template <class T> __device__ T f_multiply(T a, T b) { return a * b; }
template <class T> __device__ T f_divide(T a, T b) { return a / b; }
template <class T> __device__ T f_negative(T x) { return -x; }

__device__ inline bool f_add(bool a, bool b) { return a || b; }
__device__ inline bool f_multiply(bool a, bool b) { return a && b; }

__device__ inline int f_add(int a, int b) { return (int)(bits(a) + bits(b)); }
__device__ inline int f_subtract(int a, int b) { return (int)(bits(a) - bits(b)); }
__device__ inline int f_multiply(int a, int b) { return (int)(bits(a) * bits(b)); }
__device__ inline int f_negative(int x) { return (int)(0u - bits(x)); }

__device__ inline long long f_add(long long a, long long b) { return (long long)(bits(a) + bits(b)); }
__device__ inline long long f_subtract(long long a, long long b) { return (long long)(bits(a) - bits(b)); }
__device__ inline long long f_multiply(long long a, long long b) { return (long long)(bits(a) * bits(b)); }
__device__ inline long long f_negative(long long x) { return (long long)(0ull - bits(x)); }

template <class T> __device__ complex_of<T> f_add(complex_of<T> a, complex_of<T> b) {
    return {a.re + b.re, a.im + b.im};
}
template <class T> __device__ complex_of<T> f_subtract(complex_of<T> a, complex_of<T> b) {
    return {a.re - b.re, a.im - b.im};
}
template <class T> __device__ complex_of<T> f_multiply(complex_of<T> a, complex_of<T> b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class T> __device__ complex_of<T> f_negative(complex_of<T> x) { return {-x.re, -x.im}; }

/* Smith's division: the larger part of the divisor divides the smaller one, so that no square leaves the range. */
template <class T> __device__ complex_of<T> f_divide(complex_of<T> a, complex_of<T> b) {
    if (fabs(b.re) >= fabs(b.im)) {
        if (b.re == (T)0 && b.im == (T)0) return {a.re / fabs(b.re), a.im / fabs(b.re)};
        const T ratio = b.im / b.re, scale = (T)1 / (b.re + b.im * ratio);
        return {(a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale};
    }
    const T ratio = b.re / b.im, scale = (T)1 / (b.im + b.re * ratio);
    return {(a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale};
}

template <class T> __device__ T f_abs(T x) { return fabs(x); }
__device__ inline int f_abs(int x) { return x < 0 ? f_negative(x) : x; }
__device__ inline long long f_abs(long long x) { return x < 0 ? f_negative(x) : x; }
template <class T> __device__ T f_abs(complex_of<T> x) { return hypot(x.re, x.im); }

template <class T> __device__ T f_sign(T x) { return x > (T)0 ? (T)1 : x < (T)0 ? (T)-1 : x == (T)0 ? (T)0 : x; }
template <class T> __device__ complex_of<T> f_sign(complex_of<T> x) {
    const T size = hypot(x.re, x.im), nan = limits<T>::nan();
    if (is_nan(size)) return {nan, nan};
    if (is_infinite(size)) {
        if (is_infinite(x.re) && is_infinite(x.im)) return {nan, nan};
        if (is_infinite(x.re)) return {f_sign(x.re), (T)0};
        return {(T)0, f_sign(x.im)};
    }
    if (size == (T)0) return {(T)0, (T)0};
    return {x.re / size, x.im / size};
}

template <class T> __device__ bool f_signbit(T x) { return is_negative(x); }
__device__ inline bool f_signbit(bool) { return false; }
__device__ inline bool f_signbit(int x) { return x < 0; }
__device__ inline bool f_signbit(long long x) { return x < 0; }

template <class T> __device__ T f_copysign(T a, T b) { return copysign(a, b); }
template <class T> __device__ T f_nextafter(T a, T b) { return nextafter(a, b); }

/* Parts of complex numbers; what has none is real. */
template <class T> __device__ T f_real(T x) { return x; }
template <class T> __device__ T f_imag(T) { return (T)0; }
template <class T> __device__ T f_conj(T x) { return x; }
template <class T> __device__ T f_real(complex_of<T> x) { return x.re; }
template <class T> __device__ T f_imag(complex_of<T> x) { return x.im; }
template <class T> __device__ complex_of<T> f_conj(complex_of<T> x) { return {x.re, -x.im}; }
template <class T> __device__ complex_of<T> f_complex(T re, T im) { return {re, im}; }

/* Rounding to whole numbers, half to even; what is no float is whole already. */
template <class T> __device__ T f_floor(T x) { return x; }
template <class T> __device__ T f_ceil(T x) { return x; }
template <class T> __device__ T f_trunc(T x) { return x; }
template <class T> __device__ T f_round(T x) { return x; }
__device__ inline float f_floor(float x) { return floor(x); }
__device__ inline float f_ceil(float x) { return ceil(x); }
__device__ inline float f_trunc(float x) { return trunc(x); }
__device__ inline float f_round(float x) { return rint(x); }
__device__ inline double f_floor(double x) { return floor(x); }
__device__ inline double f_ceil(double x) { return ceil(x); }
__device__ inline double f_trunc(double x) { return trunc(x); }
__device__ inline double f_round(double x) { return rint(x); }
template <class T> __device__ complex_of<T> f_round(complex_of<T> x) { return {rint(x.re), rint(x.im)}; }
