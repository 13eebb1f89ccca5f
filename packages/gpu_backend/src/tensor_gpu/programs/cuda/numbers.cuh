/* Numbers as programs compute with them: complex ones, conversions between all types as NumPy has them, limits. */

template <class T> struct complex_of {
    T re, im;
};
typedef complex_of<float> complex32;
typedef complex_of<double> complex64;

template <class T> struct kind_of {
    static const bool is_complex = false;
    typedef T component;
};
template <class T> struct kind_of<complex_of<T>> {
    static const bool is_complex = true;
    typedef T component;
};

/* to<T>(x): x as a T. A complex number gives its real part; anything but a zero is true; integers wrap. */
template <class T> struct converted {
    template <class S> static __device__ T from(S x) { return (T)x; }
    template <class S> static __device__ T from(complex_of<S> x) { return (T)x.re; }
};
template <> struct converted<bool> {
    template <class S> static __device__ bool from(S x) { return x != (S)0; }
    template <class S> static __device__ bool from(complex_of<S> x) { return x.re != (S)0 || x.im != (S)0; }
};
template <class T> struct converted<complex_of<T>> {
    template <class S> static __device__ complex_of<T> from(S x) { return {(T)x, (T)0}; }
    template <class S> static __device__ complex_of<T> from(complex_of<S> x) { return {(T)x.re, (T)x.im}; }
};
template <class T, class S> __device__ T to(S x) { return converted<T>::from(x); }

/* number<T>(parts): a number that was given in its components. */
template <class T, class S> __device__ T number(S x) { return to<T>(x); }
template <class T> __device__ T number(double re, double im) {
    return {(typename kind_of<T>::component)re, (typename kind_of<T>::component)im};
}

/* Integers wrap on overflow as those without a sign do; bits(x) has the same bits as x. */
__device__ inline unsigned int bits(int x) { return (unsigned int)x; }
__device__ inline unsigned long long bits(long long x) { return (unsigned long long)x; }
template <class T> struct width_of;
template <> struct width_of<int> {
    static const unsigned int value = 32;
};
template <> struct width_of<long long> {
    static const unsigned int value = 64;
};

/* Not a number, infinity, and the largest exponents whose powers of e and of 2 are below infinity, and a little less. */
template <class T> struct limits;
template <> struct limits<float> {
    static __device__ float nan() { return __int_as_float(0x7fc00000); }
    static __device__ float infinity() { return __int_as_float(0x7f800000); }
    static __device__ float exponential() { return 87.0f; }
    static __device__ float large() { return 1e18f; }  // its square is finite
    static __device__ float small() { return 1e-16f; } // its square is normal
};
template <> struct limits<double> {
    static __device__ double nan() { return __longlong_as_double(0x7ff8000000000000LL); }
    static __device__ double infinity() { return __longlong_as_double(0x7ff0000000000000LL); }
    static __device__ double exponential() { return 708.0; }
    static __device__ double large() { return 1e150; }
    static __device__ double small() { return 1e-140; }
};

/* Either zero, either infinity, nothing that is no number: as operators say, without names that differ by compiler. */
template <class T> __device__ bool is_nan(T x) { return x != x; }
template <class T> __device__ bool is_infinite(T x) {
    return x == limits<T>::infinity() || x == -limits<T>::infinity();
}
template <class T> __device__ bool is_finite(T x) { return x - x == (T)0; }
__device__ inline bool is_negative(float x) { return __float_as_int(x) < 0; }
__device__ inline bool is_negative(double x) { return __double_as_longlong(x) < 0; }

/* Constants, rounded once to T. */
#define TENSOR_GPU_LN2 0.693147180559945309417232121458
#define TENSOR_GPU_LOG2_E 1.44269504088896340735992468100
#define TENSOR_GPU_LOG10_E 0.434294481903251827651128918917
#define TENSOR_GPU_PI 3.14159265358979323846264338328
