/* Conversions from a real type T to all that hold its values (or round them), and to truth values. VALUE(x) is what an
 * element counts for, where that is not x. */
#ifndef VALUE
#define VALUE(x) (x)
#endif

#define RESULT float
#define OPERATION to_f32
#define FORMULA VALUE(a[i])
#include "elementwise/simd/elementwise_loop.h"

#define RESULT double
#define OPERATION to_f64
#define FORMULA VALUE(a[i])
#include "elementwise/simd/elementwise_loop.h"

#define RESULT uint8_t
#define OPERATION to_bool
#define FORMULA a[i] != 0
#include "elementwise/simd/elementwise_loop.h"

static void NAME(to_c32)(Index n, void *result, const void *first, const void *second, Third third) {
    float *d = result;
    const T *a = first;
    (void)second, (void)third;
    for (Index i = 0; i < n; i++) {
        d[2 * i] = (float)VALUE(a[i]);
        d[2 * i + 1] = 0;
    }
}

static void NAME(to_c64)(Index n, void *result, const void *first, const void *second, Third third) {
    double *d = result;
    const T *a = first;
    (void)second, (void)third;
    for (Index i = 0; i < n; i++) {
        d[2 * i] = (double)VALUE(a[i]);
        d[2 * i + 1] = 0;
    }
}
#undef T
#undef SUFFIX
#undef VALUE
