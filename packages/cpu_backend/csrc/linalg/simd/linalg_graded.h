/* Matrices whose elements are of such different sizes that squares of small ones are lost to the lanes beside large ones:
 * of those alone rotations in a larger range (linalg/graded.h) find small values. All other matrices keep what lanes have
 * found, those of fewer independent columns and elements of like sizes included.
 */
#include "linalg/graded.h"

/* Exponents by which values that are looked at again are below the largest element. Lanes tell of all of those, and of some
 * that are up to twice or four times as large: which ones are found again depends on no other matrix. */
enum { SVD_EXPONENTS = 382, EIGH_EXPONENTS = 752 };

/* Of a group, of which nothing above the diagonal counts where its matrices are Hermitian: the sizes up to which values are
 * looked at again, where products of as many elements as the shorter side has may be so small, and those are normal numbers;
 * -1 elsewhere. */
static __attribute__((noinline)) Lane graded_bounds(const LaneProblem *problem, const char *from, Index apart,
                                                    bool hermitian, int exponents) {
    const int m = problem->rows, n = problem->columns;
    Lane most = broadcast(0.0), least = broadcast(INFINITY);
    for (int j = 0; j < n; j++) {
        Number column[LARGEST_SIDE];
        load_numbers(problem, from + j * matrix_bytes(problem, m, 1), apart * matrix_bytes(problem, m, n), column, m);
        if (hermitian) column[j] = number(real_part(column[j]));
        for (int i = hermitian ? j : 0; i < m; i++)
            for (int part = 0; part < PARTS; part++) {
                const Lane size = size_of(((const Lane *)(column + i))[part]);
                most = larger(size, most);
                least = pick(greater(size, broadcast(0.0)) & greater(least, size), size, least);
            }
    }
    const Lane bounds = most * ldexp(1.0, -exponents);
    const Mask graded = greater(most * ldexp(1.0, -exponents / (m < n ? m : n)), least);
    return pick(graded & greater(bounds, broadcast(DBL_MIN)), bounds, broadcast(-1.0));
}

/* Whether one of so many values is so small. */
INLINE bool has_small(const double *values, int count, double bound) {
    bool found = false;
    for (int i = 0; i < count; i++) found |= fabs(values[i]) <= bound;
    return found;
}

/* What lanes may have lost of matrices that they have stored results of, so many groups or where `alone` single ones, found
 * again and stored; answers whether it was found. */
static __attribute__((noinline)) bool svd_look_again(const LaneProblem *problem, const char *from, char *u,
                                                     char *values, char *vh, Index count, bool alone) {
    const int m = problem->rows, n = problem->columns, k = m < n ? m : n, step = alone ? 1 : LANES;
    const Index bytes = matrix_bytes(problem, m, n);
    bool good = true;
    if (problem->narrow) return true;
    if (problem->streams) finish_streams();
    for (Index group = 0; group < count; group++) {
        const Lane bounds = graded_bounds(problem, from + group * step * bytes, !alone, false, SVD_EXPONENTS);
        for (int lane = 0; lane < step; lane++) {
            const Index matrix = group * step + lane;
            double *const found = (double *)values + matrix * k;
            if (!has_small(found, k, bounds[lane])) continue;
            good &= graded_svd((const double *)(from + matrix * bytes), m, n, PARTS,
                               u == NULL ? NULL : (double *)(u + matrix * matrix_bytes(problem, m, k)), found,
                               u == NULL ? NULL : (double *)(vh + matrix * matrix_bytes(problem, k, n)));
        }
    }
    return good;
}

static __attribute__((noinline)) bool eigh_look_again(const LaneProblem *problem, const char *from, char *values,
                                                      char *vectors, Index count, bool alone) {
    const int n = problem->rows, step = alone ? 1 : LANES;
    const Index bytes = matrix_bytes(problem, n, n);
    bool good = true;
    if (problem->narrow) return true;
    if (problem->streams) finish_streams();
    for (Index group = 0; group < count; group++) {
        const Lane bounds = graded_bounds(problem, from + group * step * bytes, !alone, true, EIGH_EXPONENTS);
        for (int lane = 0; lane < step; lane++) {
            const Index matrix = group * step + lane;
            double *const found = (double *)values + matrix * n;
            if (has_small(found, n, bounds[lane]))
                good &= graded_eigh((const double *)(from + matrix * bytes), n, PARTS, found,
                                    vectors == NULL ? NULL : (double *)(vectors + matrix * bytes));
        }
    }
    return good;
}

/* The opposite of the size of the smallest of so many values and what was found before; NaN does not count. */
INLINE Lane nearest_to_zero(Lane before, const Lane *values, int n) {
    for (int i = 0; i < n; i++) before = larger((Lane)((Bits)values[i] | SIGN_BIT), before);
    return before;
}
