/* is_less(a, b): the order of sorting, in which NaN comes last; complex numbers by their real parts, then imaginary. */

template <class T> __device__ bool is_less(T a, T b) { return a < b || (b != b && a == a); }
template <class T> __device__ bool is_less(complex_of<T> a, complex_of<T> b) {
    const bool a_whole = a.im == a.im, b_whole = b.im == b.im;
    if (a.re < b.re) return a_whole || !b_whole;
    if (a.re > b.re) return a_whole && !b_whole;
    if (a.re == b.re || (a.re != a.re && b.re != b.re)) return a.im < b.im || (a_whole && !b_whole);
    return b.re != b.re;
}

/* is_before(a, b, descending): the same, or with the order of numbers turned round and NaN last all the same. */
template <class T> __device__ bool is_before(T a, T b, bool descending) {
    if (!descending) return is_less(a, b);
    return a > b || (b != b && a == a);
}
template <class T> __device__ bool is_before(complex_of<T> a, complex_of<T> b, bool descending) {
    if (!descending) return is_less(a, b);
    const complex_of<T> x = {-a.re, -a.im}, y = {-b.re, -b.im};
    return is_less(x, y);
}

/* How many of the first n elements come before x; those equal to it too, if asked for. They are in order. */
template <class T>
__device__ long long number_before(const T *line, long long n, T x, bool equal_too, bool descending) {
    long long low = 0, high = n;
    while (low < high) {
        const long long middle = low + (high - low) / 2;
        const bool before =
            equal_too ? !is_before(x, line[middle], descending) : is_before(line[middle], x, descending);
        if (before) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Where element i goes when two neighbouring runs, of n elements and up to n more of n + m, become one; stable. */
template <class T>
__device__ long long merged_place(const T *runs, long long n, long long all, long long i, bool descending) {
    if (i < n) return i + number_before(runs + n, all - n, runs[i], false, descending);
    return i - n + number_before(runs, n, runs[i], true, descending);
}

/* Whether a at place i is found before b at place j: what is no number first, then the largest or the smallest. */
template <class T> __device__ bool is_first(T a, long long i, T b, long long j, bool largest) {
    if ((a != a) != (b != b)) return a != a;
    if (a == a && a != b) return largest ? a > b : a < b;
    return i < j;
}
