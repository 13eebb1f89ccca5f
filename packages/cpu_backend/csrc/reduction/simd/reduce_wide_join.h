/* Folds of folds by PLUS, and by JOINED of vectors. */
static void NAME(join)(Index columns, void *folds, const void *other) {
    double *d = folds;
    const double *a = other;
    INDEPENDENT
    for (Index i = 0; i < columns; i++) d[i] = PLUS(d[i], a[i]);
}

static void NAME(parts)(Index count, Index columns, void *folds) {
    while (count > 1) {
        Index half = count / 2, kept = count - half;
        NAME(join)(half * columns, folds, (double *)folds + kept * columns);
        count = kept;
    }
}
#undef PLUS
#undef JOINED
#undef NAME
