/* Copies matrices for LAPACK, and looks for NaN and infinities while they are in the cache.
 *
 * Every F32 and C32 is a double exactly, and becomes one where results shall be computed in doubles and rounded once at
 * the end. A matrix whose rows lie together in memory is read a few columns at a time, row by row.
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

/* The largest magnitude of floats, as bits, which grow as numbers do: those of infinities and NaN are the largest. */
static uint32_t largest_bits(const float *block, Index count) {
    uint32_t largest = 0;
    for (Index i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, block + i, sizeof bits);
        bits &= UINT32_C(0x7fffffff);
        largest = bits > largest ? bits : largest;
    }
    return largest;
}

#define R double
#define SEEN bool
#define LOOK(block, count) all_finite(block, count)
#define BOTH(a, b) ((a) && (b))
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

#undef R
#undef SEEN
#undef LOOK
#undef BOTH

#define R float
#define SEEN uint32_t
#define LOOK(block, count) largest_bits(block, count)
#define BOTH(a, b) ((a) > (b) ? (a) : (b))
#define T float
#define WIDTH 1
#define NAME(f) f##_floats
#include "copy/matrix_copy_body.h"
#undef T
#undef WIDTH
#undef NAME

#define T float
#define WIDTH 2
#define NAME(f) f##_pairs
#include "copy/matrix_copy_body.h"
#undef T
#undef WIDTH
#undef NAME
#undef R
#undef SEEN
#undef LOOK
#undef BOTH

bool matrix_load(ElementType type, const char *source, Index rows, Index columns, Index row_stride, Index column_stride,
                 double *block) {
    switch (type) {
    case F32: return load_f32((const float *)source, rows, columns, row_stride, column_stride, block);
    case F64: return load_f64((const double *)source, rows, columns, row_stride, column_stride, block);
    case C32: return load_c32((const float *)source, rows, columns, row_stride, column_stride, block);
    default: return load_c64((const double *)source, rows, columns, row_stride, column_stride, block);
    }
}

static float as_float(uint32_t bits) {
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

float matrix_load_floats(ElementType type, const char *source, Index rows, Index columns, Index row_stride,
                         Index column_stride, float *block) {
    const float *first = (const float *)source;
    return as_float(type == F32 ? load_floats(first, rows, columns, row_stride, column_stride, block)
                                : load_pairs(first, rows, columns, row_stride, column_stride, block));
}

float largest_float(const float *block, Index count) { return as_float(largest_bits(block, count)); }

void matrix_round(const double *block, Index count, float *result) {
    for (Index i = 0; i < count; i++) result[i] = (float)block[i];
}
