/* Matrices whose elements are of such different sizes that squares of small ones are lost to the lanes beside large ones:
 * of those alone rotations in a larger range (linalg/graded.h) find small values. All other matrices keep what lanes have
 * found, those of fewer independent columns and elements of like sizes included.
 */
#include "linalg/graded.h"

/* Parts of the largest element below which a value is looked at again. */
enum { SVD_EXPONENTS = 380, EIGH_EXPONENTS = 750 };

/* Of a group, of which nothing above the diagonal counts where its matrices are Hermitian: whether products of as many
 * elements as the shorter side has are lost beside those of larger ones, by so many exponents. */
static __attribute__((noinline)) Mask are_graded(const LaneProblem *problem, const char *from, Index apart,
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
    return greater(most * ldexp(1.0, -exponents / (m < n ? m : n)), least);
}

/* What may be lost in the lanes of the mask, found again and stored, of a group, or where `apart` is 0 of one matrix that
 * stands in all lanes; answers whether it was found. */
static __attribute__((noinline)) bool svd_look_again(const LaneProblem *problem, const char *from, char *u,
                                                     char *values, char *vh, Index apart, Mask small) {
    const int m = problem->rows, n = problem->columns, k = m < n ? m : n;
    if (problem->narrow) return true;
    small &= are_graded(problem, from, apart, false, SVD_EXPONENTS);
    const Lane chosen = pick(small, broadcast(1.0), broadcast(0.0));
    if (problem->streams) finish_streams();
    bool good = true;
    for (Index lane = 0; lane < (apart ? LANES : 1); lane++) {
        if (chosen[lane] == 0.0) continue;
        double *const left = u == NULL ? NULL : (double *)(u + lane * matrix_bytes(problem, m, k));
        double *const right = u == NULL ? NULL : (double *)(vh + lane * matrix_bytes(problem, k, n));
        good &= graded_svd((const double *)(from + lane * matrix_bytes(problem, m, n)), m, n, PARTS, left,
                           (double *)values + lane * k, right);
    }
    return good;
}

static __attribute__((noinline)) bool eigh_look_again(const LaneProblem *problem, const char *from, char *values,
                                                      char *vectors, Index apart, Mask small) {
    const int n = problem->rows;
    const Index bytes = matrix_bytes(problem, n, n);
    if (problem->narrow) return true;
    small &= are_graded(problem, from, apart, true, EIGH_EXPONENTS);
    const Lane chosen = pick(small, broadcast(1.0), broadcast(0.0));
    if (problem->streams) finish_streams();
    bool good = true;
    for (Index lane = 0; lane < (apart ? LANES : 1); lane++)
        if (chosen[lane] != 0.0)
            good &= graded_eigh((const double *)(from + lane * bytes), n, PARTS, (double *)values + lane * n,
                                vectors == NULL ? NULL : (double *)(vectors + lane * bytes));
    return good;
}

/* Where one of so many eigenvalues may be lost. */
INLINE Mask eigh_small(const Lane *values, int n) {
    Mask small = no_lane();
    for (int i = 0; i < n; i++) small |= greater(broadcast(0x1p-300), size_of(values[i]));
    return small;
}
