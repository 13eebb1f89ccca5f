/* Matrices so small that products of their elements vanish, or lose digits, and others so large that sums overflow on the
 * way to pivots: eliminations in lanes leave both alone. */

/* Zeros, or NaN in the lanes of matrices with a pivot that is not finite. One element that is not, from the beginning or
 * for a sum overflowed, makes one so: it becomes the pivot of its column, or its row is what is left in the end; and what
 * is left below it, where it stands above the diagonal, is neither finite. */
INLINE Lane zeros_of_pivots(const Number *a, Index stride, int n) {
    Lane sum = broadcast(0.0);
    for (int j = 0; j < n; j++)
        for (int part = 0; part < PARTS; part++) sum += ((const Lane *)(a + j + j * stride))[part] * 0.0;
    return sum;
}

/* The lanes in which such a sum is NaN. */
INLINE Mask not_zero(Lane sum) { return complement(equal(sum, broadcast(0.0))); }

/* The same of so many solutions, whose columns are a stride apart: what is not finite in one makes its first unknown so,
 * which is found last. */
INLINE Lane zeros_of_solutions(const Number *x, Index stride, int columns) {
    Lane sum = broadcast(0.0);
    for (int c = 0; c < columns; c++)
        for (int part = 0; part < PARTS; part++) sum += ((const Lane *)(x + c * stride))[part] * 0.0;
    return sum;
}

/* Whether all numbers of one of so many matrices are below 2^-900, and not all of them zero. */
static __attribute__((noinline)) bool one_is_minute(const LaneProblem *problem, const char *from, Index bytes,
                                                    int count, int matrices) {
    if (problem->narrow) return false; /* every float is larger */
    for (int lane = 0; lane < matrices; lane++) {
        const double *numbers = (const double *)(from + lane * bytes);
        double most = 0.0;
        for (int i = 0; i < count * PARTS; i++) most = fabs(numbers[i]) > most ? fabs(numbers[i]) : most;
        if (most > 0.0 && most < 0x1p-900) return true;
    }
    return false;
}

/* Whether one of a group is, given the first pivot of each: that is among the largest of its column. */
INLINE bool are_minute(const LaneProblem *problem, const char *from, Index bytes, Number first_pivot, int count) {
    return any(greater(broadcast(0x1p-900), largest_part(first_pivot))) &&
           one_is_minute(problem, from, bytes, count, LANES);
}
