/* Copies matrices for LAPACK, and looks for NaN and infinities while they are in the cache.
 *
 * F32 and C32 become doubles: every one of them is a double exactly, and results computed in doubles and rounded at
 * the end are as NumPy's. A matrix whose rows lie together in memory is read a few columns at a time, row by row.
 */
#include "copy/matrix_copy.h"

#include <stdlib.h>
#include <string.h>

enum { COLUMNS_AT_ONCE = 8 }; /* a cache line of doubles */

/* A double is NaN or infinite when all bits of its exponent are set; adding one at the lowest of them then carries into
 * the sign. Unlike a comparison this is one vector instruction on every processor. */
bool all_finite(const double *block, Index count) {
    const uint64_t exponent = UINT64_C(0x7ff) << 52, lowest = UINT64_C(1) << 52;
    uint64_t carried = 0;
    for (Index i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, block + i, sizeof bits);
        carried |= (bits & exponent) + lowest;
    }
    return carried >> 63 == 0;
}

#define T float
#define WIDTH 1
#define NAME(f) f##_f32
#include "copy/matrix_copy_body.h"
#undef T
#undef WIDTH
#undef NAME

#define T double
#define WIDTH 1
#define NAME(f) f##_f64
#include "copy/matrix_copy_body.h"
#undef T
#undef WIDTH
#undef NAME

#define T float
#define WIDTH 2
#define NAME(f) f##_c32
#include "copy/matrix_copy_body.h"
#undef T
#undef WIDTH
#undef NAME

#define T double
#define WIDTH 2
#define NAME(f) f##_c64
#include "copy/matrix_copy_body.h"
#undef T
#undef WIDTH
#undef NAME

bool matrix_load(ElementType type, const char *source, Index rows, Index columns, Index row_stride, Index column_stride,
                 double *block) {
    switch (type) {
    case F32: return load_f32((const float *)source, rows, columns, row_stride, column_stride, block);
    case F64: return load_f64((const double *)source, rows, columns, row_stride, column_stride, block);
    case C32: return load_c32((const float *)source, rows, columns, row_stride, column_stride, block);
    default: return load_c64((const double *)source, rows, columns, row_stride, column_stride, block);
    }
}

void matrix_round(const double *block, Index count, float *result) {
    for (Index i = 0; i < count; i++) result[i] = (float)block[i];
}
