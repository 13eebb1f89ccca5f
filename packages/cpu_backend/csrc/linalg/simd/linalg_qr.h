/* QR decomposition by Householder reflections H = I - tau v vᴴ, as LAPACK makes them (xGEQR2, xLARFG, xORG2R):
 * the diagonal of R is real, and its sign is the opposite of that of the diagonal element (alpha) that a reflection
 * replaces. A column that is zero below the diagonal is left as it is, unless alpha is complex: a reflection makes that
 * real, too. LAPACK reflects whenever anything is left below the diagonal; here what is smaller than about 2^-200 of
 * its column, 2^-180 at most, counts as zero, so the sign differs there.
 *
 * Columns far from 1 are scaled by powers of two first. That changes no reflection, keeps every sum of squares in range,
 * and makes what is far smaller than its column negligible.
 */

/* Replaces the columns of a by R above the diagonal, and by the vectors of the reflections on it and below. */
INLINE void qr_reflect_group(Number *a, Index stride, Lane *diagonal, Number *tau, int m, int n) {
    for (int j = 0; j < (m < n ? m : n); j++) {
        Number *v = a + j + j * stride;
        diagonal[j] = reflection(v, m - j, tau + j);
        reflect_columns(v, conjugate(tau[j]), v + stride, stride, m - j, n - j - 1);
    }
}

/* Whether registers hold a column of LARGEST_PAIRED_SIDE rows. */
enum { WHOLE_COLUMNS = PARTS == 1 || LANES == 8 };

/* The same for up to 8 rows, where a column stays in registers: the number of rows is a constant of each step. */
INLINE void qr_reflect_column(const Number *v, Number tau, Number *column, int rows) {
    Number x[LARGEST_PAIRED_SIDE];
    InnerProduct sums = {0};
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++) {
        x[i] = column[i];
        if (i % 2 == 0) add_inner(&sums, v[i], x[i]);
        else add_odd_inner(&sums, v[i], x[i]);
    }
    const Number factor = times_in_order(inner_product(&sums), tau);
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++) column[i] = subtract_product(x[i], v[i], factor);
}

#define QR_STEP(rows)                                                                                                  \
    static __attribute__((noinline)) void qr_reflect_##rows(const Number *v, Number tau, Number *columns,              \
                                                            Index stride, int count) {                                 \
        for (int c = 0; c < count; c++) qr_reflect_column(v, tau, columns + c * stride, rows);                         \
    }
#define QR_REFLECT_AT(rows) [rows] = qr_reflect_##rows,
#define EACH_QR_STEP(DO) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8)
EACH_QR_STEP(QR_STEP)
static void (*const QR_REFLECT[])(const Number *, Number, Number *, Index, int) = {EACH_QR_STEP(QR_REFLECT_AT)};

/* The first column that a reflection leaves, of a unit matrix; zeros above it, and in its row behind it before. */
INLINE void qr_first_column(const Number *v, Number tau, Number *column, int rows, int above) {
    for (int i = -above; i < 0; i++) column[i] = number(broadcast(0.0));
    for (int i = 0; i < rows; i++) column[i] = subtract_product(number(broadcast(i == 0)), v[i], tau);
}

/* Where a group has what. */
typedef struct {
    Number *a, *q, *tau;
    Lane *scales, *diagonal;
} QrPlaces;

INLINE QrPlaces qr_places(Number *room, Index area, int k, int n) {
    Number *const q = room + area, *const tau = q + area;
    return (QrPlaces){room, q, tau, (Lane *)(tau + k), (Lane *)(tau + k) + n};
}

/* What qr_reflect_group() does, for so many groups of few rows side by side: each reflection waits for a root. */
INLINE void qr_side_by_side(const QrPlaces *at, int m, int n, int many) {
    for (int j = 0; j < (m < n ? m : n); j++) {
        const int rows = m - j;
        for (int g = 0; g < many; g++) at[g].diagonal[j] = reflection(at[g].a + j + j * m, rows, at[g].tau + j);
        for (int g = 0; g < many; g++) {
            Number *const v = at[g].a + j + j * m;
            if (WHOLE_COLUMNS) QR_REFLECT[rows](v, conjugate(at[g].tau[j]), v + m, m, n - j - 1);
            else reflect_columns(v, conjugate(at[g].tau[j]), v + m, m, rows, n - j - 1);
        }
    }
}

/* Q of few rows. */
INLINE void qr_expand(const QrPlaces *at, int m, int k) {
    for (int j = k - 1; j >= 0; j--) {
        Number *const column = at->q + j + j * m;
        const Number *const v = at->a + j + j * m;
        if (WHOLE_COLUMNS) QR_REFLECT[m - j](v, at->tau[j], column + m, m, k - j - 1);
        else reflect_columns(v, at->tau[j], column + m, m, m - j, k - j - 1);
        qr_first_column(v, at->tau[j], column, m - j, j);
    }
}

/* Scales so many numbers of a column by the power of two that makes the largest of them about 1, unless that is between
 * 2^-20 and 2^20; answers the power. */
INLINE Lane qr_scale_column(Number *column, int count) {
    Lane most = broadcast(0.0);
    for (int i = 0; i < count; i++) most = larger(largest_part(column[i]), most);
    const Mask far = greater(size_of(exponent(most)), broadcast(20.0));
    if (!any(far)) return broadcast(1.0);
    const Lane factor = pick(far, scale_to(most, 0.0), broadcast(1.0));
    for (int i = 0; i < count; i++) column[i] = scaled(column[i], factor);
    return factor;
}

/* R of k rows from what is above the diagonal of a, which it may replace, as the columns were before they were scaled. */
INLINE void qr_triangle(const QrPlaces *at, const Number *a, Index stride, Number *r, Index r_stride, int k, int n) {
    for (int c = 0; c < n; c++) {
        const Lane back = inverse_power(at->scales[c]);
        const bool moves = a != r || any(complement(equal(back, broadcast(1.0))));
        for (int i = 0; moves && i < k && i < c; i++) r[i + c * r_stride] = scaled(a[i + c * stride], back);
        if (c < k) r[c + c * r_stride] = number(at->diagonal[c] * back);
        for (int i = c + 1; i < k; i++) r[i + c * r_stride] = number(broadcast(0.0));
    }
}

/* So many groups, from one on, of which each has so much room. */
INLINE Mask qr_some(const LaneProblem *problem, const char *const *operands, char *const *results, Index group,
                    Number *room, int m, int n, int many, bool few_rows) {
    const int k = m < n ? m : n;
    const Index bytes = matrix_bytes(problem, m, n), q_bytes = matrix_bytes(problem, m, k);
    const Index r_bytes = matrix_bytes(problem, k, n);
    const Index stride = padded(m), r_stride = padded(k), area = stride * padded(n);
    QrPlaces at[AT_ONCE];
    Mask bad = no_lane();
    for (int g = 0; g < many; g++) {
        at[g] = qr_places(room + g * QR_ROOM(m > n ? m : n), area, k, n);
        bad |= load_padded(problem, operands[0] + (group + g) * LANES * bytes, bytes, at[g].a, stride, m, n);
        prefetch_results(problem, results[0] + (group + g) * LANES * q_bytes, q_bytes);
        prefetch_results(problem, results[1] + (group + g) * LANES * r_bytes, r_bytes);
        prefetch_group(operands[0] + (group + g) * LANES * bytes, bytes, many);
        for (int c = 0; c < n; c++) at[g].scales[c] = qr_scale_column(at[g].a + c * stride, m);
    }
    if (few_rows) qr_side_by_side(at, m, n, many);
    else qr_reflect_group(at[0].a, stride, at[0].diagonal, at[0].tau, m, n);
    for (int g = 0; g < many; g++) {
        Number *const a = at[g].a, *const q = at[g].q, *const r = k == m ? a : q;
        if (few_rows) qr_expand(at + g, m, k);
        else expand_reflections(a, at[g].tau, k, 0, q, stride, m, k);
        store_padded(problem, results[0] + (group + g) * LANES * q_bytes, q_bytes, q, stride, m, k);
        qr_triangle(at + g, a, stride, r, r_stride, k, n);
        store_padded(problem, results[1] + (group + g) * LANES * r_bytes, r_bytes, r, r_stride, k, n);
    }
    return bad;
}

INLINE bool qr_groups(const LaneProblem *problem, const char *const *operands, char *const *results, Index groups,
                      Number *room, int m, int n) {
    const bool few_rows = n > LARGEST_CONSTANT_SIDE && m <= LARGEST_PAIRED_SIDE && n <= LARGEST_PAIRED_SIDE;
    Mask bad = no_lane();
    Index group = 0;
    for (; few_rows && group + AT_ONCE <= groups; group += AT_ONCE)
        bad |= qr_some(problem, operands, results, group, room, m, n, AT_ONCE, true);
    for (; group < groups; group++) {
        if (few_rows) bad |= qr_some(problem, operands, results, group, room, m, n, 1, true);
        else bad |= qr_some(problem, operands, results, group, room, m, n, 1, false);
    }
    return !any(bad);
}

RECTANGULAR_ROUTINE(qr, QR_ROOM(LARGEST_CONSTANT_SIDE))
