/* Small matrices in memory that a block shares, each in the hands of one warp: of at most 32 rows, which are the lanes.
 * Columns follow each other at an odd distance, so that a row lies in as many banks as it has elements. */

/* A quotient, of complex numbers by a divisor that is scaled to a square between 1 and 8. A number whose products may
 * leave the range is a 16th of itself on the way. */
template <class T> __device__ T quotient(T x, T by) { return x / by; }
template <class T> __device__ complex_of<T> quotient(complex_of<T> x, complex_of<T> by) {
    const T scale = power_below(larger_part(by));
    const complex_of<T> unit = over(by, scale);
    const T part = is_infinite((T)4 * (larger_part(x) / scale)) ? (T)0.0625 : (T)1;
    return over(over(f_multiply(over(times(part, x), scale), f_conj(unit)), square(unit)), part);
}

/* What a pivot is chosen by, as BLAS has it; no number is larger than one that is none. */
template <class T> __device__ typename kind_of<T>::component pivot_size(T x) {
    const typename kind_of<T>::component size = fabs(f_real(x)) + fabs(f_imag(x));
    return is_nan(size) ? 0 : size;
}

/* From a matrix without gaps to one whose columns are apart; when it is there, for all lanes. */
template <class T> __device__ void take_in(T *a, const T *x, int rows, int columns, int apart) {
    for (int i = (int)lane_of_thread(); i < rows * columns; i += 32) a[i % rows + i / rows * apart] = x[i];
    __syncwarp();
}
