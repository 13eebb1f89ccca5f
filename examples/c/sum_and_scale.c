/* Two functions on memory that Python lends: they add up, and scale in place, tensors of any strides. */
#include "ironstride.h"

#ifdef _WIN32
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED
#endif

/* The sum of all elements, in the order in which a compact tensor has them; -1 for what is no F64. */
EXPORTED int sum(const is_view *x, double *result) {
    int64_t index[IS_MOST_AXES] = {0}, offset = 0;
    *result = 0.0;
    if (x->dtype != IS_F64) return -1;
    if (is_size(x) == 0) return 0;
    do *result += ((const double *)x->first)[offset];
    while (is_next(x, index, &offset));
    return 0;
}

/* Every element times a factor; -1 for what is no F64, -2 for what may not be written. */
EXPORTED int scale(const is_view *x, double factor) {
    int64_t index[IS_MOST_AXES] = {0}, offset = 0;
    double *elements = x->first;
    if (x->dtype != IS_F64) return -1;
    if (!x->writable) return -2;
    if (is_compact(x)) { /* one loop, which a compiler makes fast */
        for (int64_t k = 0, size = is_size(x); k < size; k++) elements[k] *= factor;
        return 0;
    }
    if (is_size(x) == 0) return 0;
    do elements[offset] *= factor;
    while (is_next(x, index, &offset));
    return 0;
}

/* Both on what a DLPack capsule lends, whoever made it. */
EXPORTED int sum_of_dlpack(const is_dl_managed *lent, double *result) {
    int64_t strides[IS_MOST_AXES];
    is_view x;
    return is_from_dlpack(lent, &x, strides) ? -3 : sum(&x, result);
}

EXPORTED int scale_dlpack(const is_dl_managed *lent, double factor) {
    int64_t strides[IS_MOST_AXES];
    is_view x;
    return is_from_dlpack(lent, &x, strides) ? -3 : scale(&x, factor);
}
