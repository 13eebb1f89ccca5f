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
INLINE Number times_in_order(Number x, Number y) { /* the same bits wherever it is compiled */
    return (Number){fused(-x.im, y.im, x.re * y.re), fused(x.im, y.re, x.re * y.im)};
}
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
INLINE Number choose_whole(Bits mask, Number yes, Number no) {
    return (Number){pick_whole(mask, yes.re, no.re), pick_whole(mask, yes.im, no.im)};
}

/* |x|², and a sum of such squares. */
INLINE Lane add_square(Lane sum, Number x) { return sum + x.re * x.re + x.im * x.im; }

/* A sum of products conj(x) y, in four sums of which none waits for another. */
typedef struct {
    Lane real, imaginary, left, right;
} InnerProduct;
INLINE void add_inner(InnerProduct *sums, Number x, Number y) {
    sums->real += x.re * y.re;
    sums->imaginary += x.im * y.im;
    sums->left += x.re * y.im;
    sums->right += x.im * y.re;
}
INLINE void add_odd_inner(InnerProduct *sums, Number x, Number y) { add_inner(sums, x, y); }
INLINE Number inner_product(const InnerProduct *sums) {
    return (Number){sums->real + sums->imaginary, sums->left - sums->right};
}

INLINE Lane square_of_imaginary(Number x) { return x.im * x.im; }
INLINE Number reciprocal(Number x) { /* of sizes far from the ends of the range */
    return scaled(conjugate(x), inverse(x.re * x.re + x.im * x.im));
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

/* The same with one division for all; for linalg_whole.h. */
typedef struct {
    Number unit;
    Quotient square;
    Lane scale;
} PivotDivisor;
INLINE PivotDivisor pivot_divisor(Number x) {
    const Divisor by = divisor(x);
    return (PivotDivisor){conjugate(by.unit), quotient_by(by.square), by.scale};
}
INLINE Number divide_by_pivot(Number x, PivotDivisor y) {
    return divide_by(times(scaled(x, y.scale), y.unit), y.square);
}

/* One element, a divisor of such, and a column's factor: the number, and i times its conjugate; for linalg_columns.h,
 * where rows of one matrix lie in the lanes, real and imaginary parts in turns. */
typedef double Element __attribute__((vector_size(16)));
typedef struct {
    Element real, imaginary, square, scale;
} ElementDivisor;
typedef struct {
    Lane straight, crossed;
} Factor;
#if LANES == 8
INLINE Element element_at(Lane lanes, int row) {
    switch (row) {
    case 0: return _mm512_castpd512_pd128(lanes);
    case 1: return _mm512_extractf64x2_pd(lanes, 1);
    case 2: return _mm512_extractf64x2_pd(lanes, 2);
    default: return _mm512_extractf64x2_pd(lanes, 3);
    }
}
INLINE Lane repeated_element(Element x) { return _mm512_broadcast_f64x2(x); }
INLINE Lane both_real(Lane x) { return _mm512_movedup_pd(x); }
INLINE Lane both_imaginary(Lane x) { return _mm512_permute_pd(x, 0xff); }
#elif LANES == 4
INLINE Element element_at(Lane lanes, int row) {
    return row == 0 ? _mm256_castpd256_pd128(lanes) : _mm256_extractf128_pd(lanes, 1);
}
INLINE Lane repeated_element(Element x) { return _mm256_set_m128d(x, x); }
INLINE Lane both_real(Lane x) { return _mm256_movedup_pd(x); }
INLINE Lane both_imaginary(Lane x) { return _mm256_permute_pd(x, 0xf); }
#else
INLINE Element element_at(Lane lanes, int row) { return (void)row, lanes; }
INLINE Lane repeated_element(Element x) { return x; }
INLINE Lane both_real(Lane x) { return (Lane){x[0], x[0]}; }
INLINE Lane both_imaginary(Lane x) { return (Lane){x[1], x[1]}; }
#endif
INLINE Element element_of(Number x) { return (Element){x.re[0], x.im[0]}; } /* the same in all lanes, there and back */
INLINE Number number_of(Element x) { return (Number){broadcast(x[0]), broadcast(x[1])}; }
INLINE ElementDivisor divisor_at(Divisor rows, int row) {
    const double re = rows.unit.re[row], im = rows.unit.im[row], square = rows.square[row], scale = rows.scale[row];
    return (ElementDivisor){{re, re}, {im, -im}, {square, square}, {scale, scale}};
}
INLINE Element divide_element(Element x, ElementDivisor y) {
    const Element near = x * y.scale, crossed = {near[1], near[0]};
    return (near * y.real + crossed * y.imaginary) / y.square;
}
INLINE Factor factor_of(Element x) {
    const Element crossed = {x[1], -x[0]};
    return (Factor){repeated_element(x), repeated_element(crossed)};
}
INLINE Lane repeated(Factor factor) { return factor.straight; }
INLINE Lane subtract_column(Lane x, Lane column, Factor factor) {
    return x - both_real(column) * factor.straight + both_imaginary(column) * factor.crossed;
}

#endif
