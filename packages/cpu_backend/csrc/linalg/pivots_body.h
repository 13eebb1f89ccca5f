/* What is done with eliminated matrices: products of pivots, and systems and inverses for lapack.c where LAPACK's own
 * elimination may be wrong. After elimination_body.h, for the same kind of numbers. */

/* The product of the pivots, with the sign of the exchanges, as a number of size about 1 and a power of two, so that no
 * partial product overflows or vanishes (as in LINPACK's xGEDI). */
static NUMBER NAME(product_of_pivots)(const NUMBER *a, Index n, const int64_t *exchanges, Index *exponent) {
    NUMBER product = NAME(real_number)(1);
    for (Index j = 0; j < n; j++) {
        NUMBER pivot = a[j * (n + 1)];
        for (int step = 0; step < 2; step++) {
            NUMBER *scaled = step == 0 ? &pivot : &product;
            const double size = (double)NAME(largest_part)(*scaled);
            const int power = size > 0 && isfinite(size) ? ilogb(size) : 0;
            NAME(scale_back)(scaled, 1, -power);
            *exponent += power;
            if (step == 0) product = NAME(subtract_product)(NAME(real_number)(0), product, pivot);
        }
        if (exchanges[j] == j) product = NAME(scaled)(product, -1); /* the other sign is that of the product above */
    }
    return product;
}

static bool NAME(has_zero_pivot)(const NUMBER *a, Index n) {
    for (Index j = 0; j < n; j++)
        if (NAME(rough_size)(a[j * (n + 1)]) == 0) return true;
    return false;
}

/* The sign of the determinant and the logarithm of its size. */
static bool NAME(slogdet)(const FactorizationPlan *plan, const FactorizationScratch *scratch) {
    const Index n = plan->rows;
    NUMBER *a = scratch->a, *sign = scratch->out[0];
    REAL *logarithm = scratch->out[1];
    int64_t *exchanges = scratch->extra;
    Index exponent = 0;
    int power = 0;
    if (!NAME(load_a)(plan, scratch, a)) return false;
    if (!NAME(eliminate_by_lapack)(plan, scratch, a, exchanges)) {
        power = NAME(scale_away_from_limits)(a, n * n);
        NAME(eliminate)(a, n, n, exchanges);
    }
    if (NAME(has_zero_pivot)(a, n)) {
        *sign = NAME(real_number)(0);
        *logarithm = (REAL)-INFINITY;
        return true;
    }
    const NUMBER product = NAME(product_of_pivots)(a, n, exchanges, &exponent);
    const double size = NAME(modulus)(product);
    *sign = NAME(divided)(product, (REAL)size);
    *logarithm = (REAL)(log(size) + (double)(exponent + power * n) * 0.6931471805599453);
    return true;
}

#if KIND == 1 || KIND == 3

/* a [n, n] is lost; x [n, columns] becomes the solutions. False where a pivot is zero. */
bool NAME(careful_solve)(double *matrix, Index n, double *sides, Index columns, int64_t *exchanges) {
    NUMBER *a = (NUMBER *)matrix, *x = (NUMBER *)sides;
    const int power = NAME(scale_away_from_limits)(a, n * n);
    NAME(eliminate)(a, n, n, exchanges);
    if (NAME(has_zero_pivot)(a, n)) return false;
    for (Index c = 0; c < columns; c++) {
        NUMBER *right = x + c * n;
        const int right_power = NAME(scale_away_from_limits)(right, n);
        for (Index j = 0; j < n; j++) NAME(exchange)(right + j, right + exchanges[j]);
        for (Index j = 0; j < n; j++)
            for (Index i = j + 1; i < n; i++) right[i] = NAME(subtract_product)(right[i], a[i + j * n], right[j]);
        for (Index j = n - 1; j >= 0; j--) {
            right[j] = NAME(divide)(right[j], NAME(divisor)(a[j * (n + 1)]));
            for (Index i = 0; i < j; i++) right[i] = NAME(subtract_product)(right[i], a[i + j * n], right[j]);
        }
        NAME(scale_back)(right, n, right_power - power);
    }
    return true;
}

bool NAME(careful_inv)(double *matrix, Index n, double *inverse, int64_t *exchanges) {
    NUMBER *x = (NUMBER *)inverse;
    for (Index i = 0; i < n * n; i++) x[i] = NAME(real_number)(i % (n + 1) == 0);
    return NAME(careful_solve)(matrix, n, inverse, n, exchanges);
}

void NAME(careful_det)(double *matrix, Index n, double *determinant, int64_t *exchanges) {
    NUMBER *a = (NUMBER *)matrix, *result = (NUMBER *)determinant;
    Index exponent = 0;
    const int power = NAME(scale_away_from_limits)(a, n * n);
    NAME(eliminate)(a, n, n, exchanges);
    memset(result, 0, sizeof *result);
    if (NAME(has_zero_pivot)(a, n)) return;
    *result = NAME(product_of_pivots)(a, n, exchanges, &exponent);
    exponent += power * n;
    NAME(scale_back)(result, 1, exponent > 4096 ? 4096 : exponent < -4096 ? -4096 : (int)exponent);
}

#endif
