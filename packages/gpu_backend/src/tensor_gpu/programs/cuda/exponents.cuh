/* Powers of two taken off numbers, and put back. */

/* The power of two above a number, or the larger part of it; 0 of zero, and of what is not finite. */
template <class T> __device__ int exponent_of(T x) {
    int exponent = 0;
    if (is_finite(x)) frexp(x, &exponent);
    return exponent;
}
template <class T> __device__ int exponent_of(complex_of<T> z) {
    const T re = fabs(z.re), im = fabs(z.im);
    return is_finite(re) && is_finite(im) ? exponent_of(re < im ? im : re) : 0;
}

/* A number times a power of two, rounded once. */
template <class T> __device__ T scaled(T x, int exponent) { return ldexp(x, exponent); }
template <class T> __device__ complex_of<T> scaled(complex_of<T> z, int exponent) {
    return {ldexp(z.re, exponent), ldexp(z.im, exponent)};
}
