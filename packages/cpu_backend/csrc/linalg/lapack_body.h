/* The routines for real or complex matrices. The includer (lapack_routines.c) defines WIDTH, the number of doubles in
 * an element, KIND, 0 or 1, the place of the functions in the table (blas.h), and NAME(f), the name of a function for
 * these elements; it has included lapack.h, matrix_copy.h, <math.h> and <string.h>, and has normalise(). */

static void NAME(zero_above_diagonal)(double *a, BlasInt n) {
    for (BlasInt j = 1; j < n; j++) memset(a + WIDTH * n * j, 0, sizeof(double) * (size_t)(WIDTH * j));
}

static void NAME(zero_below_diagonal)(double *a, BlasInt rows, BlasInt columns) {
    for (BlasInt j = 0; j < columns && j + 1 < rows; j++)
        memset(a + WIDTH * (rows * j + j + 1), 0, sizeof(double) * (size_t)(WIDTH * (rows - j - 1)));
}

/* xPOTRF reads and writes the lower triangle only. */
static bool NAME(cholesky)(const LapackPlan *plan, const Scratch *scratch) {
    BlasInt info = 0;
    NAME(zero_above_diagonal)(scratch->out[0], plan->rows);
    blas_table()->potrf[KIND]("L", &plan->rows, scratch->out[0], &plan->rows, &info);
    return info == 0;
}

static bool NAME(factor)(const LapackPlan *plan, const Scratch *scratch, double *a) {
    BlasInt info = 0;
    blas_table()->getrf[KIND](&plan->rows, &plan->rows, a, &plan->rows, scratch->integers, &info);
    return info == 0;
}

/* Whether a pivot of a factored matrix, or one before a pivot of zero, is so small or large that LAPACK's elimination
 * may be wrong. */
static bool NAME(has_extreme_pivot)(const double *a, BlasInt n) {
    for (BlasInt j = 0; j < n; j++) {
        double size = 0.0;
        for (int part = 0; part < WIDTH; part++) size += fabs(a[WIDTH * (n + 1) * j + part]);
        if (size == 0.0) continue;
        if (!(size > 0x1p-900 && size < 0x1p900)) return true;
    }
    return false;
}

static bool NAME(run_carefully)(const LapackPlan *plan, const Scratch *scratch, double *a, int64_t *exchanges) {
    switch (plan->routine) {
    case SOLVE:
        return CAREFUL(solve)(a, plan->rows, scratch->out[0], plan->right * (plan->shared ? plan->count : 1),
                              exchanges);
    case INV: return CAREFUL(inv)(a, plan->rows, scratch->out[0], exchanges);
    default: CAREFUL(det)(a, plan->rows, scratch->out[0], exchanges); return true;
    }
}

static bool NAME(substitute)(const LapackPlan *plan, const Scratch *scratch, BlasInt columns, double *b) {
    BlasInt info = 0;
    blas_table()->getrs[KIND]("N", &plan->rows, &columns, scratch->a, &plan->rows, scratch->integers, b, &plan->rows,
                              &info);
    return info == 0;
}

static bool NAME(solve)(const LapackPlan *plan, const Scratch *scratch) {
    BlasInt info = 0;
    const BlasInt *n = &plan->rows;
    blas_table()->gesv[KIND](n, &plan->right, scratch->a, n, scratch->integers, scratch->out[0], n, &info);
    return info == 0;
}

static bool NAME(inv)(const LapackPlan *plan, const Scratch *scratch) {
    BlasInt info = 0;
    if (!NAME(factor)(plan, scratch, scratch->out[0]) || NAME(has_extreme_pivot)(scratch->out[0], plan->rows))
        return false; /* the factors stay: see routine_is_doubtful() */
    blas_table()->getri[KIND](&plan->rows, scratch->out[0], &plan->rows, scratch->integers, scratch->work,
                              &plan->work_size, &info);
    return info == 0;
}

/* The product of the diagonal of U, with the sign of the permutation. Its exponent is kept apart, so that partial
 * products neither overflow nor vanish (as in LINPACK's xGEDI). */
static bool NAME(det)(const LapackPlan *plan, const Scratch *scratch) {
    double *result = scratch->out[0], mantissa[2] = {1.0, 0.0};
    Index exponent = 0;
    bool odd = false;
    memset(result, 0, WIDTH * sizeof *result);
    if (!NAME(factor)(plan, scratch, scratch->a)) return true; /* an exact zero on the diagonal */
    for (BlasInt i = 0; i < plan->rows; i++) {
        odd ^= blas_integer(scratch->integers, i) != i + 1;
        double pivot[2] = {0.0, 0.0};
        memcpy(pivot, scratch->a + WIDTH * (plan->rows + 1) * i, sizeof *pivot * WIDTH);
        exponent += normalise(pivot);
        if (WIDTH == 1) {
            mantissa[0] *= pivot[0];
        } else {
            double real = mantissa[0] * pivot[0] - mantissa[1] * pivot[1];
            mantissa[1] = mantissa[0] * pivot[1] + mantissa[1] * pivot[0];
            mantissa[0] = real;
        }
        exponent += normalise(mantissa);
    }
    int shift = exponent > 4096 ? 4096 : exponent < -4096 ? -4096 : (int)exponent; /* beyond: infinite or zero */
    for (int part = 0; part < WIDTH; part++) result[part] = ldexp(odd ? -mantissa[part] : mantissa[part], shift);
    return true;
}

/* xGEQRF leaves R on and above the diagonal, and below it the reflectors, from which xORGQR makes Q. A tall matrix is
 * factored where Q will be, a wide one where R will be; the other half is copied. Where R is not finite, NumPy's kernel
 * shall judge: MKL's xGEQRF makes NaN from complex subnormal numbers. */
static bool NAME(qr)(const LapackPlan *plan, const Scratch *scratch) {
    const Blas *blas = blas_table();
    BlasInt info = 0, rows = plan->rows, columns = plan->columns, shorter = plan->shorter;
    double *q = scratch->out[0], *r = scratch->out[1];
    bool tall = rows >= columns;
    blas->geqrf[KIND](&rows, &columns, tall ? q : r, &rows, scratch->tau, scratch->work, &plan->work_size, &info);
    if (info != 0) return false;
    if (tall) {
        for (BlasInt j = 0; j < columns; j++)
            memcpy(r + WIDTH * columns * j, q + WIDTH * rows * j, sizeof *q * (size_t)(WIDTH * (j + 1)));
    } else {
        memcpy(q, r, sizeof *q * (size_t)(WIDTH * rows * rows));
    }
    NAME(zero_below_diagonal)(r, shorter, shorter);
    blas->orgqr[KIND](&rows, &shorter, &shorter, q, &rows, scratch->tau, scratch->work, &plan->work_size, &info);
    return info == 0 && (!plan->check || all_finite(r, WIDTH * shorter * columns));
}

static bool NAME(eigh)(const LapackPlan *plan, const Scratch *scratch) {
    BlasInt info = 0, n = plan->rows;
    double *values = scratch->out[0], *vectors = scratch->out[1];
#if WIDTH == 1
    blas_table()->syevd("V", "L", &n, vectors, &n, values, scratch->work, &plan->work_size, scratch->integers,
                        &plan->integers_size, &info);
#else
    blas_table()->heevd("V", "L", &n, vectors, &n, values, scratch->work, &plan->work_size, scratch->reals,
                        &plan->reals_size, scratch->integers, &plan->integers_size, &info);
#endif
    return info == 0;
}

static bool NAME(svd)(const LapackPlan *plan, const Scratch *scratch) {
    BlasInt info = 0;
    const BlasInt *rows = &plan->rows, *columns = &plan->columns, *shorter = &plan->shorter;
    double *u = scratch->out[0], *values = scratch->out[1], *vh = scratch->out[2];
#if WIDTH == 1
    blas_table()->dgesdd("S", rows, columns, scratch->a, rows, values, u, rows, vh, shorter, scratch->work,
                         &plan->work_size, scratch->integers, &info);
#else
    blas_table()->zgesdd("S", rows, columns, scratch->a, rows, values, u, rows, vh, shorter, scratch->work,
                         &plan->work_size, scratch->reals, scratch->integers, &info);
#endif
    return info == 0;
}

static bool NAME(eigvalsh)(const LapackPlan *plan, const Scratch *scratch) {
    BlasInt info = 0, n = plan->rows;
#if WIDTH == 1
    blas_table()->syevd("N", "L", &n, scratch->a, &n, scratch->out[0], scratch->work, &plan->work_size,
                        scratch->integers, &plan->integers_size, &info);
#else
    blas_table()->heevd("N", "L", &n, scratch->a, &n, scratch->out[0], scratch->work, &plan->work_size, scratch->reals,
                        &plan->reals_size, scratch->integers, &plan->integers_size, &info);
#endif
    return info == 0;
}

static bool NAME(svdvals)(const LapackPlan *plan, const Scratch *scratch) {
    BlasInt info = 0, one = 1;
    const BlasInt *rows = &plan->rows, *columns = &plan->columns;
    double none[2];
#if WIDTH == 1
    blas_table()->dgesdd("N", rows, columns, scratch->a, rows, scratch->out[0], none, &one, none, &one, scratch->work,
                         &plan->work_size, scratch->integers, &info);
#else
    blas_table()->zgesdd("N", rows, columns, scratch->a, rows, scratch->out[0], none, &one, none, &one, scratch->work,
                         &plan->work_size, scratch->reals, scratch->integers, &info);
#endif
    return info == 0;
}

/* Sizes of workspaces: LAPACK writes the best one into work[0] when it is told that there is none (-1). */
static void NAME(query)(LapackPlan *plan) {
    const Blas *blas = blas_table();
    BlasInt info = 0, none = -1, integers[2] = {0, 0}, *rows = &plan->rows, *columns = &plan->columns;
    BlasInt shorter = plan->shorter;
    double best[4] = {0}, second[4] = {0}, reals[2] = {0}, any[4] = {0};
    switch (plan->routine) {
    case SOLVE:
    case DET: plan->integers_size = *rows; break;
    case INV:
        blas->getri[KIND](rows, any, rows, integers, best, &none, &info);
        plan->integers_size = *rows;
        break;
    case QR:
        blas->geqrf[KIND](rows, columns, any, rows, any, best, &none, &info);
        blas->orgqr[KIND](rows, &shorter, &shorter, any, rows, any, second, &none, &info);
        if (second[0] > best[0]) best[0] = second[0];
        break;
    case EIGVALSH:
    case EIGH: {
        const char *vectors = plan->routine == EIGH ? "V" : "N";
#if WIDTH == 1
        blas->syevd(vectors, "L", rows, any, rows, any, best, &none, integers, &none, &info);
#else
        blas->heevd(vectors, "L", rows, any, rows, any, best, &none, reals, &none, integers, &none, &info);
#endif
        plan->reals_size = (BlasInt)reals[0];
        plan->integers_size = blas_integer(integers, 0);
        break;
    }
    case SVDVALS:
    case SVD: {
        const char *vectors = plan->routine == SVD ? "S" : "N";
#if WIDTH == 1
        blas->dgesdd(vectors, rows, columns, any, rows, any, any, rows, any, &shorter, best, &none, integers, &info);
#else
        blas->zgesdd(vectors, rows, columns, any, rows, any, any, rows, any, &shorter, best, &none, reals, integers,
                     &info);
        const BlasInt longer = *rows > *columns ? *rows : *columns;
        plan->reals_size = 5 * shorter * shorter + 7 * shorter; /* from the documentation: no query tells it */
        if (plan->reals_size < 2 * longer * shorter + 2 * shorter * shorter + shorter)
            plan->reals_size = 2 * longer * shorter + 2 * shorter * shorter + shorter;
#endif
        plan->integers_size = 8 * shorter;
        break;
    }
    default: break;
    }
    plan->work_size = (BlasInt)best[0];
}

static bool NAME(run)(const LapackPlan *plan, const Scratch *scratch) {
    switch (plan->routine) {
    case CHOLESKY: return NAME(cholesky)(plan, scratch);
    case SOLVE: return NAME(solve)(plan, scratch);
    case INV: return NAME(inv)(plan, scratch);
    case DET: return NAME(det)(plan, scratch);
    case QR: return NAME(qr)(plan, scratch);
    case EIGH: return NAME(eigh)(plan, scratch);
    case EIGVALSH: return NAME(eigvalsh)(plan, scratch);
    case SVDVALS: return NAME(svdvals)(plan, scratch);
    default: return NAME(svd)(plan, scratch);
    }
}
