/* Conversions of FROM to each type; with FLOATING_ONLY, not to integers. VALUE(x) is what an element counts for, where
 * that is not x. */
#ifndef VALUE
#define VALUE(x) (x)
#endif

__attribute__((unused)) static void NAME(f32)(const void *source, void *target, Index count) {
    const FROM *from = source;
    float *to = target;
    for (Index k = 0; k < count; k++) to[k] = (float)VALUE(from[k]);
}

__attribute__((unused)) static void NAME(f64)(const void *source, void *target, Index count) {
    const FROM *from = source;
    double *to = target;
    for (Index k = 0; k < count; k++) to[k] = (double)VALUE(from[k]);
}

/* A number and no imaginary part, or both parts. */
#define TO_COMPLEX(PART)                                                                                               \
    for (Index k = 0; k < count; k++) {                                                                                \
        ((PART *)target)[2 * k] = (PART)REAL(k);                                                                       \
        ((PART *)target)[2 * k + 1] = (PART)IMAGINARY(k);                                                              \
    }
#if defined(PARTS)
#define REAL(k) ((const PARTS *)source)[2 * (k)]
#define IMAGINARY(k) ((const PARTS *)source)[2 * (k) + 1]
#else
#define REAL(k) VALUE(((const FROM *)source)[k])
#define IMAGINARY(k) 0
#endif

__attribute__((unused)) static void NAME(c32)(const void *source, void *target, Index count) { TO_COMPLEX(float) }

__attribute__((unused)) static void NAME(c64)(const void *source, void *target, Index count) { TO_COMPLEX(double) }

#undef TO_COMPLEX
#undef REAL
#undef IMAGINARY

__attribute__((unused)) static void NAME(bool)(const void *source, void *target, Index count) {
    const FROM *from = source;
    _Bool *to = target;
    for (Index k = 0; k < count; k++) to[k] = (_Bool)VALUE(from[k]);
}

#ifndef FLOATING_ONLY

__attribute__((unused)) static void NAME(i32)(const void *source, void *target, Index count) {
    const FROM *from = source;
    int32_t *to = target;
    for (Index k = 0; k < count; k++) to[k] = (int32_t)VALUE(from[k]);
}

__attribute__((unused)) static void NAME(i64)(const void *source, void *target, Index count) {
    const FROM *from = source;
    int64_t *to = target;
    for (Index k = 0; k < count; k++) to[k] = (int64_t)VALUE(from[k]);
}

#endif

#undef FROM
#undef VALUE
#undef NAME
#undef FLOATING_ONLY
#undef PARTS
