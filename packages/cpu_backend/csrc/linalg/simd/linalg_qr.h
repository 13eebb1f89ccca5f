/* QR decomposition by Householder reflections H = I - tau v vᴴ, as LAPACK makes them (xGEQR2, xLARFG, xORG2R):
 * the diagonal of R is real, and its sign is the opposite of that of the diagonal element (alpha) that a reflection
 * replaces. A column that is zero below the diagonal is left as it is, unless alpha is complex: a reflection makes that
 * real, too. LAPACK reflects whenever anything is left below the diagonal; here what is smaller than 2^-200 of its
 * column counts as zero, so the sign differs there.
 *
 * Columns are scaled by powers of two first. That changes no reflection, keeps every sum of squares in range, and
 * makes what is far smaller than its column negligible.
 */

static const double NEGLIGIBLE = 0x1p-400; /* a square, of a column whose largest element is about 1 */

/* Replaces the columns of a by R on and above the diagonal, by the vectors v below it; v starts with a 1 not stored. */
INLINE void qr_reflect_group(Number *a, Number *tau, int m, int n) {
    for (int j = 0; j < (m < n ? m : n); j++) {
        Number *column = a + j * m, alpha = column[j];
        Lane rest = square_of_imaginary(alpha);
        for (int i = j + 1; i < m; i++) rest = add_square(rest, column[i]);
        Lane real = real_part(alpha), norm = root(real * real + rest);
        Mask useful = greater(rest, broadcast(NEGLIGIBLE));
        Lane beta = pick(useful, with_sign(norm, -real), real), safe = pick(useful, beta, broadcast(1.0));
        Number zero = number(broadcast(0.0)), distance = subtract(alpha, number(safe));
        tau[j] = choose(useful, minus(divide_by_real(distance, safe)), zero);
        Number factor = choose(useful, reciprocal(distance), zero);
        for (int i = j + 1; i < m; i++) column[i] = times(column[i], factor);
        column[j] = number(beta);

        for (int c = j + 1; c < n; c++) {
            Number *other = a + c * m, sum = other[j];
            for (int i = j + 1; i < m; i++) sum = add_product(sum, conjugate(column[i]), other[i]);
            sum = times(sum, conjugate(tau[j]));
            other[j] = subtract(other[j], sum);
            for (int i = j + 1; i < m; i++) other[i] = subtract_product(other[i], column[i], sum);
        }
    }
}

/* The first k columns of the product of the reflections, from the last to the first. */
INLINE void qr_expand_group(const Number *a, const Number *tau, Number *q, int m, int k) {
    for (int j = k - 1; j >= 0; j--) {
        const Number *v = a + j * m;
        for (int c = j + 1; c < k; c++) {
            Number *other = q + c * m, sum = number(broadcast(0.0));
            for (int i = j + 1; i < m; i++) sum = add_product(sum, conjugate(v[i]), other[i]);
            sum = times(sum, tau[j]);
            other[j] = minus(sum);
            for (int i = j + 1; i < m; i++) other[i] = subtract_product(other[i], v[i], sum);
        }
        Number *column = q + j * m;
        for (int i = 0; i < j; i++) column[i] = number(broadcast(0.0));
        column[j] = subtract(number(broadcast(1.0)), tau[j]);
        for (int i = j + 1; i < m; i++) column[i] = minus(times(v[i], tau[j]));
    }
}

INLINE bool qr_groups(const LaneProblem *problem, const char *const *operands, char *const *results, Index groups,
                      Number *room, int m, int n) {
    const int k = m < n ? m : n, larger_side = m < n ? n : m;
    const Index bytes = matrix_bytes(problem, m, n), q_bytes = matrix_bytes(problem, m, k);
    const Index r_bytes = matrix_bytes(problem, k, n);
    Mask bad = no_lane();
    for (Index group = 0; group < groups; group++) {
        Number *const a = room, *const q = a + m * n, *const tau = q + larger_side * k;
        Lane *const scales = (Lane *)(tau + k);
        bad |= load_numbers(problem, operands[0] + group * LANES * bytes, bytes, a, m * n);
        for (int c = 0; c < n; c++) scales[c] = scale_numbers(a + c * m, m, 0.0);
        qr_reflect_group(a, tau, m, n);
        qr_expand_group(a, tau, q, m, k);
        store_numbers(problem, results[0] + group * LANES * q_bytes, q_bytes, q, m * k);
        for (int c = 0; c < n; c++) {
            const Lane back = inverse_power(scales[c]);
            for (int i = 0; i < k; i++) q[i + c * k] = i <= c ? scaled(a[i + c * m], back) : number(broadcast(0.0));
        }
        store_numbers(problem, results[1] + group * LANES * r_bytes, r_bytes, q, k * n);
    }
    return !any(bad);
}

RECTANGULAR_ROUTINE(qr, QR_ROOM(LARGEST_CONSTANT_SIDE))
