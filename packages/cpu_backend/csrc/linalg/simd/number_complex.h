/* What linalg_*.h needs to know about a matrix element that is complex; number_real.h has the same names. */
#ifndef TENSOR_CPU_NUMBER_H
#define TENSOR_CPU_NUMBER_H

#include "linalg/simd/lane.h"

typedef struct {
    Lane re, im;
} Number;
enum { PARTS = 2 }; /* doubles in an element */

INLINE Number number(Lane real) { return (Number){real, broadcast(0.0)}; }
INLINE Lane real_part(Number x) { return x.re; }
INLINE Number conjugate(Number x) { return (Number){x.re, -x.im}; }
INLINE Number minus(Number x) { return (Number){-x.re, -x.im}; }
INLINE Number scaled(Number x, Lane factor) { return (Number){x.re * factor, x.im * factor}; }
INLINE Number divide_by_real(Number x, Lane y) { return (Number){x.re / y, x.im / y}; }
INLINE Number divide_by(Number x, Quotient y) { return (Number){quotient(x.re, y), quotient(x.im, y)}; }
INLINE Number times(Number x, Number y) { return (Number){x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re}; }
INLINE Number subtract(Number x, Number y) { return (Number){x.re - y.re, x.im - y.im}; }
INLINE Number add_product(Number sum, Number x, Number y) {
    return (Number){sum.re + x.re * y.re - x.im * y.im, sum.im + x.re * y.im + x.im * y.re};
}
INLINE Number subtract_product(Number sum, Number x, Number y) {
    return (Number){sum.re - x.re * y.re + x.im * y.im, sum.im - x.re * y.im - x.im * y.re};
}
INLINE Number choose(Mask mask, Number yes, Number no) {
    return (Number){pick(mask, yes.re, no.re), pick(mask, yes.im, no.im)};
}

/* |x|², and a sum of such squares. */
INLINE Lane add_square(Lane sum, Number x) { return sum + x.re * x.re + x.im * x.im; }

INLINE Lane square_of_imaginary(Number x) { return x.im * x.im; }
INLINE Number reciprocal(Number x) { /* of sizes far from the ends of the range */
    return divide_by_real(conjugate(x), x.re * x.re + x.im * x.im);
}

/* A size that is cheap: LAPACK compares the sum of the parts where it looks for a pivot. */
INLINE Lane rough_size(Number x) { return size_of(x.re) + size_of(x.im); }
INLINE Lane largest_part(Number x) { return larger(size_of(x.re), size_of(x.im)); }

/* Division of several numbers by one: by its conjugate over the square of its size, both after scaling by a power of
 * two, so that no square overflows. */
typedef struct {
    Number unit; /* the divisor times scale, its size about 1 */
    Lane square, scale;
} Divisor;
INLINE Divisor divisor(Number x) {
    Lane scale = scale_to(largest_part(x), 0.0);
    Number unit = scaled(x, scale);
    return (Divisor){unit, add_square(broadcast(0.0), unit), scale};
}
INLINE Number divide(Number x, Divisor y) {
    Number product = times(scaled(x, y.scale), conjugate(y.unit));
    return (Number){product.re / y.square, product.im / y.square};
}

#endif
