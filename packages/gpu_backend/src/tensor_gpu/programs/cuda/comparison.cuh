/* Comparisons, choices, logic and bits, element by element; f_NAME is what the elementwise kernel NAME computes. All of
 * it is exact. */

template <class T> __device__ bool f_equal(T a, T b) { return a == b; }
template <class T> __device__ bool f_not_equal(T a, T b) { return a != b; }
template <class T> __device__ bool f_less(T a, T b) { return a < b; }
template <class T> __device__ bool f_less_equal(T a, T b) { return a <= b; }
template <class T> __device__ bool f_greater(T a, T b) { return a > b; }
template <class T> __device__ bool f_greater_equal(T a, T b) { return a >= b; }
template <class T> __device__ bool f_equal(complex_of<T> a, complex_of<T> b) { return a.re == b.re && a.im == b.im; }
template <class T> __device__ bool f_not_equal(complex_of<T> a, complex_of<T> b) {
    return a.re != b.re || a.im != b.im;
}

/* What is no number stays: comparisons with it are false, and x == x is asked last. */
template <class T> __device__ T f_maximum(T a, T b) { return a >= b || a != a ? a : b; }
template <class T> __device__ T f_minimum(T a, T b) { return a <= b || a != a ? a : b; }
template <class T> __device__ T f_clip(T x, T low, T high) { return f_minimum(f_maximum(x, low), high); }
template <class T> __device__ T f_where(bool condition, T a, T b) { return condition ? a : b; }

template <class T> __device__ bool f_isnan(T) { return false; }
template <class T> __device__ bool f_isinf(T) { return false; }
template <class T> __device__ bool f_isfinite(T) { return true; }
__device__ inline bool f_isnan(float x) { return is_nan(x); }
__device__ inline bool f_isinf(float x) { return is_infinite(x); }
__device__ inline bool f_isfinite(float x) { return is_finite(x); }
__device__ inline bool f_isnan(double x) { return is_nan(x); }
__device__ inline bool f_isinf(double x) { return is_infinite(x); }
__device__ inline bool f_isfinite(double x) { return is_finite(x); }
template <class T> __device__ bool f_isnan(complex_of<T> x) { return is_nan(x.re) || is_nan(x.im); }
template <class T> __device__ bool f_isinf(complex_of<T> x) { return is_infinite(x.re) || is_infinite(x.im); }
template <class T> __device__ bool f_isfinite(complex_of<T> x) { return is_finite(x.re) && is_finite(x.im); }

/* All but zeros are true, and so is what is no number. */
template <class T> __device__ bool f_logical_not(T x) { return !to<bool>(x); }
template <class T> __device__ bool f_logical_and(T a, T b) { return to<bool>(a) && to<bool>(b); }
template <class T> __device__ bool f_logical_or(T a, T b) { return to<bool>(a) || to<bool>(b); }
template <class T> __device__ bool f_logical_xor(T a, T b) { return to<bool>(a) != to<bool>(b); }

template <class T> __device__ T f_bitwise_and(T a, T b) { return a & b; }
template <class T> __device__ T f_bitwise_or(T a, T b) { return a | b; }
template <class T> __device__ T f_bitwise_xor(T a, T b) { return a ^ b; }
template <class T> __device__ T f_bitwise_invert(T x) { return ~x; }
__device__ inline bool f_bitwise_and(bool a, bool b) { return a && b; }
__device__ inline bool f_bitwise_or(bool a, bool b) { return a || b; }
__device__ inline bool f_bitwise_xor(bool a, bool b) { return a != b; }
__device__ inline bool f_bitwise_invert(bool x) { return !x; }

/* Shifts by as many bits as there are, or more, leave nothing but the sign; so do those by a negative number. */
template <class T> __device__ T f_bitwise_left_shift(T a, T b) {
    return bits(b) < width_of<T>::value ? (T)(bits(a) << b) : (T)0;
}
template <class T> __device__ T f_bitwise_right_shift(T a, T b) {
    return bits(b) < width_of<T>::value ? a >> b : (T)(a < 0 ? -1 : 0);
}
