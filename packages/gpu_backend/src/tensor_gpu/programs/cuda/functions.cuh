/* f_NAME: what the elementwise kernel NAME computes of numbers of the type in which it computes. */

template <class T> __device__ T f_add(T a, T b) { return a + b; }
template <class T> __device__ T f_subtract(T a, T b) { return a - b; }
template <class T> __device__ T f_multiply(T a, T b) { return a * b; }
