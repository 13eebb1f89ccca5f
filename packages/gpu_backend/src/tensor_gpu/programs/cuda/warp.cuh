/* Numbers that pass between the 32 threads of a warp; the only place where shuffles are called. All threads of the warp
 * take part, so blocks have a multiple of 32 threads. */

__device__ inline unsigned int lane_of_thread() { return threadIdx.x % 32u; }

/* shuffle_down(x, n): the x of the thread that is n lanes on; its own x where there is none. */
template <class T> __device__ T shuffle_down(T x, unsigned int lanes) {
    return __shfl_down_sync(0xffffffffu, x, lanes);
}
/* shuffle_xor(x, n): the x of the thread whose lane differs by the bits of n. */
template <class T> __device__ T shuffle_xor(T x, unsigned int lanes) {
    return __shfl_xor_sync(0xffffffffu, x, (int)lanes);
}
/* shuffle_from(x, lane): the x of one thread of the warp. */
template <class T> __device__ T shuffle_from(T x, unsigned int lane) { return __shfl_sync(0xffffffffu, x, (int)lane); }

/* A bool passes as an int, a complex number in its parts. */
__device__ inline bool shuffle_down(bool x, unsigned int lanes) { return shuffle_down((int)x, lanes) != 0; }
__device__ inline bool shuffle_xor(bool x, unsigned int lanes) { return shuffle_xor((int)x, lanes) != 0; }
__device__ inline bool shuffle_from(bool x, unsigned int lane) { return shuffle_from((int)x, lane) != 0; }
template <class T> __device__ complex_of<T> shuffle_down(complex_of<T> x, unsigned int lanes) {
    return {shuffle_down(x.re, lanes), shuffle_down(x.im, lanes)};
}
template <class T> __device__ complex_of<T> shuffle_xor(complex_of<T> x, unsigned int lanes) {
    return {shuffle_xor(x.re, lanes), shuffle_xor(x.im, lanes)};
}
template <class T> __device__ complex_of<T> shuffle_from(complex_of<T> x, unsigned int lane) {
    return {shuffle_from(x.re, lane), shuffle_from(x.im, lane)};
}
