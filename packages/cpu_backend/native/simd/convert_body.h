/* Conversions of FROM to each type; with FLOATING_ONLY, not to integers. */

__attribute__((unused)) static void NAME(f32)(const void *source, void *target, Index count) {
    const FROM *from = source;
    float *to = target;
    for (Index k = 0; k < count; k++) to[k] = (float)from[k];
}

__attribute__((unused)) static void NAME(f64)(const void *source, void *target, Index count) {
    const FROM *from = source;
    double *to = target;
    for (Index k = 0; k < count; k++) to[k] = (double)from[k];
}

__attribute__((unused)) static void NAME(c32)(const void *source, void *target, Index count) {
    const FROM *from = source;
    float _Complex *to = target;
    for (Index k = 0; k < count; k++) to[k] = (float _Complex)from[k];
}

__attribute__((unused)) static void NAME(c64)(const void *source, void *target, Index count) {
    const FROM *from = source;
    double _Complex *to = target;
    for (Index k = 0; k < count; k++) to[k] = (double _Complex)from[k];
}

__attribute__((unused)) static void NAME(bool)(const void *source, void *target, Index count) {
    const FROM *from = source;
    _Bool *to = target;
    for (Index k = 0; k < count; k++) to[k] = (_Bool)from[k];
}

#ifndef FLOATING_ONLY

__attribute__((unused)) static void NAME(i32)(const void *source, void *target, Index count) {
    const FROM *from = source;
    int32_t *to = target;
    for (Index k = 0; k < count; k++) to[k] = (int32_t)from[k];
}

__attribute__((unused)) static void NAME(i64)(const void *source, void *target, Index count) {
    const FROM *from = source;
    int64_t *to = target;
    for (Index k = 0; k < count; k++) to[k] = (int64_t)from[k];
}

#endif

#undef FROM
#undef NAME
#undef FLOATING_ONLY
