/* Eliminations that divide by their pivots: LU with partial and with complete pivoting, LDL. They are for small
 * matrices, and for those whose pivots LAPACK cannot divide by: it multiplies by reciprocals, and leaves columns as they
 * are, or makes infinities, where those are infinite. After number_body.h, for the same kind of numbers. */

/* a [m, n] becomes its packed factors; pivots[j] is the row that was exchanged with row j. The steps and their rounding
 * are those of simd/linalg_lu_factor.h. */
static void NAME(eliminate)(NUMBER *a, Index m, Index n, int64_t *pivots) {
    for (Index j = 0; j < smaller(m, n); j++) {
        NUMBER *column = a + j * m;
        Index row = j;
        REAL best = NAME(rough_size)(column[j]);
        for (Index i = j + 1; i < m; i++) {
            const REAL size = NAME(rough_size)(column[i]);
            row = size > best ? i : row;
            best = size > best ? size : best;
        }
        pivots[j] = row;
        if (row != j)
            for (Index c = 0; c < n; c++) NAME(exchange)(a + j + c * m, a + row + c * m);
        if (best == 0) continue;
        const DIVISOR pivot = NAME(divisor)(column[j]);
        for (Index i = j + 1; i < m; i++) column[i] = NAME(divide)(column[i], pivot);
        for (Index c = j + 1; c < n; c++) {
            NUMBER *other = a + c * m;
            const NUMBER top = other[j];
            for (Index i = j + 1; i < m; i++) other[i] = NAME(subtract_product)(other[i], column[i], top);
        }
    }
}

/* On and above the diagonal. */
static void NAME(scale_upper_back)(NUMBER *a, Index m, Index n, int power) {
    for (Index c = 0; power != 0 && c < n; c++) NAME(scale_back)(a + c * m, smaller(c + 1, m), power);
}

/* The same with the largest element that is left as pivot, the first of several row by row. Sizes are compared by their
 * squares, and where those may have vanished or overflowed, by themselves. */
static void NAME(eliminate_completely)(NUMBER *a, Index m, Index n, int64_t *rows, int64_t *columns) {
    for (Index i = 0; i < m; i++) rows[i] = i;
    for (Index c = 0; c < n; c++) columns[c] = c;
    for (Index j = 0; j < smaller(m, n); j++) {
        Index row = j, at = j;
        double best = -1;
        bool exact = false;
        for (;;) {
            for (Index c = j; c < n; c++)
                for (Index i = j; i < m; i++) {
                    const NUMBER x = a[i + c * m];
                    double size = 0;
                    for (int part = 0; part < WIDTH; part++) size += (double)x.part[part] * (double)x.part[part];
                    if (exact) size = NAME(modulus)(x);
                    if (size > best || (size == best && i < row)) {
                        best = size;
                        row = i;
                        at = c;
                    }
                }
            if (exact || (best > 0x1p-900 && best <= DBL_MAX)) break;
            exact = true;
            best = -1;
        }
        if (row != j) {
            for (Index c = 0; c < n; c++) NAME(exchange)(a + j + c * m, a + row + c * m);
            const int64_t former = rows[j];
            rows[j] = rows[row];
            rows[row] = former;
        }
        if (at != j) {
            for (Index i = 0; i < m; i++) NAME(exchange)(a + i + j * m, a + i + at * m);
            const int64_t former = columns[j];
            columns[j] = columns[at];
            columns[at] = former;
        }
        if (!(best > 0)) break;
        NUMBER *column = a + j * m;
        const DIVISOR pivot = NAME(divisor)(column[j]);
        for (Index i = j + 1; i < m; i++) column[i] = NAME(divide)(column[i], pivot);
        for (Index c = j + 1; c < n; c++) {
            NUMBER *other = a + c * m;
            const NUMBER top = other[j];
            for (Index i = j + 1; i < m; i++) other[i] = NAME(subtract_product)(other[i], column[i], top);
        }
    }
}

/* Exchanges rows and columns k and p > k of a Hermitian matrix of which the lower triangle is there; and rows alone of
 * the columns before, which belong to the factor, or to the block that begins there. */
static void NAME(exchange_both)(NUMBER *a, Index n, Index k, Index p) {
    for (Index c = 0; c < k; c++) NAME(exchange)(a + k + c * n, a + p + c * n);
    for (Index i = p + 1; i < n; i++) NAME(exchange)(a + i + k * n, a + i + p * n);
    for (Index i = k + 1; i < p; i++) {
        const NUMBER former = NAME(conjugate)(a[i + k * n]);
        a[i + k * n] = NAME(conjugate)(a[p + i * n]);
        a[p + i * n] = former;
    }
    a[p + k * n] = NAME(conjugate)(a[p + k * n]);
    NAME(exchange)(a + k + k * n, a + p + p * n);
}

/* The lower triangle of a Hermitian a [n, n] becomes l below the diagonal, and the blocks of d on it and, where a block
 * has two rows, below it. order[i] is the row of a that row i was; widths[k] is 2 where such a block begins. The
 * pivots are those of LAPACK's xSYTF2 and xHETF2 (Bunch and Kaufman). */
static void NAME(eliminate_hermitian)(NUMBER *a, Index n, int64_t *order, BlasInt *widths) {
    const REAL alpha = (REAL)0.6403882032022076; /* (1 + √17) / 8 */
    for (Index i = 0; i < n; i++) {
        order[i] = i;
        widths[i] = 1;
        for (int part = 1; part < WIDTH; part++) a[i + i * n].part[part] = 0;
    }
    for (Index k = 0; k < n; k += (Index)widths[k]) {
        NUMBER *column = a + k * n;
        Index p = k, largest = k;
        const REAL diagonal = (REAL)fabs((double)column[k].part[0]);
        REAL below = 0, beside = 0;
        for (Index i = k + 1; i < n; i++)
            if (NAME(rough_size)(column[i]) > below) {
                below = NAME(rough_size)(column[i]);
                largest = i;
            }
        if (!(diagonal > 0 || below > 0)) continue;
        if (diagonal < alpha * below) {
            for (Index j = k; j < largest; j++) {
                const REAL size = NAME(rough_size)(a[largest + j * n]);
                beside = size > beside ? size : beside;
            }
            for (Index i = largest + 1; i < n; i++) {
                const REAL size = NAME(rough_size)(a[i + largest * n]);
                beside = size > beside ? size : beside;
            }
            if (diagonal < alpha * below * (below / beside)) {
                p = largest;
                if ((REAL)fabs((double)a[p + p * n].part[0]) < alpha * beside) widths[k] = 2;
            }
        }
        const Index last = k + (Index)widths[k] - 1;
        if (p != last) {
            NAME(exchange_both)(a, n, last, p);
            const int64_t former = order[last];
            order[last] = order[p];
            order[p] = former;
        }
        if (widths[k] == 1) {
            const REAL pivot = column[k].part[0];
            for (Index j = k + 1; j < n; j++) {
                const NUMBER factor = NAME(conjugate)(NAME(divided)(column[j], pivot));
                NUMBER *other = a + j * n;
                for (Index i = j; i < n; i++) other[i] = NAME(subtract_product)(other[i], column[i], factor);
                for (int part = 1; part < WIDTH; part++) other[j].part[part] = 0;
            }
            for (Index i = k + 1; i < n; i++) column[i] = NAME(divided)(column[i], pivot);
            continue;
        }
        NUMBER *second = column + n;
        const REAL off = (REAL)NAME(modulus)(column[k + 1]);
        const REAL d11 = second[k + 1].part[0] / off, d22 = column[k].part[0] / off;
        const NUMBER d21 = NAME(divided)(column[k + 1], off);
        const REAL determinant = d11 * d22 - 1;
        for (Index j = k + 2; j < n; j++) {
            const NUMBER x = NAME(divided)(column[j], off), y = NAME(divided)(second[j], off);
            const NUMBER w1 = NAME(divided)(NAME(subtract_product)(NAME(scaled)(x, d11), d21, y), determinant);
            const NUMBER w2 =
                NAME(divided)(NAME(subtract_product)(NAME(scaled)(y, d22), NAME(conjugate)(d21), x), determinant);
            NUMBER *other = a + j * n;
            const NUMBER c1 = NAME(conjugate)(w1), c2 = NAME(conjugate)(w2);
            for (Index i = j; i < n; i++)
                other[i] = NAME(subtract_product)(NAME(subtract_product)(other[i], column[i], c1), second[i], c2);
            for (int part = 1; part < WIDTH; part++) other[j].part[part] = 0;
            column[j] = w1;
            second[j] = w2;
        }
    }
}
