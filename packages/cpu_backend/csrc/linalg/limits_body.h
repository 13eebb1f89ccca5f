/* What LAPACK's routines do not do at the ends of the range: pivots that they cannot divide by, and tiny matrices. After
 * number_body.h, for the same kind of numbers. */

/* Whether a pivot on the diagonal is so small or large that LAPACK's elimination with it may be wrong. */
static bool NAME(has_extreme_pivots)(const NUMBER *a, Index rows, Index count) {
    const double limit = sizeof(REAL) == 4 ? 0x1p100 : 0x1p900;
    for (Index j = 0; j < count; j++) {
        const double size = (double)NAME(largest_part)(a[j * (rows + 1)]);
        if (size != 0.0 && !(size < limit && size > 1 / limit)) return true;
    }
    return false;
}

/* Whether a pivot is zero above a number that is none: OpenBLAS neither exchanges rows for a subnormal one nor divides by
 * it. */
static bool NAME(has_missed_pivots)(const NUMBER *a, Index rows, Index count) {
    for (Index j = 0; j < count; j++) {
        const NUMBER *pivot = a + j * (rows + 1);
        if (NAME(rough_size)(pivot[0]) != 0) continue;
        for (Index i = 1; i < rows - j; i++)
            if (NAME(rough_size)(pivot[i]) != 0) return true;
    }
    return false;
}

/* Brings a tiny matrix to a size of about 1, which is exact; the power of two that takes it back. xGEEV brings it but to
 * where squares of what rounding leaves vanish, from which it makes eigenvectors of any norm. */
static int NAME(enlarge)(NUMBER *a, Index count) {
    const double most = (double)NAME(largest_of)((REAL *)a, WIDTH * count);
    if (most == 0 || !(most < (sizeof(REAL) == 4 ? 0x1p-30 : 0x1p-300))) return 0;
    const int power = ilogb(most) + 1;
    NAME(scale_back)(a, count, -power);
    return power;
}
