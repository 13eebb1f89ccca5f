/* Numbers as programs compute with them: complex ones, and conversions between all types, as NumPy has them. */

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
template <class T> __device__ T number(double re, double im) { return {(typename kind_of<T>::component)re, (typename kind_of<T>::component)im}; }
