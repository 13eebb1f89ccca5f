/* One example for one kind of numbers; after number_body.h, elimination_body.h and band_body.h. */

static NUMBER *NAME(drawn)(Index count, int power) {
    NUMBER *numbers = room_for(count * (Index)sizeof(NUMBER));
    const bool sparse = one_in(3);
    for (Index i = 0; i < count; i++)
        for (int part = 0; part < WIDTH; part++)
            numbers[i].part[part] = sparse && one_in(2) ? 0 : (REAL)ldexp((double)draw(-9, 9), power);
    return numbers;
}

static NUMBER *NAME(copied)(const NUMBER *from, Index count) {
    NUMBER *copy = room_for(count * (Index)sizeof(NUMBER));
    memcpy(copy, from, (size_t)count * sizeof(NUMBER));
    return copy;
}

/* sum + x y */
static NUMBER NAME(add_product)(NUMBER sum, NUMBER x, NUMBER y) {
    return NAME(subtract_product)(sum, NAME(scaled)(x, -1), y);
}

/* Whether packed factors multiply to a, whose rows and columns are in these orders. */
static void NAME(check_factors)(const NUMBER *packed, const NUMBER *a, Index m, Index n, const int64_t *rows,
                                const int64_t *columns, double bound) {
    for (Index j = 0; j < n; j++)
        for (Index i = 0; i < m; i++) {
            NUMBER sum = i <= j ? packed[i + j * m] : NAME(real_number)(0);
            for (Index k = 0; k < smaller(i, j + 1) && k < smaller(m, n); k++)
                sum = NAME(add_product)(sum, packed[i + k * m], packed[k + j * m]);
            const NUMBER wanted = a[rows[i] + columns[j] * m];
            CHECK((double)NAME(rough_size)(NAME(add)(sum, NAME(scaled)(wanted, -1))) <= bound);
            CHECK(i <= j || (double)NAME(rough_size)(packed[i + j * m]) <= 2.1);
        }
}

static void NAME(check_hermitian)(Index n, int power, double bound) {
    NUMBER *a = NAME(drawn)(n * n, power), *factors = NAME(copied)(a, n * n);
    int64_t *order = room_for(n * (Index)sizeof *order);
    BlasInt *widths = room_for(n * (Index)sizeof *widths);
    NAME(eliminate_hermitian)(factors, n, order, widths);
    NUMBER *product = NAME(drawn)(n * n, 0), *lower = NAME(copied)(factors, n * n);
    for (Index k = 0; k < n; k++) {
        lower[k + k * n] = NAME(real_number)(1);
        if (widths[k] != 2) continue;
        CHECK(k + 1 < n);
        lower[k + 1 + k * n] = NAME(real_number)(0);
        lower[(k + 1) * (n + 1)] = NAME(real_number)(1);
        k++;
    }
    for (Index j = 0; j < n; j++) /* l d */
        for (Index i = 0; i < n; i++) {
            product[i + j * n] = NAME(real_number)(0);
            for (Index k = 0; k <= smaller(i, n - 1); k++) {
                NUMBER d = k == j ? NAME(real_number)(factors[k + k * n].part[0]) : NAME(real_number)(0);
                if (k == j + 1 && widths[j] == 2) d = factors[k + j * n];
                if (j == k + 1 && widths[k] == 2) d = NAME(conjugate)(factors[j + k * n]);
                product[i + j * n] = NAME(add_product)(product[i + j * n], lower[i + k * n], d);
            }
        }
    for (Index i = 0; i < n; i++)
        for (Index j = 0; j <= i; j++) {
            NUMBER sum = NAME(real_number)(0);
            for (Index k = 0; k <= j; k++)
                sum = NAME(add_product)(sum, product[i + k * n], NAME(conjugate)(lower[j + k * n]));
            const Index row = order[i], column = order[j];
            NUMBER wanted = row >= column ? a[row + column * n] : NAME(conjugate)(a[column + row * n]);
            if (row == column) wanted = NAME(real_number)(wanted.part[0]);
            CHECK((double)NAME(rough_size)(NAME(add)(sum, NAME(scaled)(wanted, -1))) <= bound);
        }
}

static void NAME(check_band)(Index n, double bound) {
    const Index lower = draw(0, 5), upper = draw(0, 5), given = lower + upper + 1, right = draw(0, 3);
    NUMBER *band = NAME(drawn)((given + lower) * n, 0), *diagonals = band + lower * n;
    for (Index j = 0; j < n; j++) /* dominant, so that the solution is of the size of the sides */
        diagonals[upper + j * given] = NAME(real_number)((REAL)(40 * given));
    const NUMBER *a = NAME(copied)(diagonals, given * n);
    NUMBER *x = NAME(drawn)(n * right, 0);
    const NUMBER *sides = NAME(copied)(x, n * right);
    NAME(spread_band)(band, n, lower, upper);
    CHECK(NAME(eliminate_band)(band, n, lower, upper, x, right));
    for (Index c = 0; c < right; c++)
        for (Index i = 0; i < n; i++) {
            NUMBER left = sides[i + c * n];
            for (Index j = 0; j < n; j++)
                if (i - j <= lower && j - i <= upper)
                    left = NAME(subtract_product)(left, a[upper + i - j + j * given], x[j + c * n]);
            CHECK((double)NAME(rough_size)(left) <= bound);
        }
}

/* Half of a Hermitian band, whose diagonal dominates. The imaginary parts of the diagonal are not to be read. */
static void NAME(check_positive_band)(Index n, double bound) {
    const Index width = draw(0, 5), given = width + 1, right = draw(0, 3);
    const bool is_above = one_in(2);
    NUMBER *band = NAME(drawn)(given * n, 0);
    for (Index j = 0; j < n; j++) band[(is_above ? width : 0) + j * given].part[0] = (REAL)(40 * given);
    const NUMBER *a = NAME(copied)(band, given * n);
    NUMBER *x = NAME(drawn)(n * right, 0);
    const NUMBER *sides = NAME(copied)(x, n * right);
    NAME(keep_lower_band)(band, n, width, is_above);
    CHECK(NAME(solve_positive_band)(band, n, width, x, right));
    for (Index c = 0; c < right; c++)
        for (Index i = 0; i < n; i++) {
            NUMBER left = sides[i + c * n];
            for (Index j = i > width ? i - width : 0; j <= smaller(i + width, n - 1); j++) {
                NUMBER element = NAME(real_number)((REAL)(40 * given));
                if (i != j) {
                    const bool is_given = (i < j) == is_above;
                    const Index row = is_given ? i : j, column = is_given ? j : i;
                    element = a[(is_above ? width : 0) + row - column + column * given];
                    if (!is_given) element = NAME(conjugate)(element);
                }
                left = NAME(subtract_product)(left, element, x[j + c * n]);
            }
            CHECK((double)NAME(rough_size)(left) <= bound);
        }
    const Index changed = draw(0, n - 1);
    band = NAME(copied)(a, given * n);
    band[(is_above ? width : 0) + changed * given].part[0] = -1;
    NAME(keep_lower_band)(band, n, width, is_above);
    CHECK(!NAME(solve_positive_band)(band, n, width, x, right));
}

static void NAME(example)(void) {
    const Index m = draw(1, 12), n = draw(1, 12), k = smaller(m, n);
    const int most = sizeof(REAL) == 4 ? 90 : 880, power = one_in(2) ? 0 : (int)draw(-most, most);
    const double bound = (sizeof(REAL) == 4 ? 1e-4 : 1e-11) * 12 * 18;
    const NUMBER *a = NAME(drawn)(m * n, power);
    int64_t *exchanges = room_for(k * (Index)sizeof(int64_t)), *rows = room_for(m * (Index)sizeof(int64_t));
    int64_t *columns = room_for(n * (Index)sizeof(int64_t));
    NUMBER *packed = NAME(copied)(a, m * n);
    CHECK(NAME(scale_away_from_limits)(packed, m * n) == 0 && NAME(are_finite)(packed, m * n));
    NAME(eliminate)(packed, m, n, exchanges);
    for (Index i = 0; i < m; i++) rows[i] = i;
    for (Index j = 0; j < n; j++) columns[j] = j;
    for (Index i = 0; i < k; i++) {
        const int64_t former = rows[i];
        CHECK(exchanges[i] >= i && exchanges[i] < m);
        rows[i] = rows[exchanges[i]];
        rows[exchanges[i]] = former;
    }
    NAME(check_factors)(packed, a, m, n, rows, columns, ldexp(bound, power));
    packed = NAME(copied)(a, m * n);
    NAME(eliminate_completely)(packed, m, n, rows, columns);
    NAME(check_factors)(packed, a, m, n, rows, columns, ldexp(bound, power));
    NAME(scale_upper_back)(packed, m, n, 1);
    NAME(check_hermitian)(n, power, ldexp(20 * bound, power));
    NAME(check_band)(n, bound);
    NAME(check_positive_band)(n, bound);
}

#undef NUMBER
#undef DIVISOR
#undef REAL
#undef BITS
#undef WIDTH
#undef NAME
