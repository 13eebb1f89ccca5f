/* combined(place, value, combine): *place = combine(*place, value), whichever other threads do the same. */

template <class W, class T, class F> __device__ void combined_words(T *place, T value, F combine) {
    W seen = *(volatile W *)place, expected;
    do {
        expected = seen;
        const T made = combine(*(T *)&expected, value);
        seen = atomicCAS((W *)place, expected, *(const W *)&made);
    } while (seen != expected);
}
template <class F> __device__ void combined(int *place, int value, F combine) {
    combined_words<unsigned int>(place, value, combine);
}
template <class F> __device__ void combined(float *place, float value, F combine) {
    combined_words<unsigned int>(place, value, combine);
}
template <class F> __device__ void combined(long long *place, long long value, F combine) {
    combined_words<unsigned long long>(place, value, combine);
}
template <class F> __device__ void combined(double *place, double value, F combine) {
    combined_words<unsigned long long>(place, value, combine);
}
template <class F> __device__ void combined(complex32 *place, complex32 value, F combine) {
    combined_words<unsigned long long>(place, value, combine);
}
