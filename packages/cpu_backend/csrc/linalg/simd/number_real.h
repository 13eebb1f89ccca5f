/* What linalg_*.h needs to know about a matrix element that is real; number_complex.h has the same names. */
#ifndef TENSOR_CPU_NUMBER_H
#define TENSOR_CPU_NUMBER_H

#include "linalg/simd/lane.h"

typedef Lane Number;
enum { PARTS = 1 }; /* doubles in an element */

INLINE Number number(Lane real) { return real; }
INLINE Lane real_part(Number x) { return x; }
INLINE Number conjugate(Number x) { return x; }
INLINE Number minus(Number x) { return -x; }
INLINE Number scaled(Number x, Lane factor) { return x * factor; }
INLINE Number divide_by_real(Number x, Lane y) { return x / y; }
INLINE Number divide_by(Number x, Quotient y) { return quotient(x, y); }
INLINE Number times(Number x, Number y) { return x * y; }
INLINE Number times_in_order(Number x, Number y) { return fused(x, y, broadcast(0.0)); } /* never into a sum */
INLINE Number subtract(Number x, Number y) { return x - y; }
INLINE Number add_product(Number sum, Number x, Number y) { return sum + x * y; }
INLINE Number subtract_product(Number sum, Number x, Number y) { return sum - x * y; }
INLINE Number choose(Mask mask, Number yes, Number no) { return pick(mask, yes, no); }
INLINE Number choose_whole(Bits mask, Number yes, Number no) { return pick_whole(mask, yes, no); }

/* |x|², and a sum of such squares. */
INLINE Lane add_square(Lane sum, Number x) { return fused(x, x, sum); }

/* A sum of products conj(x) y: even and odd rows apart, so that fewer wait for one another. */
typedef struct {
    Lane even, odd;
} InnerProduct;
INLINE void add_inner(InnerProduct *sums, Number x, Number y) { sums->even = fused(x, y, sums->even); }
INLINE void add_odd_inner(InnerProduct *sums, Number x, Number y) { sums->odd = fused(x, y, sums->odd); }
INLINE Number inner_product(const InnerProduct *sums) { return sums->even + sums->odd; }

INLINE Lane square_of_imaginary(Number x) { return (void)x, broadcast(0.0); }
INLINE Number reciprocal(Number x) { return inverse(x); } /* of sizes far from the ends of the range */

/* A size that is cheap: LAPACK compares the sum of the parts where it looks for a pivot. */
INLINE Lane rough_size(Number x) { return size_of(x); }
INLINE Lane largest_part(Number x) { return size_of(x); }

/* Division of several numbers by one. */
typedef Lane Divisor;
INLINE Divisor divisor(Number x) { return x; }
INLINE Number divide(Number x, Divisor y) { return x / y; }

/* The same with one division for all; for linalg_whole.h. */
typedef Quotient PivotDivisor;
INLINE PivotDivisor pivot_divisor(Number x) { return quotient_by(x); }
INLINE Number divide_by_pivot(Number x, PivotDivisor y) { return quotient(x, y); }

/* One element, a divisor of such, and a column's factor; for linalg_columns.h. */
typedef double Element;
typedef double ElementDivisor;
typedef Lane Factor;
INLINE Element element_at(Lane lanes, int row) { return lanes[row]; }
INLINE Element element_of(Number x) { return x[0]; } /* the same in all lanes, there and back */
INLINE Number number_of(Element x) { return broadcast(x); }
INLINE ElementDivisor divisor_at(Divisor rows, int row) { return rows[row]; }
INLINE Element divide_element(Element x, ElementDivisor y) { return x / y; }
INLINE Factor factor_of(Element x) { return broadcast(x); }
INLINE Lane repeated(Factor factor) { return factor; }
INLINE Lane subtract_column(Lane x, Lane column, Factor factor) { return x - column * factor; }

#endif
