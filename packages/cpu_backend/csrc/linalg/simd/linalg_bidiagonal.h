/* Thin singular value decomposition of larger matrices, not wider than tall: Householder reflections to upper bidiagonal
 * form, then implicit QR iterations (Golub and Van Loan, Matrix Computations, 4th ed., §8.6; the formulas of LAPACK's
 * xBDSQR).
 *
 * The update by one pair of reflections, the product with the next left vector, and that with the next right one go over
 * the matrix together (Howell, Demmel, Fulton, Hammarling and Marmol, ACM Trans. Math. Softw. 34, 2008): the right vector
 * is known but for its first element and its scale, which are put right afterwards. The error is a few rounding units of
 * the norm of the matrix, as LAPACK's is; where columns are graded, large ones first, of each singular value.
 */

/* Vectors of the last pair of reflections: v yᵀ + x uᴴ is yet to be subtracted from the matrix. */
typedef struct {
    Number *v, *y, *x, *u; /* v and x by rows, y and u by columns */
} Pair;

/* Some columns from j on, a constant, of the rows from k on: subtracts what is left of the last pair, finds y for the
 * new left vector, and adds their share to the product with the conjugated first row. */
INLINE void update_and_multiply_twice(Number *a, Index stride, int m, int k, int j, int few, const Pair *last,
                                      const Number *v, Number tau, Number *y, Number *row, Number *product) {
    Number last_y[COLUMNS_AT_ONCE], last_u[COLUMNS_AT_ONCE], sums[COLUMNS_AT_ONCE];
    for (int c = 0; c < few; c++) {
        last_y[c] = last->y[j + c];
        last_u[c] = conjugate(last->u[j + c]);
        sums[c] = number(broadcast(0.0));
    }
    for (int i = k; i < m; i++) {
        const Number mirrored = conjugate(v[i]);
        for (int c = 0; c < few; c++) {
            Number *element = a + i + (j + c) * stride;
            *element = subtract_product(subtract_product(*element, last->v[i], last_y[c]), last->x[i], last_u[c]);
            sums[c] = add_product(sums[c], mirrored, *element);
        }
    }
    for (int c = 0; c < few; c++) {
        y[j + c] = times(sums[c], tau);
        row[j + c] = conjugate(subtract(a[k + (j + c) * stride], y[j + c]));
    }
    for (int i = k + 1; i < m; i++) {
        Number total = product[i];
        for (int c = 0; c < few; c++) total = add_product(total, a[i + (j + c) * stride], row[j + c]);
        product[i] = total;
    }
}

/* Makes a, m x n with m >= n, bidiagonal. The left vectors stay on and below its diagonal, with their 1; the right ones
 * go into the columns of `right`, n x n, below its diagonal. The room is of 3 m + 4 n numbers. */
INLINE void bidiagonalise_group(Number *a, Index stride, int m, int n, Lane *diagonal, Lane *off_diagonal,
                                Number *tau_left, Number *tau_right, Number *right, Index right_stride, Number *room) {
    const Number zero = number(broadcast(0.0));
    Pair last = {room, room + m, room + m + n, room + 2 * m + n};
    Number *y = room + 2 * m + 2 * n, *product = y + n, *row = product + m;
    for (int i = 0; i < 2 * m + 2 * n; i++) room[i] = zero;
    for (int k = 0; k < n; k++) {
        Number *const v = a + k * stride; /* from row k on */
        const Number last_y = last.y[k], last_u = conjugate(last.u[k]);
        for (int i = k; i < m; i++)
            v[i] = subtract_product(subtract_product(v[i], last.v[i], last_y), last.x[i], last_u);
        diagonal[k] = reflection(v + k, m - k, tau_left + k);
        if (k == n - 1) break;
        for (int i = k + 1; i < m; i++) product[i] = zero;
        const Number tau = conjugate(tau_left[k]);
        int j = k + 1;
        for (; j + COLUMNS_AT_ONCE <= n; j += COLUMNS_AT_ONCE)
            update_and_multiply_twice(a, stride, m, k, j, COLUMNS_AT_ONCE, &last, v, tau, y, row, product);
        for (; j < n; j++) update_and_multiply_twice(a, stride, m, k, j, 1, &last, v, tau, y, row, product);
        Number *const u = right + k * right_stride; /* from row k + 1 on */
        Number along = zero;
        for (j = k + 1; j < n; j++) {
            u[j] = row[j];
            along = add_product(along, y[j], row[j]);
        }
        const Number alpha = u[k + 1];
        const Lane beta = off_diagonal[k] = reflection(u + k + 1, n - k - 1, tau_right + k);
        const Number distance = subtract(alpha, number(beta));
        const Mask is_none = equal(largest_part(tau_right[k]), broadcast(0.0)); /* no reflection */
        const Number factor = times(reciprocal(choose(is_none, number(broadcast(1.0)), distance)), tau_right[k]);
        const Number first = y[k + 1];
        for (int i = k + 1; i < m; i++) { /* (A - v yᵀ) u, from that with the row: u is (row - beta e) / distance */
            const Number whole = subtract_product(product[i], v[i], along);
            const Number column = subtract_product(a[i + (k + 1) * stride], v[i], first);
            last.x[i] = times(subtract(whole, scaled(column, beta)), factor);
            last.v[i] = v[i];
        }
        for (j = k + 1; j < n; j++) {
            last.y[j] = y[j];
            last.u[j] = u[j];
        }
    }
}

/* The smaller singular value of [[f, g], [0, h]]. */
INLINE Lane smaller_value(Lane f, Lane g, Lane h) {
    const Lane p = size_of(f), q = size_of(h), sum = p + q, difference = p - q;
    const Lane width = root(sum * sum + g * g) + root(difference * difference + g * g);
    return 2.0 * p * q / pick(equal(width, broadcast(0.0)), broadcast(1.0), width);
}

/* Sets to zero what changes no singular value by more than a few rounding units of itself, of columns from one to another
 * (Demmel and Kahan, SIAM J. Sci. Stat. Comput. 11, 1990, criterion 1b). `inverse` bounds, but for the number of columns,
 * the norm of the inverse of what begins where the block does and ends in each column. */
INLINE void drop_terms(const Lane *d, Lane *e, Lane *inverse, int from, int to) {
    Mask kept = no_lane(); /* where a block goes on that begins further up */
    if (from > 0) kept = complement(equal(e[from - 1], broadcast(0.0)));
    inverse[from] = pick(kept, inverse[from], 1.0 / size_of(d[from]));
    for (int i = from; i < to; i++) {
        const Lane part = size_of(e[i]) * inverse[i];
        const Mask matters = greater(part, broadcast(NEGLIGIBLE_TERM)) & greater(e[i] * e[i], broadcast(NO_LINK));
        e[i] = pick(matters, e[i], broadcast(0.0));
        inverse[i + 1] = pick(matters, 1.0 + part, broadcast(1.0)) / size_of(d[i + 1]);
    }
}

/* One QR step in the window of every lane; the rotations of the right and of the left vectors are kept. Where a shift
 * would lose digits of the smallest values, there is none, and the step loses none of any value. */
INLINE void bidiagonal_sweep(Lane *d, Lane *e, Window window, const Lane *inverse, int n, PlaneRotation *right,
                             PlaneRotation *left) {
    Lane top = broadcast(0.0), above = top, below = top, link = top, largest = top, largest_inverse = top;
    for (int i = window.from; i <= window.to; i++) {
        top = pick(equal(window.first, broadcast(i)), d[i], top);
        const Mask inside = complement(greater(window.first, broadcast(i)) | greater(broadcast(i), window.last));
        largest_inverse = pick(inside, larger(largest_inverse, inverse[i]), largest_inverse);
        largest = pick(inside, larger(largest, size_of(d[i])), largest);
        if (i == window.to) break;
        const Mask at_end = equal(window.last, broadcast(i + 1));
        above = pick(at_end, d[i], above);
        below = pick(at_end, d[i + 1], below);
        link = pick(at_end, e[i], link);
    }
    Lane shift = smaller_value(above, link, below);
    const Lane ratio = shift / pick(equal(top, broadcast(0.0)), broadcast(1.0), top);
    const Mask plain = complement(greater(ratio * ratio, broadcast(ROUNDING_UNIT))) |
                       complement(greater(broadcast(SHIFTED_SPREAD * n), largest * largest_inverse)) |
                       equal(top, broadcast(0.0));
    Lane f = pick(plain, top, (size_of(top) - shift) * (with_sign(broadcast(1.0), top) + ratio));
    Lane g = broadcast(0.0), left_cosine = broadcast(1.0), left_sine = broadcast(0.0);
    for (int i = window.from; i < window.to; i++) {
        const Mask begins = equal(window.first, broadcast(i));
        const Mask inside = complement(greater(window.first, broadcast(i))) & greater(window.last, broadcast(i));
        const Mask ends = inside & equal(window.last, broadcast(i + 1));
        g = pick(begins, e[i], g);
        Lane r;
        const PlaneRotation of_right = plane_rotation(f, g, inside, &r);
        if (i > window.from) e[i - 1] = pick(inside & complement(begins), pick(plain, left_sine * r, r), e[i - 1]);
        Lane c = of_right.cosine, s = of_right.sine;
        /* without a shift the rotation leaves nothing of e, and the diagonal is what comes of the one before */
        const Lane turned = pick(plain, pick(begins, r, left_cosine * r), c * d[i] + s * e[i]);
        const Lane left_over = pick(plain, broadcast(0.0), c * e[i] - s * d[i]);
        const Lane bulge = s * d[i + 1], next = c * d[i + 1]; /* with the identity: nothing, and the same */
        const PlaneRotation of_left = plane_rotation(turned, bulge, inside, &r);
        c = left_cosine = of_left.cosine;
        s = left_sine = of_left.sine;
        d[i] = pick(inside, r, d[i]);
        const Lane link_now = c * left_over + s * next;
        d[i + 1] = pick(inside, c * next - s * left_over, d[i + 1]);
        f = pick(inside, pick(plain, next, link_now), f);
        e[i] = pick(ends, link_now, e[i]);
        if (i + 1 < window.to) {
            const Mask goes_on = inside & complement(ends);
            g = pick(goes_on, pick(plain, e[i + 1], s * e[i + 1]), g);
            e[i + 1] = pick(goes_on & complement(plain), c * e[i + 1], e[i + 1]);
        }
        right[i] = of_right;
        left[i] = of_left;
    }
}

/* Makes a bidiagonal matrix diagonal, and rotates the rows of u (m of them) and v, unless they are NULL. Answers which
 * matrices have not converged. */
INLINE Mask bidiagonal_iterate_group(Lane *d, Lane *e, Number *u, int m, Number *v, Index stride, PlaneRotation *kept,
                                     int n) {
    Sweep left[SWEEPS_AT_ONCE], right[SWEEPS_AT_ONCE];
    Lane inverse[LARGEST_SIDE];
    int count = 0;
    Window window = {.from = 0, .to = n - 1};
    for (int still = MOST_SWEEPS_A_VALUE * n; still > 0; still--) {
        drop_terms(d, e, inverse, window.from, window.to);
        window = window_of(e, n);
        if (window.from < 0) break;
        PlaneRotation *const rotations = kept + (Index)count * 2 * n;
        right[count] = (Sweep){window.from, window.to, rotations};
        left[count] = (Sweep){window.from, window.to, rotations + n};
        bidiagonal_sweep(d, e, window, inverse, n, rotations, rotations + n);
        if (u != NULL && ++count == SWEEPS_AT_ONCE) {
            sweep_all(u, m, stride, left, count);
            sweep_all(v, n, stride, right, count);
            count = 0;
        }
    }
    if (u != NULL) sweep_all(u, m, stride, left, count);
    if (u != NULL) sweep_all(v, n, stride, right, count);
    return window.from < 0 ? no_lane() : greater(window.last, broadcast(-1.0));
}

/* One row of each matrix of a group, of n elements of so many bytes, which is a constant, where `place` puts them. */
INLINE void place_row(char *to, Index matrix, const char *from, int n, Index each, int (*place)[LARGEST_SIDE]) {
    for (int lane = 0; lane < LANES; lane++)
        for (int i = 0; i < n; i++)
            memcpy(to + lane * matrix + place[lane][i] * each, from + (lane * n + i) * each, (size_t)each);
}

/* The adjoint of a matrix that is given row by row, so many of n numbers: column j of the result is its conjugated row
 * j, every element times its sign, where `place` puts it. The room is of 2 n numbers. */
INLINE void store_adjoint(const LaneProblem *problem, char *to, Index matrix, const Number *rows, Index stride,
                          int count, int n, const Lane *signs, int (*place)[LARGEST_SIDE], Number *room) {
    const Index bytes = matrix_bytes(problem, n, 1);
    char *const apart = (char *)(room + n);
    for (int j = 0; j < count; j++) {
        for (int i = 0; i < n; i++) room[i] = scaled(conjugate(rows[i + j * stride]), signs[i]);
        drop_signs_of_zeros(room, n);
        store_numbers(problem, apart, bytes, room, n);
        if (problem->narrow) place_row(to + j * bytes, matrix, apart, n, PARTS * sizeof(float), place);
        else place_row(to + j * bytes, matrix, apart, n, PARTS * sizeof(double), place);
    }
}

static __attribute__((noinline)) bool svd_large(const LaneProblem *problem, const char *const *operands,
                                                char *const *results, Index groups, Number *room, bool vectors) {
    const int rows = problem->rows, columns = problem->columns;
    const bool wide = rows < columns;
    const int n = wide ? rows : columns, m = wide ? columns : rows;
    const Index bytes = matrix_bytes(problem, rows, columns), u_bytes = matrix_bytes(problem, rows, n);
    const Index s_bytes = matrix_bytes(problem, n, 1) / PARTS, vh_bytes = matrix_bytes(problem, n, columns);
    const Index stride = m | 1, short_stride = n | 1, row_stride = rows | 1, area = stride * short_stride;
    Number *const a = room, *const other = a + area, *const right = other + area, *const v = right + n * short_stride;
    Number *const tau = v + n * short_stride, *const work = tau + 2 * n;
    Lane *const d = (Lane *)(work + 3 * m + 4 * n), *const e = d + n, *const sorted = e + n, *const signs = sorted + n;
    PlaneRotation *const kept = (PlaneRotation *)(signs + n);
    int place[LANES][LARGEST_SIDE];
    Mask bad = no_lane();
    for (Index group = 0; group < groups; group++) {
        const char *const from = operands[0] + group * LANES * bytes;
        bad |= load_padded(problem, from, bytes, wide ? other : a, wide ? short_stride : stride, rows, columns);
        if (wide) adjoint(a, stride, other, short_stride, rows, columns);
        for (int j = 0; j < n; j++)
            for (Index i = m; i < stride; i++) a[i + j * stride] = number(broadcast(0.0));
        const Lane back = inverse_power(scale_numbers(a, n * (int)stride, 0.0));
        bidiagonalise_group(a, stride, m, n, d, e, tau, tau + n, right, short_stride, work);
        if (vectors) {
            expand_reflections(a, tau, n, 0, other, stride, m, n);
            transpose_numbers(a, short_stride, other, stride, m, n);
            expand_reflections(right, tau + n, n - 1, 1, v, short_stride, n, n);
            transpose_numbers(right, short_stride, v, short_stride, n, n);
        }
        bad |= bidiagonal_iterate_group(d, e, vectors ? a : NULL, m, right, short_stride, kept, n);
        for (int i = 0; i < n; i++) { /* their order is found in their opposites, which ascend */
            signs[i] = with_sign(broadcast(1.0), d[i] + broadcast(0.0));
            d[i] = -size_of(d[i]);
        }
        for (int lane = 0; lane < LANES; lane++) {
            order_values(d, lane, n, place[lane]);
            for (int i = 0; i < n; i++) sorted[place[lane][i]][lane] = -d[i][lane];
        }
        for (int i = 0; i < n; i++) sorted[i] *= back;
        store_lanes(results[vectors ? 1 : 0] + group * LANES * s_bytes, sorted, s_bytes, n, problem->narrow);
        if (!vectors) continue;
        char *const u_to = results[0] + group * LANES * u_bytes, *const vh_to = results[2] + group * LANES * vh_bytes;
        transpose_numbers(other, row_stride, wide ? right : a, short_stride, n, rows);
        drop_signs_of_zeros(other, n * row_stride);
        place_columns(problem, u_to, u_bytes, other, row_stride, rows, n, place, (char *)work);
        store_adjoint(problem, vh_to, vh_bytes, wide ? a : right, short_stride, columns, n, signs, place, work);
    }
    return !any(bad);
}
