/* Jacobi's rotations in long double; see graded.h. Numbers are complex whatever the matrix is: rotations of real ones are
 * real.
 *
 * Singular values are those of the adjoint of the triangle of a QR decomposition, of rows from the largest on and with
 * columns exchanged, whose columns are well-conditioned but for their lengths then (Drmač and Veselić, SIAM J. Matrix
 * Anal. Appl. 29, 2008), also where rows and columns are graded (Higham, Appl. Numer. Math. 33, 2000).
 */
#include "linalg/graded.h"
#include "core/caching_allocator.h"

#include <complex.h>
#include <math.h>

#if HAS_LONG_RANGE
typedef long double Real;
typedef long double complex Wide;

/* Each sweep leaves of a column that depends on others a rounding unit at most; from the upper end of the range of
 * doubles to below the lower one it takes forty. */
enum { MOST_SWEEPS = 100 };
static const Real AS_GOOD_AS_ZERO = 0x1p-1200L; /* far below every double */

static Real square_of(Wide x) { return creall(x) * creall(x) + cimagl(x) * cimagl(x); }

static Real sum_of_squares(const Wide *x, int count) {
    Real sum = 0;
    for (int i = 0; i < count; i++) sum += square_of(x[i]);
    return sum;
}

/* The inner product of two columns, of which the first is conjugated. */
static Wide inner_product(const Wide *x, const Wide *y, int count) {
    Wide sum = 0;
    for (int i = 0; i < count; i++) sum += conjl(x[i]) * y[i];
    return sum;
}

/* The rotation that makes [[p, g], [conj(g), q]] diagonal, by the smaller of the two angles. */
typedef struct {
    Real tangent, cosine;
    Wide first, second; /* cosine x - first y and cosine y + second x are the new columns */
} Rotation;

static Rotation rotation(Real p, Real q, Wide g, Real size) {
    const Real half = (q - p) / (2 * size);
    const Real tangent = copysignl(1, half) / (fabsl(half) + sqrtl(1 + half * half));
    const Real cosine = 1 / sqrtl(1 + tangent * tangent);
    const Wide sine = g / size * (tangent * cosine);
    return (Rotation){tangent, cosine, conjl(sine), sine};
}

/* Two columns of so many numbers, which lie so far apart. */
static void rotate(Wide *x, Wide *y, int count, int stride, Real cosine, Wide first, Wide second) {
    for (int i = 0; i < count * stride; i += stride) {
        const Wide former = x[i];
        x[i] = cosine * former - first * y[i];
        y[i] = cosine * y[i] + second * former;
    }
}

static void exchange(Wide *x, Wide *y, int count) {
    for (int i = 0; i < count; i++) {
        const Wide former = x[i];
        x[i] = y[i];
        y[i] = former;
    }
}

static void set_identity(Wide *v, int n) {
    for (int i = 0; i < n * n; i++) v[i] = i % (n + 1) == 0;
}

static Wide loaded(const double *matrix, int number, int parts) {
    return parts == 1 ? (Wide)matrix[number] : CMPLXL(matrix[2 * number], matrix[2 * number + 1]);
}

/* No zero has a sign. */
static void store(double *to, int number, int parts, Wide x) {
    to[parts * number] = (double)creall(x) + 0.0;
    if (parts == 2) to[2 * number + 1] = (double)cimagl(x) + 0.0;
}

/* Makes the n columns of a square matrix orthogonal, the longer ones first (de Rijk, SIAM J. Sci. Stat. Comput. 10,
 * 1989), and turns those of v alike, of so many rows, unless it is NULL; answers whether no column was turned. */
static bool sweep_columns(Wide *a, Wide *v, int n, int v_rows) {
    bool done = true;
    for (int p = 0; p < n; p++)
        for (int q = p + 1; q < n; q++) {
            Wide *const x = a + p * n, *const y = a + q * n;
            if (sum_of_squares(x, n) < sum_of_squares(y, n)) {
                exchange(x, y, n);
                if (v != NULL) exchange(v + p * v_rows, v + q * v_rows, v_rows);
            }
            const Real longer = sum_of_squares(x, n), shorter = sum_of_squares(y, n);
            const Wide g = inner_product(x, y, n);
            const Real size = sqrtl(square_of(g));
            if (!(size > LDBL_EPSILON * n * sqrtl(longer) * sqrtl(shorter)) ||
                shorter < AS_GOOD_AS_ZERO * AS_GOOD_AS_ZERO)
                continue;
            const Rotation r = rotation(longer, shorter, g, size);
            rotate(x, y, n, 1, r.cosine, r.first, r.second);
            if (v != NULL) rotate(v + p * v_rows, v + q * v_rows, v_rows, 1, r.cosine, r.first, r.second);
            done = false;
        }
    return done;
}

/* A unit vector orthogonal to the first j columns of a square matrix: of those along axes, the one that is farthest from
 * them, after two rounds of Gram-Schmidt. */
static void complete_column(Wide *u, int n, int j) {
    Wide *const fresh = u + j * n;
    Real most = -1;
    int row = 0;
    for (int i = 0; i < n; i++) {
        Real outside = 1;
        for (int k = 0; k < j; k++) outside -= square_of(u[i + k * n]);
        if (outside > most) {
            most = outside;
            row = i;
        }
    }
    for (int i = 0; i < n; i++) fresh[i] = i == row;
    for (int repeat = 0; repeat < 2; repeat++)
        for (int k = 0; k < j; k++) {
            const Wide along = inner_product(u + k * n, fresh, n);
            for (int i = 0; i < n; i++) fresh[i] -= u[i + k * n] * along;
        }
    const Real norm = sqrtl(sum_of_squares(fresh, n));
    for (int i = 0; i < n; i++) fresh[i] /= norm;
}

/* Divides columns by their norms, which become the values, largest first. */
static void normalise(Wide *a, Wide *v, int n, int v_rows, double *values) {
    Real norms[LARGEST_GRADED_SIDE];
    for (int j = 0; j < n; j++) norms[j] = sqrtl(sum_of_squares(a + j * n, n));
    for (int p = 0; p < n; p++)
        for (int q = p + 1; q < n; q++) {
            if (norms[q] <= norms[p]) continue;
            const Real former = norms[p];
            norms[p] = norms[q];
            norms[q] = former;
            exchange(a + p * n, a + q * n, n);
            if (v != NULL) exchange(v + p * v_rows, v + q * v_rows, v_rows);
        }
    for (int j = 0; j < n; j++) {
        values[j] = (double)norms[j];
        if (norms[j] < AS_GOOD_AS_ZERO) complete_column(a, n, j);
        else
            for (int i = 0; i < n; i++) a[i + j * n] /= norms[j];
    }
}

/* Which of so many values comes first, second, ...: the largest one does. */
static void order_of(const Real *values, int count, int *order) {
    for (int i = 0; i < count; i++) {
        int place = i;
        for (; place > 0 && values[i] > values[order[place - 1]]; place--) order[place] = order[place - 1];
        order[place] = i;
    }
}

/* y becomes its image in the plane to which v is orthogonal; itself where v is zero. */
static void reflect(const Wide *v, Wide *y, int count) {
    const Real half = sum_of_squares(v, count) / 2;
    if (half == 0) return;
    const Wide along = inner_product(v, y, count) / half;
    for (int i = 0; i < count; i++) y[i] -= v[i] * along;
}

/* Makes a triangle of a, m x n with m >= n, of which the longest column that is left comes next. Its diagonal stands
 * apart; below, the diagonal included, are the vectors of reflections. */
static void reflect_to_triangle(Wide *a, Wide *diagonal, int *order, int m, int n) {
    for (int j = 0; j < n; j++) order[j] = j;
    for (int j = 0; j < n; j++) {
        int next = j;
        for (int c = j + 1; c < n; c++)
            if (sum_of_squares(a + j + c * m, m - j) > sum_of_squares(a + j + next * m, m - j)) next = c;
        exchange(a + j * m, a + next * m, m);
        const int former = order[j];
        order[j] = order[next];
        order[next] = former;
        Wide *const v = a + j + j * m;
        const Real norm = sqrtl(sum_of_squares(v, m - j)), size = sqrtl(square_of(v[0]));
        diagonal[j] = size > 0 ? v[0] / size * -norm : -norm;
        v[0] -= diagonal[j];
        for (int c = j + 1; c < n; c++) reflect(v, a + j + c * m, m - j);
    }
}

/* Rows and columns of the matrix, or of its adjoint: m >= n. The room is for three such matrices and a triangle. */
static bool svd(const double *matrix, int m, int n, bool adjoint, int parts, double *u, double *values, double *vh,
                Wide *room) {
    Wide *const given = room, *const a = given + m * n, *const triangle = a + m * n;
    Wide *const v = u == NULL ? NULL : triangle + n * n;
    Wide diagonal[LARGEST_GRADED_SIDE];
    Real sizes[LARGEST_GRADED_SIDE];
    int rows[LARGEST_GRADED_SIDE], columns[LARGEST_GRADED_SIDE];
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) {
            const Wide x = loaded(matrix, adjoint ? j + i * n : i + j * m, parts);
            given[j + i * n] = adjoint ? conjl(x) : x;
        }
        sizes[i] = sum_of_squares(given + i * n, n);
    }
    order_of(sizes, m, rows);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) a[i + j * m] = given[j + rows[i] * n];
    reflect_to_triangle(a, diagonal, columns, m, n);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) triangle[j + i * n] = conjl(j < i ? 0 : j == i ? diagonal[i] : a[i + j * m]);
    for (int i = 0; v != NULL && i < m * n; i++) v[i] = i % (m + 1) == 0 && i < (m + 1) * n;
    int sweeps = 0;
    while (!sweep_columns(triangle, v, n, m))
        if (++sweeps == MOST_SWEEPS) return false;
    normalise(triangle, v, n, m, values);
    for (int i = 0; v != NULL && i < n; i++) {
        for (int j = n - 1; j >= 0; j--) reflect(a + j + j * m, v + j + i * m, m - j);
        for (int j = 0; j < m; j++) {
            const Wide x = v[j + i * m];
            if (adjoint) store(vh, i + rows[j] * n, parts, conjl(x));
            else store(u, rows[j] + i * m, parts, x);
        }
        for (int j = 0; j < n; j++) {
            const Wide x = triangle[j + i * n];
            if (adjoint) store(u, columns[j] + i * n, parts, x);
            else store(vh, i + columns[j] * n, parts, conjl(x));
        }
    }
    return true;
}

/* Makes the elements of a Hermitian matrix beside the diagonal zero; answers whether all were. */
static bool sweep_elements(Wide *a, Wide *v, int n) {
    bool done = true;
    for (int p = 0; p < n; p++)
        for (int q = p + 1; q < n; q++) {
            const Wide g = a[p + q * n];
            const Real first = creall(a[p + p * n]), second = creall(a[q + q * n]), size = sqrtl(square_of(g));
            if (!(size > LDBL_EPSILON * sqrtl(fabsl(first)) * sqrtl(fabsl(second))) || size < AS_GOOD_AS_ZERO) continue;
            const Rotation r = rotation(first, second, g, size);
            rotate(a + p * n, a + q * n, n, 1, r.cosine, r.first, r.second);
            rotate(a + p, a + q, n, n, r.cosine, conjl(r.first), conjl(r.second));
            a[p + p * n] = first - r.tangent * size;
            a[q + q * n] = second + r.tangent * size;
            a[p + q * n] = a[q + p * n] = 0;
            if (v != NULL) rotate(v + p * n, v + q * n, n, 1, r.cosine, r.first, r.second);
            done = false;
        }
    return done;
}

static bool eigh(const double *matrix, int n, int parts, double *values, double *vectors, Wide *a) {
    Wide *const v = vectors == NULL ? NULL : a + n * n;
    for (int j = 0; j < n; j++) {
        a[j + j * n] = creall(loaded(matrix, j + j * n, parts));
        for (int i = j + 1; i < n; i++) {
            a[i + j * n] = loaded(matrix, i + j * n, parts);
            a[j + i * n] = conjl(a[i + j * n]);
        }
    }
    if (v != NULL) set_identity(v, n);
    int sweeps = 0;
    while (!sweep_elements(a, v, n))
        if (++sweeps == MOST_SWEEPS) return false;
    for (int p = 0; p < n; p++) {
        int least = p;
        for (int q = p + 1; q < n; q++)
            if (creall(a[q + q * n]) < creall(a[least + least * n])) least = q;
        exchange(a + p + p * n, a + least + least * n, 1);
        if (v != NULL) exchange(v + p * n, v + least * n, n);
        store(values, p, 1, a[p + p * n]);
    }
    for (int i = 0; v != NULL && i < n * n; i++) store(vectors, i, parts, v[i]);
    return true;
}

bool graded_svd(const double *matrix, int m, int n, int parts, double *u, double *values, double *vh) {
    _Alignas(64) char little[LITTLE_WORKSPACE];
    const int longer = m < n ? n : m, k = m < n ? m : n;
    const size_t bytes = (size_t)(3 * m * n + k * k) * sizeof(Wide);
    void *const room = workspace_acquire(little, bytes);
    const bool good = room != NULL && svd(matrix, longer, k, m < n, parts, u, values, vh, room);
    if (room != NULL) workspace_release(room, bytes);
    return good;
}

bool graded_eigh(const double *matrix, int n, int parts, double *values, double *vectors) {
    _Alignas(64) char little[LITTLE_WORKSPACE];
    const size_t bytes = (size_t)(2 * n * n) * sizeof(Wide);
    void *const room = workspace_acquire(little, bytes);
    const bool good = room != NULL && eigh(matrix, n, parts, values, vectors, room);
    if (room != NULL) workspace_release(room, bytes);
    return good;
}

#else

bool graded_svd(const double *matrix, int m, int n, int parts, double *u, double *values, double *vh) {
    (void)matrix, (void)m, (void)n, (void)parts, (void)u, (void)values, (void)vh;
    return true;
}

bool graded_eigh(const double *matrix, int n, int parts, double *values, double *vectors) {
    (void)matrix, (void)n, (void)parts, (void)values, (void)vectors;
    return true;
}

#endif
