/* The routines for one kind of numbers. The includer (lapack_routines.c) defines REAL, the type of a part, WIDTH, the
 * number of parts of an element, KIND, the place of the functions in the table (blas.h), and NAME(f), the name of a
 * function for these elements, all undefined here at the end; it has included lapack.h, matrix_copy.h, <math.h> and
 * <string.h>, and has the limits of numbers and normalise(). */

#define OF_REAL(in_floats, in_doubles) (sizeof(REAL) == sizeof(float) ? (in_floats) : (in_doubles))

static void NAME(zero_above_diagonal)(REAL *a, BlasInt n) {
    for (BlasInt j = 1; j < n; j++) memset(a + WIDTH * n * j, 0, sizeof(REAL) * (size_t)(WIDTH * j));
}

static void NAME(zero_below_diagonal)(REAL *a, BlasInt rows, BlasInt columns) {
    for (BlasInt j = 0; j < columns && j + 1 < rows; j++)
        memset(a + WIDTH * (rows * j + j + 1), 0, sizeof(REAL) * (size_t)(WIDTH * (rows - j - 1)));
}

/* xPOTRF reads and writes the lower triangle only. */
static bool NAME(cholesky)(const LapackPlan *plan, const Scratch *scratch) {
    BlasInt info = 0;
    NAME(zero_above_diagonal)(scratch->out[0], plan->rows);
    blas_table()->lapack.potrf[KIND]("L", &plan->rows, scratch->out[0], &plan->rows, &info);
    return info == 0;
}

static bool NAME(factor)(const LapackPlan *plan, const Scratch *scratch, REAL *a) {
    BlasInt info = 0;
    blas_table()->lapack.getrf[KIND](&plan->rows, &plan->rows, a, &plan->rows, scratch->integers, &info);
    return info == 0;
}

/* Whether a pivot of a factored matrix, or one before a pivot of zero, is so small or large that LAPACK's elimination
 * may be wrong. OpenBLAS neither exchanges rows for a subnormal pivot nor divides by it: the diagonal may then have a zero
 * above numbers that are none. */
static bool NAME(has_extreme_pivot)(const REAL *a, BlasInt n, double limit) {
    for (BlasInt j = 0; j < n; j++) {
        const REAL *pivot = a + WIDTH * (n + 1) * j;
        double size = 0.0;
        for (int part = 0; part < WIDTH; part++) size += fabs((double)pivot[part]);
        for (BlasInt i = WIDTH; size == 0.0 && i < WIDTH * (n - j); i++)
            if (pivot[i] != 0) return true;
        if (size != 0.0 && !(size > 1.0 / limit && size < limit)) return true;
    }
    return false;
}

#if KIND % 2 == 1 /* in doubles alone */
static bool NAME(run_carefully)(const LapackPlan *plan, const Scratch *scratch, double *a, int64_t *exchanges) {
    switch (plan->routine) {
    case SOLVE:
        return NAME(careful_solve)(a, plan->rows, scratch->out[0], plan->right * (plan->shared ? plan->count : 1),
                                   exchanges);
    case INV: return NAME(careful_inv)(a, plan->rows, scratch->out[0], exchanges);
    default: NAME(careful_det)(a, plan->rows, scratch->out[0], exchanges); return true;
    }
}
#endif

static bool NAME(substitute)(const LapackPlan *plan, const Scratch *scratch, BlasInt columns, REAL *b) {
    BlasInt info = 0;
    blas_table()->lapack.getrs[KIND]("N", &plan->rows, &columns, scratch->a, &plan->rows, scratch->integers, b,
                                     &plan->rows, &info);
    return info == 0;
}

static bool NAME(solve)(const LapackPlan *plan, const Scratch *scratch) {
    BlasInt info = 0;
    const BlasInt *n = &plan->rows;
    blas_table()->lapack.gesv[KIND](n, &plan->right, scratch->a, n, scratch->integers, scratch->out[0], n, &info);
    return info == 0;
}

static bool NAME(inv)(const LapackPlan *plan, const Scratch *scratch) {
    BlasInt info = 0;
    if (!NAME(factor)(plan, scratch, scratch->out[0]) ||
        NAME(has_extreme_pivot)(scratch->out[0], plan->rows, OF_REAL(EXTREME_FLOAT, EXTREME_DOUBLE)))
        return false; /* the factors stay: see routine_is_doubtful() */
    blas_table()->lapack.getri[KIND](&plan->rows, scratch->out[0], &plan->rows, scratch->integers, scratch->work,
                                     &plan->work_size, &info);
    return info == 0;
}

/* The product of the diagonal of U, with the sign of the permutation. Its exponent is kept apart, so that partial
 * products neither overflow nor vanish (as in LINPACK's xGEDI). */
static bool NAME(det)(const LapackPlan *plan, const Scratch *scratch) {
    const REAL *factors = scratch->a;
    REAL *result = scratch->out[0];
    double mantissa[2] = {1.0, 0.0};
    Index exponent = 0;
    bool odd = false;
    memset(result, 0, sizeof(REAL) * WIDTH);
    if (!NAME(factor)(plan, scratch, scratch->a)) return true; /* an exact zero on the diagonal */
    for (BlasInt i = 0; i < plan->rows; i++) {
        odd ^= blas_integer(scratch->integers, i) != i + 1;
        double pivot[2] = {0.0, 0.0};
        for (int part = 0; part < WIDTH; part++) pivot[part] = (double)factors[WIDTH * (plan->rows + 1) * i + part];
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
    for (int part = 0; part < WIDTH; part++) result[part] = (REAL)ldexp(odd ? -mantissa[part] : mantissa[part], shift);
    return true;
}

/* xGEQRF leaves R on and above the diagonal, and below it the reflectors, from which xORGQR makes Q. A tall matrix is
 * factored where Q will be, a wide one where R will be; the other half is copied. */
static bool NAME(qr)(const LapackPlan *plan, const Scratch *scratch) {
    const Lapack *lapack = &blas_table()->lapack;
    BlasInt info = 0, rows = plan->rows, columns = plan->columns, shorter = plan->shorter;
    REAL *q = scratch->out[0], *r = scratch->out[1];
    bool tall = rows >= columns;
    lapack->geqrf[KIND](&rows, &columns, tall ? q : r, &rows, scratch->tau, scratch->work, &plan->work_size, &info);
    if (info != 0) return false;
    if (tall) {
        for (BlasInt j = 0; j < columns; j++)
            memcpy(r + WIDTH * columns * j, q + WIDTH * rows * j, sizeof *q * (size_t)(WIDTH * (j + 1)));
    } else {
        memcpy(q, r, sizeof *q * (size_t)(WIDTH * rows * rows));
    }
    NAME(zero_below_diagonal)(r, shorter, shorter);
    lapack->orgqr[KIND](&rows, &shorter, &shorter, q, &rows, scratch->tau, scratch->work, &plan->work_size, &info);
    return info == 0;
}

#if KIND % 2 == 1 /* in doubles alone */
#include "linalg/reduced_body.h"
#endif

#if WIDTH == 2
/* Its workspace of complex numbers; that of real numbers and integers is xHEEVD's. */
static BlasInt NAME(size_by_real)(const LapackPlan *plan) {
    const Lapack *lapack = &blas_table()->lapack;
    BlasInt info = 0, none = -1, n = plan->rows;
    REAL reduced[2] = {0}, turned[2] = {0}, any[2] = {0};
    lapack->sytrd[KIND]("L", &n, any, &n, any, any, any, reduced, &none, &info);
    lapack->ormtr[KIND]("L", "L", "N", &n, &n, any, &n, any, any, &n, turned, &none, &info);
    const double most = (double)(reduced[0] > turned[0] ? reduced[0] : turned[0]);
    return n + n * n + (BlasInt)(most * (1.0 + 0x1p-22));
}

/* Whether xHEEVD would leave the matrix unscaled. */
static bool NAME(is_moderate)(const REAL *a, BlasInt n) {
    double largest = 0.0;
    for (BlasInt j = 0; j < n; j++)
        for (BlasInt i = 2 * j; i < 2 * n; i++) {
            const double size = fabs((double)a[2 * n * j + i]);
            largest = size > largest ? size : largest;
        }
    const double limit = OF_REAL(SCALED_FLOAT, SCALED_DOUBLE);
    return largest > 1.0 / limit && largest < limit;
}

/* What xHEEVD does, but that the eigenvectors of the tridiagonal matrix, which are real, are computed as real ones. */
static bool NAME(eigh_by_real)(const LapackPlan *plan, const Scratch *scratch) {
    const Lapack *lapack = &blas_table()->lapack;
    BlasInt info = 0, n = plan->rows;
    REAL *tau = scratch->work, *turned = tau + 2 * n, *work = turned + 2 * n * n;
    REAL *beside = scratch->reals, *z = beside + n, *reals = z + n * n, *vectors = scratch->out[1];
    BlasInt work_size = plan->work_size - n - n * n, reals_size = plan->reals_size - n - n * n;
    lapack->sytrd[KIND]("L", &n, vectors, &n, scratch->out[0], beside, tau, work, &work_size, &info);
    if (info != 0) return false;
    lapack->stedc[KIND - 2]("I", &n, scratch->out[0], beside, z, &n, reals, &reals_size, scratch->integers,
                            &plan->integers_size, &info);
    if (info != 0) return false;
    for (BlasInt i = 0; i < n * n; i++) {
        turned[2 * i] = z[i];
        turned[2 * i + 1] = 0;
    }
    lapack->ormtr[KIND]("L", "L", "N", &n, &n, vectors, &n, tau, turned, &n, work, &work_size, &info);
    memcpy(vectors, turned, sizeof(REAL) * 2 * (size_t)(n * n));
    return info == 0;
}
#endif

static bool NAME(eigh)(const LapackPlan *plan, const Scratch *scratch) {
    BlasInt info = 0, n = plan->rows;
    REAL *values = scratch->out[0], *vectors = scratch->out[1];
#if KIND % 2 == 1
    if (NAME(is_reducible)(plan, vectors)) return NAME(eigh_by_reduction)(plan, scratch);
#endif
#if WIDTH == 1
    blas_table()->lapack.real_syevd[KIND]("V", "L", &n, vectors, &n, values, scratch->work, &plan->work_size,
                                          scratch->integers, &plan->integers_size, &info);
#else
    if (n >= LEAST_BY_REAL && NAME(is_moderate)(vectors, n)) return NAME(eigh_by_real)(plan, scratch);
    blas_table()->lapack.complex_heevd[KIND - 2]("V", "L", &n, vectors, &n, values, scratch->work, &plan->work_size,
                                                 scratch->reals, &plan->reals_size, scratch->integers,
                                                 &plan->integers_size, &info);
#endif
    return info == 0;
}

static bool NAME(svd)(const LapackPlan *plan, const Scratch *scratch) {
#if KIND % 2 == 1
    if (NAME(is_reducible)(plan, scratch->a)) return NAME(svd_by_reduction)(plan, scratch);
#endif
    BlasInt info = 0;
    const BlasInt *rows = &plan->rows, *columns = &plan->columns, *shorter = &plan->shorter;
    REAL *u = scratch->out[0], *values = scratch->out[1], *vh = scratch->out[2];
#if WIDTH == 1
    blas_table()->lapack.real_gesdd[KIND]("S", rows, columns, scratch->a, rows, values, u, rows, vh, shorter,
                                          scratch->work, &plan->work_size, scratch->integers, &info);
#else
    blas_table()->lapack.complex_gesdd[KIND - 2]("S", rows, columns, scratch->a, rows, values, u, rows, vh, shorter,
                                                 scratch->work, &plan->work_size, scratch->reals, scratch->integers,
                                                 &info);
#endif
    return info == 0;
}

static bool NAME(eigvalsh)(const LapackPlan *plan, const Scratch *scratch) {
#if KIND % 2 == 1
    if (NAME(is_reducible)(plan, scratch->a)) return NAME(eigh_by_reduction)(plan, scratch);
#endif
    BlasInt info = 0, n = plan->rows;
#if WIDTH == 1
    blas_table()->lapack.real_syevd[KIND]("N", "L", &n, scratch->a, &n, scratch->out[0], scratch->work,
                                          &plan->work_size, scratch->integers, &plan->integers_size, &info);
#else
    blas_table()->lapack.complex_heevd[KIND - 2]("N", "L", &n, scratch->a, &n, scratch->out[0], scratch->work,
                                                 &plan->work_size, scratch->reals, &plan->reals_size, scratch->integers,
                                                 &plan->integers_size, &info);
#endif
    return info == 0;
}

static bool NAME(svdvals)(const LapackPlan *plan, const Scratch *scratch) {
#if KIND % 2 == 1
    if (NAME(is_reducible)(plan, scratch->a)) return NAME(svd_by_reduction)(plan, scratch);
#endif
    BlasInt info = 0, one = 1;
    const BlasInt *rows = &plan->rows, *columns = &plan->columns;
    REAL none[2];
#if WIDTH == 1
    blas_table()->lapack.real_gesdd[KIND]("N", rows, columns, scratch->a, rows, scratch->out[0], none, &one, none, &one,
                                          scratch->work, &plan->work_size, scratch->integers, &info);
#else
    blas_table()->lapack.complex_gesdd[KIND - 2]("N", rows, columns, scratch->a, rows, scratch->out[0], none, &one,
                                                 none, &one, scratch->work, &plan->work_size, scratch->reals,
                                                 scratch->integers, &info);
#endif
    return info == 0;
}

/* Sizes of workspaces: LAPACK writes the best one into work[0] when it is told that there is none (-1). */
static void NAME(query)(LapackPlan *plan) {
    const Lapack *lapack = &blas_table()->lapack;
    BlasInt info = 0, none = -1, integers[2] = {0, 0}, *rows = &plan->rows, *columns = &plan->columns;
    BlasInt shorter = plan->shorter;
    const double rounding = OF_REAL(0x1p-22, 0.0); /* a large size is no float */
    REAL best[4] = {0}, second[4] = {0}, reals[2] = {0}, any[4] = {0};
    switch (plan->routine) {
    case SOLVE:
    case DET: plan->integers_size = *rows; break;
    case INV:
        lapack->getri[KIND](rows, any, rows, integers, best, &none, &info);
        plan->integers_size = *rows;
        break;
    case QR:
        lapack->geqrf[KIND](rows, columns, any, rows, any, best, &none, &info);
        lapack->orgqr[KIND](rows, &shorter, &shorter, any, rows, any, second, &none, &info);
        if (second[0] > best[0]) best[0] = second[0];
        break;
    case EIGVALSH:
    case EIGH: {
        const char *vectors = plan->routine == EIGH ? "V" : "N";
#if WIDTH == 1
        lapack->real_syevd[KIND](vectors, "L", rows, any, rows, any, best, &none, integers, &none, &info);
#else
        lapack->complex_heevd[KIND - 2](vectors, "L", rows, any, rows, any, best, &none, reals, &none, integers, &none,
                                        &info);
#endif
        plan->reals_size = (BlasInt)((double)reals[0] * (1.0 + rounding));
        plan->integers_size = blas_integer(integers, 0);
#if KIND % 2 == 1
        NAME(choose_reduction)(plan);
        if (plan->integers_size < 5 * *rows + 3) plan->integers_size = 5 * *rows + 3;
#endif
        break;
    }
    case SVDVALS:
    case SVD: {
        const char *vectors = plan->routine == SVD ? "S" : "N";
#if WIDTH == 1
        lapack->real_gesdd[KIND](vectors, rows, columns, any, rows, any, any, rows, any, &shorter, best, &none,
                                 integers, &info);
#else
        lapack->complex_gesdd[KIND - 2](vectors, rows, columns, any, rows, any, any, rows, any, &shorter, best, &none,
                                        reals, integers, &info);
        const BlasInt longer = *rows > *columns ? *rows : *columns;
        plan->reals_size = 5 * shorter * shorter + 7 * shorter; /* from the documentation: no query tells it */
        if (plan->reals_size < 2 * longer * shorter + 2 * shorter * shorter + shorter)
            plan->reals_size = 2 * longer * shorter + 2 * shorter * shorter + shorter;
#endif
        plan->integers_size = 8 * shorter;
#if KIND % 2 == 1
        NAME(choose_reduction)(plan);
#endif
        break;
    }
    default: break;
    }
    plan->work_size = (BlasInt)((double)best[0] * (1.0 + rounding));
#if WIDTH == 2
    if (plan->routine == EIGH && *rows >= LEAST_BY_REAL) {
        const BlasInt size = NAME(size_by_real)(plan);
        if (size > plan->work_size) plan->work_size = size;
    }
#endif
}

/* Singular values of zero are positive; divide and conquer may give them another sign. */
static void NAME(drop_signs)(REAL *values, BlasInt count) {
    for (BlasInt i = 0; i < count; i++) values[i] += 0;
}

static bool NAME(run)(const LapackPlan *plan, const Scratch *scratch) {
    bool good;
    switch (plan->routine) {
    case CHOLESKY: return NAME(cholesky)(plan, scratch);
    case SOLVE: return NAME(solve)(plan, scratch);
    case INV: return NAME(inv)(plan, scratch);
    case DET: return NAME(det)(plan, scratch);
    case QR: return NAME(qr)(plan, scratch);
    case EIGH: return NAME(eigh)(plan, scratch);
    case EIGVALSH: return NAME(eigvalsh)(plan, scratch);
    case SVDVALS:
        good = NAME(svdvals)(plan, scratch);
        NAME(drop_signs)(scratch->out[0], plan->shorter);
        return good;
    default:
        good = NAME(svd)(plan, scratch);
        NAME(drop_signs)(scratch->out[1], plan->shorter);
        return good;
    }
}

#undef OF_REAL
#undef REAL
#undef WIDTH
#undef KIND
#undef NAME
