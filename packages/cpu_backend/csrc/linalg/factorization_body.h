/* The factorizations of one matrix for one kind of numbers. The includer (factorization_routines.c) defines REAL,
 * WIDTH, KIND, the place of the functions in the table (the element type), and NAME(f); number_body.h,
 * elimination_body.h and band_body.h come before. */

/* Copies an operand into a block; whether it may be computed with. */
static bool NAME(load)(const FactorizationPlan *plan, const MatrixStack *stack, const char *source, Index rows,
                       Index columns, NUMBER *block) {
#if KIND == 1 || KIND == 3
    return matrix_load(plan->type, source, rows, columns, stack->row_stride, stack->column_stride, (double *)block) ||
           !plan->check;
#else
    const bool by_rows = magnitude(stack->column_stride) < magnitude(stack->row_stride);
    const Index outer = by_rows ? rows : columns, inner = by_rows ? columns : rows;
    const Index outer_stride = by_rows ? stack->row_stride : stack->column_stride;
    const Index inner_stride = by_rows ? stack->column_stride : stack->row_stride;
    const Index outer_step = by_rows ? 1 : rows, inner_step = by_rows ? rows : 1;
    for (Index j = 0; j < outer; j++) {
        const NUMBER *from = (const NUMBER *)source + j * outer_stride;
        NUMBER *to = block + j * outer_step;
        for (Index i = 0; i < inner; i++) to[i * inner_step] = from[i * inner_stride];
    }
    return !plan->check || NAME(are_finite)(block, rows * columns);
#endif
}

static bool NAME(load_a)(const FactorizationPlan *plan, const FactorizationScratch *scratch, void *block) {
    return NAME(load)(plan, &plan->a, scratch->source_a, plan->rows, plan->columns, block);
}

static void NAME(zero_below)(NUMBER *a, Index rows, Index columns, Index beside) {
    for (Index j = 0; j < columns && j + beside + 1 < rows; j++)
        memset(a + rows * j + j + beside + 1, 0, sizeof(NUMBER) * (size_t)(rows - j - beside - 1));
}

#include "linalg/systems_body.h"

static void NAME(order_of)(const int64_t *exchanges, Index steps, Index count, int64_t *order) {
    for (Index i = 0; i < count; i++) order[i] = i;
    for (Index step = 0; step < steps; step++) {
        const int64_t former = order[step];
        order[step] = order[exchanges[step]];
        order[exchanges[step]] = former;
    }
}

/* Factors of a, and which rows were exchanged; false, and a is as it was, where an elimination of our own does
 * better. */
static bool NAME(eliminate_by_lapack)(const FactorizationPlan *plan, const FactorizationScratch *scratch, NUMBER *a,
                                      int64_t *exchanges) {
    const Index m = plan->rows, n = plan->columns, k = smaller(m, n);
    BlasInt info = 0;
    if (m <= LARGEST_ELIMINATION && n <= LARGEST_ELIMINATION) return false;
    blas_table()->lapack.getrf[KIND](&plan->rows, &plan->columns, a, &plan->rows, scratch->integers, &info);
    for (Index i = 0; i < k; i++) exchanges[i] = blas_integer(scratch->integers, i) - 1;
    if (!NAME(has_extreme_pivots)(a, m, k) && !NAME(has_missed_pivots)(a, m, k)) return true;
    (void)NAME(load_a)(plan, scratch, a);
    return false;
}

static bool NAME(lu_factor)(const FactorizationPlan *plan, const FactorizationScratch *scratch) {
    const Index m = plan->rows, n = plan->columns;
    NUMBER *packed = scratch->out[0];
    int64_t *exchanges = scratch->extra;
    if (!NAME(load_a)(plan, scratch, packed)) return false;
    if (!NAME(eliminate_by_lapack)(plan, scratch, packed, exchanges)) {
        const int power = NAME(scale_away_from_limits)(packed, m * n);
        NAME(eliminate)(packed, m, n, exchanges);
        NAME(scale_upper_back)(packed, m, n, power);
    }
    NAME(order_of)(exchanges, smaller(m, n), m, scratch->out[1]);
    return true;
}

#include "linalg/pivots_body.h"

static bool NAME(lu_complete)(const FactorizationPlan *plan, const FactorizationScratch *scratch) {
    const Index m = plan->rows, n = plan->columns;
    NUMBER *packed = scratch->out[0];
    if (!NAME(load_a)(plan, scratch, packed)) return false;
    const int power = NAME(scale_away_from_limits)(packed, m * n);
    NAME(eliminate_completely)(packed, m, n, scratch->out[1], scratch->out[2]);
    NAME(scale_upper_back)(packed, m, n, power);
    return true;
}

/* By LAPACK: a as eliminate_hermitian() leaves it; whether it could divide by every pivot. */
static bool NAME(block_hermitian)(const FactorizationPlan *plan, const FactorizationScratch *scratch, NUMBER *a,
                                  int64_t *order, BlasInt *widths) {
    const Index n = plan->rows;
    BlasInt info = 0;
    blas_table()->lapack.sytrf[KIND]("L", &plan->rows, a, &plan->rows, scratch->integers, scratch->work,
                                     &plan->work_size, &info);
    /* Where a block is exactly 0, xLASYF leaves in its column what it should have updated. */
    if (info != 0 || !NAME(are_finite)(a, n * n)) return false;
    for (Index i = 0; i < n; i++) order[i] = i;
    for (Index k = 0; k < n; k += (Index)widths[k]) {
        const Index written = (Index)blas_integer(scratch->integers, k);
        widths[k] = written > 0 ? 1 : 2;
        const Index last = k + (Index)widths[k] - 1, p = magnitude(written) - 1;
        if (widths[k] == 2 && NAME(has_extreme_pivots)(a + last + k * n, n, 1)) return false;
        if (p == last) continue;
        const int64_t former = order[last];
        order[last] = order[p];
        order[p] = former;
        for (Index c = 0; c < k; c++) NAME(exchange)(a + last + c * n, a + p + c * n);
    }
    return true;
}

static bool NAME(ldl)(const FactorizationPlan *plan, const FactorizationScratch *scratch) {
    const Index n = plan->rows;
    NUMBER *lower = scratch->out[0], *diagonal = scratch->out[1];
    int64_t *order = scratch->out[2];
    BlasInt *widths = scratch->extra;
    if (!NAME(load_a)(plan, scratch, lower)) return false;
    for (Index j = 1; j < n; j++) memset(lower + n * j, 0, sizeof(NUMBER) * (size_t)j);
    int power = NAME(scale_away_from_limits)(lower, n * n);
    if (n <= LARGEST_ELIMINATION) {
        NAME(eliminate_hermitian)(lower, n, order, widths);
    } else if (!NAME(block_hermitian)(plan, scratch, lower, order, widths) || NAME(has_extreme_pivots)(lower, n, n)) {
        (void)NAME(load_a)(plan, scratch, lower);
        power = NAME(scale_away_from_limits)(lower, n * n);
        for (Index j = 1; j < n; j++) memset(lower + n * j, 0, sizeof(NUMBER) * (size_t)j);
        NAME(eliminate_hermitian)(lower, n, order, widths);
    }
    memset(diagonal, 0, sizeof(NUMBER) * (size_t)(n * n));
    for (Index k = 0; k < n; k++) {
        diagonal[k * (n + 1)] = NAME(real_number)(lower[k * (n + 1)].part[0]);
        lower[k * (n + 1)] = NAME(real_number)(1);
    }
    for (Index k = 0; k < n; k += (Index)widths[k]) {
        if (widths[k] == 1) continue;
        diagonal[k * n + k + 1] = lower[k * n + k + 1];
        diagonal[(k + 1) * n + k] = NAME(conjugate)(lower[k * n + k + 1]);
        lower[k * n + k + 1] = NAME(real_number)(0);
    }
    NAME(scale_back)(diagonal, n * n, power);
    return true;
}

static bool NAME(qr_pivoted)(const FactorizationPlan *plan, const FactorizationScratch *scratch) {
    const Lapack *lapack = &blas_table()->lapack;
    const BlasInt *m = &plan->rows, *n = &plan->columns, k = smaller(plan->rows, plan->columns);
    NUMBER *a = scratch->a, *q = scratch->out[0], *r = scratch->out[1], *tau = scratch->extra;
    int64_t *order = scratch->out[2];
    BlasInt info = 0;
    if (!NAME(load_a)(plan, scratch, a)) return false;
    const int power = NAME(scale_away_from_limits)(a, *m * *n);
    memset(scratch->integers, 0, sizeof(BlasInt) * (size_t)*n);
#if WIDTH == 1
    lapack->real_geqp3[KIND](m, n, a, m, scratch->integers, tau, scratch->work, &plan->work_size, &info);
#else
    lapack->complex_geqp3[KIND - 2](m, n, a, m, scratch->integers, tau, scratch->work, &plan->work_size, scratch->reals,
                                    &info);
#endif
    if (info != 0) return false;
    for (Index j = 0; j < *n; j++) {
        memcpy(r + k * j, a + *m * j, sizeof(NUMBER) * (size_t)smaller(j + 1, k));
        order[j] = blas_integer(scratch->integers, j) - 1;
    }
    NAME(zero_below)(r, k, *n, 0);
    NAME(scale_back)(r, k * *n, power);
    memcpy(q, a, sizeof(NUMBER) * (size_t)(*m * k));
    lapack->orgqr[KIND](m, &k, &k, q, m, tau, scratch->work, &plan->work_size, &info);
    return info == 0;
}

static bool NAME(qr_complete)(const FactorizationPlan *plan, const FactorizationScratch *scratch) {
    const Lapack *lapack = &blas_table()->lapack;
    const BlasInt *m = &plan->rows, *n = &plan->columns, k = smaller(plan->rows, plan->columns);
    NUMBER *a = scratch->out[1], *q = scratch->out[0], *tau = scratch->extra;
    BlasInt info = 0;
    if (!NAME(load_a)(plan, scratch, a)) return false;
    const int power = NAME(scale_away_from_limits)(a, *m * *n);
    lapack->geqrf[KIND](m, n, a, m, tau, scratch->work, &plan->work_size, &info);
    if (info != 0) return false;
    memcpy(q, a, sizeof(NUMBER) * (size_t)(*m * k));
    NAME(zero_below)(a, *m, *n, 0);
    NAME(scale_back)(a, *m * *n, power);
    lapack->orgqr[KIND](m, m, &k, q, m, tau, scratch->work, &plan->work_size, &info);
    return info == 0;
}

static bool NAME(schur)(const FactorizationPlan *plan, const FactorizationScratch *scratch) {
    const BlasInt *n = &plan->rows;
    NUMBER *triangle = scratch->out[0], *values = scratch->extra;
    BlasInt info = 0, selected = 0;
    if (!NAME(load_a)(plan, scratch, triangle) || !NAME(are_finite)(triangle, *n * *n)) return false; /* or it hangs */
#if WIDTH == 1
    blas_table()->lapack.real_gees[KIND]("V", "N", NULL, n, triangle, n, &selected, values, values + *n,
                                         scratch->out[1], n, scratch->work, &plan->work_size, scratch->integers, &info);
    NAME(zero_below)(triangle, *n, *n, 1);
#else
    blas_table()->lapack.complex_gees[KIND - 2]("V", "N", NULL, n, triangle, n, &selected, values, scratch->out[1], n,
                                                scratch->work, &plan->work_size, scratch->reals, scratch->integers,
                                                &info);
    NAME(zero_below)(triangle, *n, *n, 0);
#endif
    return info == 0;
}

static bool NAME(hessenberg)(const FactorizationPlan *plan, const FactorizationScratch *scratch) {
    const Lapack *lapack = &blas_table()->lapack;
    const BlasInt *n = &plan->rows, one = 1;
    NUMBER *triangle = scratch->out[0], *vectors = scratch->out[1], *tau = scratch->extra;
    BlasInt info = 0;
    if (!NAME(load_a)(plan, scratch, vectors)) return false;
    const int power = NAME(scale_away_from_limits)(vectors, *n * *n);
    lapack->gehrd[KIND](n, &one, n, vectors, n, tau, scratch->work, &plan->work_size, &info);
    if (info != 0) return false;
    memcpy(triangle, vectors, sizeof(NUMBER) * (size_t)(*n * *n));
    NAME(zero_below)(triangle, *n, *n, 1);
    NAME(scale_back)(triangle, *n * *n, power);
    lapack->orghr[KIND](n, &one, n, vectors, n, tau, scratch->work, &plan->work_size, &info);
    return info == 0;
}

static bool NAME(eig)(const FactorizationPlan *plan, const FactorizationScratch *scratch) {
    const BlasInt *n = &plan->rows, one = 1;
    const bool vectors = plan->routine == EIG;
    const char *right = vectors ? "V" : "N";
    BlasInt info = 0;
    NUMBER none[1];
    /* Of infinities xGEEV writes beyond its workspace. */
    if (!NAME(load_a)(plan, scratch, scratch->a) || !NAME(are_finite)(scratch->a, *n * *n)) return false;
    const int power = NAME(enlarge)(scratch->a, *n * *n);
#if WIDTH == 1
    REAL *real = scratch->extra, *imaginary = real + *n, *packed = imaginary + *n;
    REAL *values = scratch->out[0], *out = scratch->out[1];
    blas_table()->lapack.real_geev[KIND]("N", right, n, scratch->a, n, real, imaginary, none, &one,
                                         vectors ? (void *)packed : none, vectors ? n : &one, scratch->work,
                                         &plan->work_size, &info);
    for (Index j = 0; j < *n; j++) {
        values[2 * j] = real[j];
        values[2 * j + 1] = imaginary[j];
    }
    for (Index j = 0; vectors && j < *n; j++) { /* a pair has its real parts in one column, the imaginary in the next */
        const bool is_pair = imaginary[j] != 0 && j + 1 < *n;
        const REAL *first = packed + j * *n, *second = first + *n;
        REAL *to = out + 2 * j * *n;
        for (Index i = 0; i < *n; i++) {
            to[2 * i] = first[i];
            to[2 * i + 1] = is_pair ? second[i] : 0;
            if (is_pair) {
                to[2 * (*n + i)] = first[i];
                to[2 * (*n + i) + 1] = -second[i];
            }
        }
        j += is_pair;
    }
#else
    blas_table()->lapack.complex_geev[KIND - 2]("N", right, n, scratch->a, n, scratch->out[0], none, &one,
                                                vectors ? scratch->out[1] : none, vectors ? n : &one, scratch->work,
                                                &plan->work_size, scratch->reals, &info);
#endif
    NAME(scale_back)(scratch->out[0], (3 - WIDTH) * *n, power); /* complex numbers */
    return info == 0;
}

/* Whether so many columns of n numbers are orthonormal to a few rounding units times n. */
static bool NAME(are_orthonormal)(const NUMBER *columns, BlasInt n, BlasInt count, NUMBER *gram) {
    const NUMBER one = NAME(real_number)(1), zero = NAME(real_number)(0);
    const double bound = (2.0 * (double)n + 16) * (sizeof(REAL) == 4 ? 0x1p-23 : 0x1p-52);
    blas_table()->gemm[KIND]("C", "N", &count, &count, &n, &one, columns, &n, columns, &n, &zero, gram, &count);
    for (Index i = 0; i < count; i++) gram[i * (count + 1)].part[0] -= 1;
    for (Index i = 0; i < count * count; i++)
        if (!((double)NAME(rough_size)(gram[i]) <= bound)) return false;
    return true;
}

/* Some eigenvalues, by index, and their vectors: reduction to tridiagonal form, relatively robust representations.
 * Those fail for some clusters of eigenvalues without saying so. */
static bool NAME(eigh_range)(const FactorizationPlan *plan, const FactorizationScratch *scratch) {
    const Lapack *lapack = &blas_table()->lapack;
    const BlasInt *n = &plan->rows, wanted = plan->last - plan->first + 1;
    NUMBER *a = scratch->a, *tau = scratch->extra;
    REAL *values = scratch->reals, *diagonal = values + *n, *beside = diagonal + *n, *work = beside + *n, nothing = 0;
    const BlasInt work_size = 18 * *n, integers_size = 10 * *n;
    BlasInt info = 0, found = 0, accurate = 1, *support = scratch->integers, *integers = support + 2 * *n;
    if (!NAME(load_a)(plan, scratch, a)) return false;
    for (Index j = 1; j < *n; j++) memset(a + *n * j, 0, sizeof(NUMBER) * (size_t)j);
    const int power = NAME(scale_away_from_limits)(a, *n * *n);
    lapack->sytrd[KIND]("L", n, a, n, diagonal, beside, tau, scratch->work, &plan->work_size, &info);
    if (info != 0) return false;
    lapack->stemr[KIND]("V", "I", n, diagonal, beside, &nothing, &nothing, &plan->first, &plan->last, &found, values,
                        scratch->out[1], n, &wanted, support, &accurate, work, &work_size, integers, &integers_size,
                        &info);
    if (info != 0 || blas_integer(&found, 0) != wanted) return false;
    if (!NAME(are_orthonormal)(scratch->out[1], *n, wanted, tau + *n)) return false;
    REAL *kept = scratch->out[0];
    for (Index i = 0; i < wanted; i++) kept[i] = (REAL)ldexp((double)values[i], power);
    lapack->ormtr[KIND]("L", "L", "N", n, &wanted, a, n, tau, scratch->out[1], n, scratch->work, &plan->work_size,
                        &info);
    return info == 0;
}

/* Sizes of workspaces: LAPACK writes the best one into work[0] when it is told that there is none (-1). */
static void NAME(query)(FactorizationPlan *plan) {
    const Lapack *lapack = &blas_table()->lapack;
    const BlasInt *m = &plan->rows, *n = &plan->columns, k = smaller(*m, *n), none = -1, one = 1;
    BlasInt info = 0, integers[2] = {0, 0};
    NUMBER best[4] = {0}, second[4] = {0}, any[4] = {0};
    plan->extra_size = *m + *n; /* of reflections */
    switch (plan->routine) {
    case SLOGDET:
    case LU_FACTOR:
        plan->copy_size = plan->routine == SLOGDET ? *n * *n : 0;
        plan->integers_size = k;
        plan->extra_size = k * (Index)sizeof(int64_t) / (Index)sizeof(REAL) + 1;
        break;
    case LDL:
        lapack->sytrf[KIND]("L", n, any, n, integers, best, &none, &info);
        plan->integers_size = *n;
        plan->extra_size = *n * (Index)sizeof(BlasInt) / (Index)sizeof(REAL) + 1;
        break;
    case QR_PIVOTED: plan->integers_size = *n; plan->copy_size = *m * *n;
#if WIDTH == 1
        lapack->real_geqp3[KIND](m, n, any, m, integers, any, best, &none, &info);
#else
        lapack->complex_geqp3[KIND - 2](m, n, any, m, integers, any, best, &none, any, &info);
        plan->reals_size = 2 * *n;
#endif
        lapack->orgqr[KIND](m, &k, &k, any, m, any, second, &none, &info);
        break;
    case QR_COMPLETE:
        lapack->geqrf[KIND](m, n, any, m, any, best, &none, &info);
        lapack->orgqr[KIND](m, m, &k, any, m, any, second, &none, &info);
        break;
    case SCHUR: plan->integers_size = *n;
#if WIDTH == 1
        lapack->real_gees[KIND]("V", "N", NULL, n, any, n, integers, any, any, any, n, best, &none, integers, &info);
#else
        plan->reals_size = *n;
        lapack->complex_gees[KIND - 2]("V", "N", NULL, n, any, n, integers, any, any, n, best, &none, any, integers,
                                       &info);
#endif
        break;
    case HESSENBERG:
        lapack->gehrd[KIND](n, &one, n, any, n, any, best, &none, &info);
        lapack->orghr[KIND](n, &one, n, any, n, any, second, &none, &info);
        break;
    case EIG:
    case EIGVALS: {
        const char *right = plan->routine == EIG ? "V" : "N";
        plan->copy_size = *n * *n;
#if WIDTH == 1
        plan->extra_size = 2 * *n + (plan->routine == EIG ? *n * *n : 0);
        lapack->real_geev[KIND]("N", right, n, any, n, any, any, any, &one, any, n, best, &none, &info);
#else
        plan->reals_size = 2 * *n;
        lapack->complex_geev[KIND - 2]("N", right, n, any, n, any, any, &one, any, n, best, &none, any, &info);
#endif
        break;
    }
    case EIGH_RANGE: {
        const BlasInt wanted = plan->last - plan->first + 1;
        plan->copy_size = *n * *n;
        plan->extra_size = *n + wanted * wanted;
        plan->reals_size = 21 * *n; /* of xSTEMR: from its documentation */
        plan->integers_size = 12 * *n;
        lapack->sytrd[KIND]("L", n, any, n, any, any, any, best, &none, &info);
        lapack->ormtr[KIND]("L", "L", "N", n, &wanted, any, n, any, any, n, second, &none, &info);
        break;
    }
    case SOLVE_BANDED:
        plan->copy_size = (2 * plan->first + plan->last + 1) * plan->order;
        plan->integers_size = plan->order;
        break;
    case SOLVEH_BANDED: plan->copy_size = plan->rows * plan->order; break;
    case SOLVE_TOEPLITZ: plan->copy_size = 4 * plan->order; break;
    default: break;
    }
    const REAL most = second[0].part[0] > best[0].part[0] ? second[0].part[0] : best[0].part[0];
    plan->work_size = (BlasInt)((double)most * (1 + 1e-6)) + 1; /* a size that was rounded to a float may be short */
}

static bool NAME(run)(const FactorizationPlan *plan, const FactorizationScratch *scratch) {
    switch (plan->routine) {
    case LU_FACTOR: return NAME(lu_factor)(plan, scratch);
    case SLOGDET: return NAME(slogdet)(plan, scratch);
    case LU_COMPLETE: return NAME(lu_complete)(plan, scratch);
    case LDL: return NAME(ldl)(plan, scratch);
    case QR_PIVOTED: return NAME(qr_pivoted)(plan, scratch);
    case QR_COMPLETE: return NAME(qr_complete)(plan, scratch);
    case SCHUR: return NAME(schur)(plan, scratch);
    case HESSENBERG: return NAME(hessenberg)(plan, scratch);
    case EIG:
    case EIGVALS: return NAME(eig)(plan, scratch);
    case EIGH_RANGE: return NAME(eigh_range)(plan, scratch);
    case SOLVE_BANDED: return NAME(solve_banded)(plan, scratch);
    case SOLVEH_BANDED: return NAME(solveh_banded)(plan, scratch);
    default: return NAME(solve_toeplitz)(plan, scratch);
    }
}
