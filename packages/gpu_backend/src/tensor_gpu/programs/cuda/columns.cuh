/* Columns of matrices, each in the hands of one warp: a thread has the rows
 * whose numbers are its lane, modulo 32, and nobody else touches them until the
 * threads of the block have met. */

/* T from its parts; a real number has no second one. */
template <class T> struct joined {
    static __device__ T of(T re, T) { return re; }
};
template <class T> struct joined<complex_of<T>> {
    static __device__ complex_of<T> of(T re, T im) { return {re, im}; }
};

template <class T> __device__ typename kind_of<T>::component square(T x) {
    return f_real(x) * f_real(x) + f_imag(x) * f_imag(x);
}
template <class T> __device__ typename kind_of<T>::component larger_part(T x) {
    const typename kind_of<T>::component re = fabs(f_real(x)), im = fabs(f_imag(x));
    return re > im ? re : im;
}
template <class T> __device__ T times(typename kind_of<T>::component c, T x) {
    return joined<T>::of(c * f_real(x), c * f_imag(x));
}
template <class T> __device__ T over(T x, typename kind_of<T>::component c) {
    return joined<T>::of(f_real(x) / c, f_imag(x) / c);
}

/* The largest power of two that is not above x; that of subnormal numbers is
 * the smallest normal one. */
__device__ inline float power_below(float x) {
    const int exponent = __float_as_int(x) & 0x7f800000;
    return __int_as_float(exponent > 0x00800000 ? exponent : 0x00800000);
}
__device__ inline double power_below(double x) {
    const long long exponent = __double_as_longlong(x) & 0x7ff0000000000000LL;
    return __longlong_as_double(exponent > 0x0010000000000000LL ? exponent : 0x0010000000000000LL);
}

/* What all threads of the warp have together, told to each of them. */
template <class T> __device__ T warp_sum(T x) {
    for (unsigned int lanes = 16; lanes > 0; lanes /= 2) x = f_add(x, shuffle_xor(x, lanes));
    return x;
}
template <class T> __device__ T warp_largest(T x) {
    for (unsigned int lanes = 16; lanes > 0; lanes /= 2) {
        const T other = shuffle_xor(x, lanes);
        x = other > x ? other : x;
    }
    return x;
}

/* The first row of this thread that is not before another one. */
__device__ inline long long row_from(long long first) {
    const long long lane = lane_of_thread();
    return lane >= first ? lane : lane + (first - lane + 31) / 32 * 32;
}

template <class T> __device__ typename kind_of<T>::component column_square(const T *x, long long rows) {
    typename kind_of<T>::component total = 0;
    for (long long row = row_from(0); row < rows; row += 32) total += square(x[row]);
    return warp_sum(total);
}
/* The sum of conj(x) y. */
template <class T> __device__ T column_product(const T *x, const T *y, long long rows) {
    T total = to<T>(0);
    for (long long row = row_from(0); row < rows; row += 32) total = f_add(total, f_multiply(f_conj(x[row]), y[row]));
    return warp_sum(total);
}
