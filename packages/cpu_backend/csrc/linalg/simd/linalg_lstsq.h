/* Least squares: the x of smallest norm among those that minimise the norm of b - A x, by a QR decomposition of A, or
 * of the adjoint of a wide A, and one-sided Jacobi rotations (linalg_svd.h) of the triangle that is left.
 *
 * Of A = Q R let T be the adjoint of R, and c = Qᴴ b; of Aᴴ = Q R let T be R, and c = b. Rotations J make the columns w of
 * T J orthogonal; their sizes s are the singular values. What they do to the right-hand sides is Jᴴ c, so the adjoints
 * of c are more rows below T, and J itself is never needed. The solution, of a wide A before Q is applied to it, is the
 * sum of (w / s) (Jᴴ c / s) over the values that count: those above a part of the largest one. Residuals are taken of A, b
 * and x as they are.
 */

/* x times 2^e, whatever whole number e is, without leaving the range on the way. */
INLINE Number scaled_by_power(Number x, Lane e) {
    const Lane half = within(e, 1000.0);
    return scaled(scaled(x, power_of_two(half)), power_of_two(within(e - half, 1000.0)));
}

/* T, k x k, of the triangle above the diagonal of a, or its adjoint; answers the power of two by which it is scaled. */
INLINE Lane lstsq_triangle(Number *t, const Number *a, Index stride, const Lane *diagonal, int k, bool flipped) {
    for (int j = 0; j < k; j++)
        for (int i = 0; i < k; i++) {
            const Number above = i < j ? a[i + j * stride] : number(i == j ? diagonal[j] : broadcast(0.0));
            if (flipped) t[j + i * k] = conjugate(above);
            else t[i + j * k] = above;
        }
    return exponent(scale_numbers(t, k * k, SVD_SCALE));
}

/* b - A x into b, m x right, with the columns of A from memory. */
INLINE void lstsq_subtract(const LaneProblem *problem, const char *from, Index bytes, const Number *x, Number *b,
                           Number *column) {
    const int m = problem->rows, n = problem->columns, right = (int)problem->right;
    for (int j = 0; j < n; j++) {
        load_numbers(problem, from + j * matrix_bytes(problem, m, 1), bytes, column, m);
        for (int c = 0; c < right; c++)
            for (int i = 0; i < m; i++) b[i + c * m] = subtract_product(b[i + c * m], column[i], x[j + c * n]);
    }
}

/* So many groups of matrices, or where `alone` single ones, which then stand in all lanes. */
static __attribute__((noinline)) bool lstsq_each(const LaneProblem *problem, const char *const *operands,
                                                 char *const *results, Index count, Number *room, bool alone) {
    const int m = problem->rows, n = problem->columns, right = (int)problem->right;
    const bool wide = m < n;
    const int k = wide ? m : n, longer = wide ? n : m;
    const Index bytes = matrix_bytes(problem, m, n), b_bytes = matrix_bytes(problem, m, right);
    const Index x_bytes = matrix_bytes(problem, n, right), left_bytes = matrix_bytes(problem, right, 1) / PARTS;
    const Index value_bytes = matrix_bytes(problem, k, 1) / PARTS;
    const Index apart = !alone, step = alone ? 1 : LANES;
    Number *const a = room, *const t = a + m * n, *const turned = t + k * k, *const b = turned + right * k;
    Number *const x = b + m * right, *const tau = x + (n * right > m * n ? n * right : m * n), *const column = tau + k;
    Lane *const values = (Lane *)(column + m), *const powers = values + k, *const lost = powers + right;
    Mask bad = no_lane();
    for (Index group = 0; group < count; group++) {
        const char *const from = operands[0] + group * step * bytes;
        const char *const b_from = operands[1] + group * step * b_bytes;
        bad |= load_numbers(problem, from, apart * bytes, wide ? x : a, m * n);
        if (wide) adjoint(a, n, x, m, m, n);
        Lane power = exponent(scale_numbers(a, m * n, 0.0));
        qr_reflect_group(a, longer, values, tau, longer, k);
        power += lstsq_triangle(t, a, longer, values, k, !wide);

        bad |= load_numbers(problem, b_from, apart * b_bytes, b, m * right);
        for (int c = 0; c < right; c++) powers[c] = exponent(scale_numbers(b + c * m, m, 0.0));
        for (int j = 0; !wide && j < k; j++)
            reflect_columns(a + j + j * longer, conjugate(tau[j]), b + j, m, m - j, right);
        adjoint(turned, right, b, m, k, right);

        bad |= alone ? svd_iterate_one(t, values, turned, k, k, right, false)
                     : svd_iterate_group(t, values, turned, k, k, right, false, (Number *)(lost + right));
        Lane most = broadcast(0.0), rank = broadcast(0.0);
        for (int j = 0; j < k; j++) most = larger(most, values[j]);
        const Lane least = root(most) * problem->tolerance;
        for (int j = 0; j < k; j++) {
            const Mask counts = greater(root(values[j]), least);
            const Lane factor = pick(counts, 1.0 / pick(counts, root(values[j]), broadcast(1.0)), broadcast(0.0));
            rank += pick(counts, broadcast(1.0), broadcast(0.0));
            for (int i = 0; i < k; i++) t[i + j * k] = scaled(t[i + j * k], factor);
            for (int c = 0; c < right; c++) turned[c + j * right] = scaled(conjugate(turned[c + j * right]), factor);
            values[j] = -values[j];
        }
        for (int c = 0; c < right; c++) {
            for (int i = 0; i < n; i++) x[i + c * n] = number(broadcast(0.0));
            for (int j = 0; j < k; j++)
                for (int i = 0; i < k; i++)
                    x[i + c * n] = add_product(x[i + c * n], t[i + j * k], turned[c + j * right]);
        }
        for (int j = k - 1; wide && j >= 0; j--) reflect_columns(a + j + j * longer, tau[j], x + j, n, n - j, right);
        for (int c = 0; c < right; c++)
            for (int i = 0; i < n; i++) x[i + c * n] = scaled_by_power(x[i + c * n], power - powers[c]);
        drop_signs_of_zeros(x, n * right);
        store_numbers(problem, results[0] + group * step * x_bytes, apart * x_bytes, x, n * right);

        load_numbers(problem, b_from, apart * b_bytes, b, m * right);
        lstsq_subtract(problem, from, apart * bytes, x, b, column);
        for (int c = 0; c < right; c++) {
            lost[c] = broadcast(0.0);
            for (int i = 0; i < m; i++) lost[c] = add_square(lost[c], b[i + c * m]);
        }
        store_lanes(results[1] + group * step * left_bytes, lost, apart * left_bytes, right, problem->narrow);
        const Bits whole = integers(rank);
        memcpy(results[2] + group * step * (Index)sizeof(uint64_t), &whole, (size_t)step * sizeof(uint64_t));
        sort_lanes(values, k);
        const Mask small = greater(values[k - 1], broadcast(-SVD_SMALL * SVD_SMALL));
        if (!problem->narrow && problem->tolerance < 0x1p-300 && any(small)) /* and it counts */
            bad |= small & greater(graded_bounds(problem, from, apart, false, SVD_EXPONENTS), broadcast(0.0));
        for (int j = 0; j < k; j++) values[j] = real_part(scaled_by_power(number(root(-values[j])), -power));
        store_lanes(results[3] + group * step * value_bytes, values, apart * value_bytes, k, problem->narrow);
    }
    return !any(bad);
}

static bool lstsq(const LaneProblem *problem, const char *const *operands, char *const *results, Index groups,
                  void *room) {
    return lstsq_each(problem, operands, results, groups, room, false);
}

#if LANES > 2
static bool lstsq_single(const LaneProblem *problem, const char *const *operands, char *const *results, Index count,
                         void *room) {
    return lstsq_each(problem, operands, results, count, room, true);
}
#endif
