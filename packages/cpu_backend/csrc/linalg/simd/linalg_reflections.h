/* Householder reflections H = I - tau v vᴴ of columns, several columns at a time so that no sum waits for the one
 * before. v starts with a 1.
 */

/* Columns that a loop goes over together; one with more numbers of each in registers takes COLUMNS_AT_ONCE. */
enum { MOST_COLUMNS_AT_ONCE = LANES == 8 || PARTS == 1 ? 4 : 2, COLUMNS_AT_ONCE = PARTS == 1 ? 4 : 2 };

static const double NOTHING = 0x1p-400; /* a square that counts as zero, in a matrix whose largest element is about 1 */

/* The reflection with Hᴴ x = beta e1 and a real beta, as LAPACK's xLARFG makes it: x becomes v. */
INLINE Lane reflection(Number *x, int count, Number *tau) {
    const Number alpha = x[0], zero = number(broadcast(0.0));
    Lane odd = broadcast(0.0), even = odd;
    int row = 1;
    for (; row + 2 <= count; row += 2) {
        odd = add_square(odd, x[row]);
        even = add_square(even, x[row + 1]);
    }
    if (row < count) odd = add_square(odd, x[row]);
    const Lane real = real_part(alpha), rest = odd + even + square_of_imaginary(alpha);
    const Mask useful = greater(rest, broadcast(NOTHING));
    const Root norm = root_and_inverse(pick(useful, fused(real, real, rest), broadcast(1.0)));
    const Lane beta = with_sign(norm.root, -real);
    const Number distance = subtract(alpha, number(beta));
    *tau = choose(useful, scaled(distance, with_sign(norm.inverse, real)), zero);
    const Number factor = choose(useful, reciprocal(distance), zero);
    for (int i = 1; i < count; i++) x[i] = times(x[i], factor);
    x[0] = number(broadcast(1.0));
    return pick(useful, beta, real);
}

/* So many columns, a constant, of so many rows: x -= v tau (vᴴ x). */
INLINE void reflect_few(const Number *v, Number tau, Number *columns, Index stride, int rows, int few) {
    InnerProduct sums[MOST_COLUMNS_AT_ONCE];
    Number factors[MOST_COLUMNS_AT_ONCE];
    int i = 0;
    for (int c = 0; c < few; c++) sums[c] = (InnerProduct){0};
    for (; i + 2 <= rows; i += 2)
        for (int c = 0; c < few; c++) {
            add_inner(sums + c, v[i], columns[c * stride + i]);
            add_odd_inner(sums + c, v[i + 1], columns[c * stride + i + 1]);
        }
    for (int c = 0; i < rows && c < few; c++) add_inner(sums + c, v[i], columns[c * stride + i]);
    for (int c = 0; c < few; c++) factors[c] = times_in_order(inner_product(sums + c), tau);
    for (i = 0; i < rows; i++)
        for (int c = 0; c < few; c++)
            columns[c * stride + i] = subtract_product(columns[c * stride + i], v[i], factors[c]);
}

INLINE void reflect_columns(const Number *v, Number tau, Number *columns, Index stride, int rows, int count) {
    int c = 0;
    for (; c + MOST_COLUMNS_AT_ONCE <= count; c += MOST_COLUMNS_AT_ONCE)
        reflect_few(v, tau, columns + c * stride, stride, rows, MOST_COLUMNS_AT_ONCE);
    for (; c + 2 <= count; c += 2) reflect_few(v, tau, columns + c * stride, stride, rows, 2);
    for (; c < count; c++) reflect_few(v, tau, columns + c * stride, stride, rows, 1);
}

/* The first columns of H(0) H(1) ... H(count - 1) into q, rows x columns; v of H(j) are the elements from `below + j` of
 * column j of the reflectors, with their 1. Columns of both are so many numbers apart. */
INLINE void expand_reflections(const Number *reflectors, const Number *tau, int count, int below, Number *q,
                               Index stride, int rows, int columns) {
    for (int j = 0; j < columns; j++)
        for (int i = 0; i < rows; i++) q[i + j * stride] = number(broadcast(i == j));
    for (int j = count - 1; j >= 0; j--) {
        const int first = below + j; /* row, and column, that the reflection begins with */
        const Number *v = reflectors + first + j * stride;
        if (first < columns)
            reflect_columns(v, tau[j], q + first + first * stride, stride, rows - first, columns - first);
    }
}
