/* QR decomposition by Householder reflections H = I - tau v vᴴ, as LAPACK makes them (xGEQR2, xLARFG, xORG2R):
 * the diagonal of R is real, and its sign is the opposite of that of the diagonal element (alpha) that a reflection
 * replaces. A column that is zero below the diagonal is left as it is, unless alpha is complex: a reflection makes that
 * real, too. LAPACK reflects whenever anything is left below the diagonal; here what is smaller than 2^-200 of its
 * column counts as zero, so the sign differs there.
 *
 * Columns are scaled by powers of two first. That changes no reflection, keeps every sum of squares in range, and
 * makes what is far smaller than its column negligible.
 */

/* Replaces the columns of a by R above the diagonal, and by the vectors of the reflections on it and below. */
INLINE void qr_reflect_group(Number *a, Index stride, Lane *diagonal, Number *tau, int m, int n) {
    for (int j = 0; j < (m < n ? m : n); j++) {
        Number *v = a + j + j * stride;
        diagonal[j] = reflection(v, m - j, tau + j);
        reflect_columns(v, conjugate(tau[j]), v + stride, stride, m - j, n - j - 1);
    }
}

INLINE bool qr_groups(const LaneProblem *problem, const char *const *operands, char *const *results, Index groups,
                      Number *room, int m, int n) {
    const int k = m < n ? m : n;
    const Index bytes = matrix_bytes(problem, m, n), q_bytes = matrix_bytes(problem, m, k);
    const Index r_bytes = matrix_bytes(problem, k, n);
    Mask bad = no_lane();
    const Index stride = padded(m), r_stride = padded(k), area = stride * padded(n);
    for (Index group = 0; group < groups; group++) {
        Number *const a = room, *const q = a + area, *const tau = q + area;
        Lane *const scales = (Lane *)(tau + k), *const diagonal = scales + n;
        bad |= load_padded(problem, operands[0] + group * LANES * bytes, bytes, a, stride, m, n);
        for (int c = 0; c < n; c++) scales[c] = scale_numbers(a + c * stride, m, 0.0);
        qr_reflect_group(a, stride, diagonal, tau, m, n);
        expand_reflections(a, tau, k, 0, q, stride, m, k);
        store_padded(problem, results[0] + group * LANES * q_bytes, q_bytes, q, stride, m, k);
        for (int c = 0; c < n; c++) {
            const Lane back = inverse_power(scales[c]);
            for (int i = 0; i < k; i++)
                q[i + c * r_stride] = i < c ? scaled(a[i + c * stride], back) : number(broadcast(0.0));
            if (c < k) q[c + c * r_stride] = number(diagonal[c] * back);
        }
        store_padded(problem, results[1] + group * LANES * r_bytes, r_bytes, q, r_stride, k, n);
    }
    return !any(bad);
}

RECTANGULAR_ROUTINE(qr, QR_ROOM(LARGEST_CONSTANT_SIDE))
