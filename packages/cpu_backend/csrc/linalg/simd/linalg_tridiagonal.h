/* Eigenvalues and eigenvectors of larger Hermitian matrices: Householder reflections to tridiagonal form, then implicit
 * QR iterations with Wilkinson's shift (Golub and Van Loan, Matrix Computations, 4th ed., §8.3; the formulas of
 * LAPACK's xSTEQR).
 *
 * The update by one reflection and the product with the next vector go over the matrix together. The error is a few
 * rounding units of the norm of the matrix, as LAPACK's is; where rows and columns are graded, large ones first, of each
 * eigenvalue.
 */

/* What is yet to be subtracted from a matrix: v wᴴ + w vᴴ. */
typedef struct {
    const Number *v, *w;
} Update;

/* Some columns from j on, a constant: subtracts the update, and adds their share to the product p of the lower
 * triangle, taken as a Hermitian matrix, with x. */
INLINE void update_and_multiply(Number *a, Index stride, int n, int j, int few, Update update, const Number *x,
                                Number *p) {
    Number v[COLUMNS_AT_ONCE], w[COLUMNS_AT_ONCE], sums[COLUMNS_AT_ONCE];
    for (int c = 0; c < few; c++) {
        v[c] = conjugate(update.v[j + c]);
        w[c] = conjugate(update.w[j + c]);
        sums[c] = number(broadcast(0.0));
    }
    for (int c = 0; c < few; c++) { /* the triangle at the top */
        Number *column = a + (j + c) * stride;
        for (int i = j + c; i < j + few; i++) {
            column[i] = subtract_product(subtract_product(column[i], update.v[i], w[c]), update.w[i], v[c]);
            if (i == j + c) column[i] = number(real_part(column[i]));
            p[i] = add_product(p[i], column[i], x[j + c]);
            if (i != j + c) sums[c] = add_product(sums[c], conjugate(column[i]), x[i]);
        }
    }
    for (int i = j + few; i < n; i++) {
        Number total = p[i];
        for (int c = 0; c < few; c++) {
            Number *element = a + i + (j + c) * stride;
            const Number left = subtract_product(subtract_product(*element, update.v[i], w[c]), update.w[i], v[c]);
            *element = left;
            total = add_product(total, left, x[j + c]);
            sums[c] = add_product(sums[c], conjugate(left), x[i]);
        }
        p[i] = total;
    }
    for (int c = 0; c < few; c++) p[j + c] = add_product(p[j + c], sums[c], number(broadcast(1.0)));
}

/* Makes the lower triangle tridiagonal; the vectors of the reflections stay below its diagonals, with their 1. The
 * room is of 3 n numbers. */
INLINE void tridiagonalise_group(Number *a, Index stride, Lane *diagonal, Lane *off_diagonal, Number *tau, Number *room,
                                 int n) {
    Number *v = room, *w = v + n, *p = w + n;
    for (int i = 0; i < n; i++) v[i] = w[i] = number(broadcast(0.0));
    for (int k = 0; k < n; k++) {
        Number *column = a + k * stride;
        const Number mirrored_v = conjugate(v[k]), mirrored_w = conjugate(w[k]);
        for (int i = k; i < n; i++)
            column[i] = subtract_product(subtract_product(column[i], v[i], mirrored_w), w[i], mirrored_v);
        diagonal[k] = real_part(column[k]);
        if (k == n - 1) break;
        off_diagonal[k] = reflection(column + k + 1, n - k - 1, tau + k);
        for (int i = k + 1; i < n; i++) p[i] = number(broadcast(0.0));
        int j = k + 1;
        for (; j + COLUMNS_AT_ONCE <= n; j += COLUMNS_AT_ONCE)
            update_and_multiply(a, stride, n, j, COLUMNS_AT_ONCE, (Update){v, w}, column, p);
        for (; j < n; j++) update_and_multiply(a, stride, n, j, 1, (Update){v, w}, column, p);
        Number along = number(broadcast(0.0));
        for (int i = k + 1; i < n; i++) {
            v[i] = column[i];
            w[i] = times(p[i], tau[k]);
            along = add_product(along, conjugate(w[i]), v[i]);
        }
        along = scaled(times(along, tau[k]), broadcast(-0.5));
        for (int i = k + 1; i < n; i++) w[i] = add_product(w[i], along, v[i]);
    }
}

/* Sets to zero what is negligible beside the geometric mean of its neighbours on the diagonal, as small eigenvalues of
 * matrices that are graded from the top ask for, in rows from one to another. */
INLINE void drop_links(const Lane *d, Lane *e, int from, int to) {
    for (int i = from; i < to; i++) {
        const Lane beside = size_of(d[i] * d[i + 1]) * (4.0 * ROUNDING_UNIT * ROUNDING_UNIT);
        e[i] = pick(greater(e[i] * e[i], larger(beside, broadcast(NO_LINK))), e[i], broadcast(0.0));
    }
}

/* One QR step in the window of every lane; its rotations are kept. */
INLINE void tridiagonal_sweep(Lane *d, Lane *e, Window window, PlaneRotation *kept) {
    Lane top = broadcast(0.0), above = broadcast(0.0), below = broadcast(0.0), link = broadcast(0.0);
    for (int i = window.from; i <= window.to; i++) {
        top = pick(equal(window.first, broadcast(i)), d[i], top);
        const Mask at_end = equal(window.last, broadcast(i + 1));
        if (i < window.to) {
            above = pick(at_end, d[i], above);
            below = pick(at_end, d[i + 1], below);
            link = pick(at_end, e[i], link);
        }
    }
    const Lane half = (above - below) * 0.5, size = root(half * half + link * link);
    const Lane away = half + with_sign(size, half);
    const Lane shift = below - link * link / pick(equal(away, broadcast(0.0)), broadcast(1.0), away);
    Lane g = top - shift, s = broadcast(1.0), c = broadcast(1.0), p = broadcast(0.0);
    for (int i = window.from; i < window.to; i++) {
        const Mask begins = equal(window.first, broadcast(i));
        const Mask inside = complement(greater(window.first, broadcast(i))) & greater(window.last, broadcast(i));
        const Mask ends = inside & equal(window.last, broadcast(i + 1));
        const Lane f = s * e[i], b = c * e[i];
        Lane r;
        const PlaneRotation rotation = plane_rotation(g, f, inside, &r);
        if (i > window.from) e[i - 1] = pick(inside & complement(begins), r, e[i - 1]);
        const Lane base = d[i] - p;
        const Lane gained = (d[i + 1] - base) * rotation.sine + 2.0 * rotation.cosine * b;
        c = pick(inside, rotation.cosine, c);
        s = pick(inside, rotation.sine, s);
        p = pick(inside, rotation.sine * gained, p);
        d[i] = pick(inside, base + p, d[i]);
        g = pick(inside, rotation.cosine * gained - b, g);
        d[i + 1] = pick(ends, d[i + 1] - p, d[i + 1]);
        e[i] = pick(ends, g, e[i]);
        kept[i] = rotation;
    }
}

/* Makes a tridiagonal matrix diagonal, and rotates the rows of z, unless it is NULL. Answers which matrices have not
 * converged. */
INLINE Mask tridiagonal_iterate_group(Lane *d, Lane *e, Number *z, Index stride, PlaneRotation *kept, int n) {
    Sweep sweeps[SWEEPS_AT_ONCE];
    int count = 0;
    Window window = {.from = 0, .to = n - 1};
    for (int left = MOST_SWEEPS_A_VALUE * n; left > 0; left--) {
        drop_links(d, e, window.from, window.to);
        window = window_of(e, n);
        if (window.from < 0) break;
        sweeps[count] = (Sweep){window.from, window.to, kept + (Index)count * n};
        tridiagonal_sweep(d, e, window, sweeps[count].rotations);
        if (z != NULL && ++count == SWEEPS_AT_ONCE) {
            sweep_all(z, n, stride, sweeps, count);
            count = 0;
        }
    }
    if (z != NULL) sweep_all(z, n, stride, sweeps, count);
    return window.from < 0 ? no_lane() : greater(window.last, broadcast(-1.0));
}

static __attribute__((noinline)) bool eigh_large(const LaneProblem *problem, const char *const *operands,
                                                 char *const *results, Index groups, Number *room, bool vectors) {
    const int n = problem->rows;
    const Index bytes = matrix_bytes(problem, n, n), value_bytes = matrix_bytes(problem, n, 1) / PARTS;
    const Index stride = n | 1;
    Number *const a = room, *const z = a + n * stride, *const tau = z + n * stride, *const work = tau + n;
    Lane *const d = (Lane *)(work + 3 * n), *const e = d + n, *const sorted = e + n;
    PlaneRotation *const kept = (PlaneRotation *)(sorted + n);
    int place[LANES][LARGEST_SIDE];
    Mask bad = no_lane();
    for (Index group = 0; group < groups; group++) {
        bad |= load_padded(problem, operands[0] + group * LANES * bytes, bytes, a, stride, n, n);
        for (int j = 0; j < n; j++) { /* what is not read must not count for the scale */
            a[j + j * stride] = number(real_part(a[j + j * stride]));
            for (Index i = 0; i < j; i++) a[i + j * stride] = number(broadcast(0.0));
            for (Index i = n; i < stride; i++) a[i + j * stride] = number(broadcast(0.0));
        }
        const Lane back = inverse_power(scale_numbers(a, n * (int)stride, 0.0));
        tridiagonalise_group(a, stride, d, e, tau, work, n);
        if (vectors) {
            expand_reflections(a, tau, n - 1, 1, z, stride, n, n);
            transpose_numbers(a, stride, z, stride, n, n);
        }
        bad |= tridiagonal_iterate_group(d, e, vectors ? a : NULL, stride, kept, n);
        for (int lane = 0; lane < LANES; lane++) {
            order_values(d, lane, n, place[lane]);
            for (int i = 0; i < n; i++) sorted[place[lane][i]][lane] = d[i][lane];
        }
        for (int i = 0; i < n; i++) sorted[i] *= back;
        store_lanes(results[0] + group * LANES * value_bytes, sorted, value_bytes, n, problem->narrow);
        if (!vectors) continue;
        transpose_numbers(z, stride, a, stride, n, n);
        drop_signs_of_zeros(z, n * stride);
        place_columns(problem, results[1] + group * LANES * bytes, bytes, z, stride, n, n, place, (char *)work);
    }
    return !any(bad);
}
