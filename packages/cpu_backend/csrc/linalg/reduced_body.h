/* Decompositions by reductions of our own, for one kind of doubles: included by lapack_body.h, which says what is defined.
 */

/* A decomposition by a reduction of our own, but where LAPACK's is as fast: of small matrices, of large ones, and of
 * those that are much longer than wide, which it makes triangular first. */
static void NAME(choose_reduction)(LapackPlan *plan) {
    const Index n = plan->shorter, longer = plan->rows + plan->columns - n;
    const Index bytes = WIDTH * (Index)sizeof(double) * n * longer;
    if (n < LEAST_REDUCED || bytes > MOST_REDUCED_BYTES || 2 * longer > 3 * n) return;
    plan->reduction = WIDTH == 1 ? SIMD_CHOICE(reduction_real) : SIMD_CHOICE(reduction_complex);
    plan->diagonals = SIMD_CHOICE(diagonal_kernels);
    const bool is_svd = plan->routine == SVD || plan->routine == SVDVALS;
    const Index sides = plan->routine == SVD ? 2 : plan->routine == EIGH ? 1 : 0;
    plan->room_size = WORK_OF_DIAGONALS(n) + n * (1 + sides * rounded_up(n, 8));
    plan->room_size +=
        is_svd ? plan->reduction->bidiagonal_room(plan->rows, plan->columns) : plan->reduction->tridiagonal_room(n);
}

/* Whether parts from the first to the last are below the limit; the largest of them and of those before. */
static bool NAME(are_moderate)(const REAL *parts, BlasInt first, BlasInt last, double *largest) {
    for (BlasInt i = first; i < last; i++) {
        const double size = fabs(parts[i]);
        if (!(size < REDUCED)) return false;
        *largest = size > *largest ? size : *largest;
    }
    return true;
}

/* Whether it may be reduced as it is, by what is read of it: of a Hermitian matrix the real diagonal, and below. */
static bool NAME(is_reducible)(const LapackPlan *plan, const REAL *a) {
    const bool is_hermitian = plan->routine == EIGH || plan->routine == EIGVALSH;
    double largest = 0.0;
    if (plan->reduction == NULL) return false;
    for (BlasInt j = 0; j < plan->columns; j++) {
        const REAL *const column = a + WIDTH * plan->rows * j;
        const BlasInt below = is_hermitian ? WIDTH * (j + 1) : 0;
        if (is_hermitian && !NAME(are_moderate)(column, WIDTH * j, WIDTH * j + 1, &largest)) return false;
        if (!NAME(are_moderate)(column, below, WIDTH * plan->rows, &largest)) return false;
    }
    return largest > 1.0 / REDUCED;
}

/* Singular values and, of SVD, vectors: of few by QR iterations, of more by divide and conquer, as xGESDD's. */
static bool NAME(svd_by_reduction)(const LapackPlan *plan, const Scratch *scratch) {
    const bool vectors = plan->routine == SVD;
    const BlasInt *const n = &plan->shorter, one = 1, *const side = vectors ? n : &one;
    const Index stride = vectors ? rounded_up(*n, 8) : 0;
    double *const left = scratch->room + plan->reduction->bidiagonal_room(plan->rows, plan->columns);
    double *const right = left + *n * stride, *const work = right + *n * stride,
                  *const beside = work + WORK_OF_DIAGONALS(*n);
    double *const values = scratch->out[vectors ? 1 : 0], unused[1];
    BlasInt info = 0, integer[1];
    const Reduction problem = {scratch->a, plan->rows, plan->columns, values, beside, scratch->room};
    plan->reduction->bidiagonalize(&problem);
    if (vectors && *n <= MOST_ITERATED) {
        const Diagonals diagonals = {*n, values, beside, left, right, stride, work};
        if (!plan->diagonals->singular(&diagonals)) return false;
        plan->reduction->turn_singular(&problem, (Vectors){left, 1, stride}, (Vectors){right, 1, stride},
                                       scratch->out[0], scratch->out[2]);
        return true;
    }
    blas_table()->lapack.bdsdc[1]("U", vectors ? "I" : "N", n, values, beside, left, side, right, side, unused, integer,
                                  work, scratch->integers, &info);
    if (info == 0 && vectors)
        plan->reduction->turn_singular(&problem, (Vectors){left, 1, *n}, (Vectors){right, *n, 1}, scratch->out[0],
                                       scratch->out[2]);
    return info == 0;
}

/* Eigenvalues and, of EIGH, vectors, in the same ways, as xSYEVD's. */
static bool NAME(eigh_by_reduction)(const LapackPlan *plan, const Scratch *scratch) {
    const bool vectors = plan->routine == EIGH;
    const BlasInt *const n = &plan->rows, size = WORK_OF_DIAGONALS(*n);
    const Index stride = vectors ? rounded_up(*n, 8) : 0;
    double *const z = scratch->room + plan->reduction->tridiagonal_room(*n), *const work = z + *n * stride;
    double *const beside = work + size, *const values = scratch->out[0];
    BlasInt info = 0;
    const Reduction problem = {vectors ? scratch->out[1] : scratch->a, *n, *n, values, beside, scratch->room};
    plan->reduction->tridiagonalize(&problem);
    if (vectors && *n <= MOST_ITERATED) {
        const Diagonals diagonals = {*n, values, beside, z, NULL, stride, work};
        if (!plan->diagonals->eigen(&diagonals)) return false;
        plan->reduction->turn_eigen(&problem, (Vectors){z, 1, stride}, scratch->out[1]);
        return true;
    }
    blas_table()->lapack.stedc[1](vectors ? "I" : "N", n, values, beside, z, n, work, &size, scratch->integers,
                                  &plan->integers_size, &info);
    if (info == 0 && vectors) plan->reduction->turn_eigen(&problem, (Vectors){z, 1, *n}, scratch->out[1]);
    return info == 0;
}
