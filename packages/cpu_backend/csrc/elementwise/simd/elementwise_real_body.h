/* Loops for real floating-point elements: T with the suffix SUFFIX, of which FUNCTION(f) is the C function.
 *
 * maximum and minimum are those of nan_rules.h, here as in tiny_body.h.
 */
#define OPERATION add
#define FORMULA a[i] + b[i]
#include "elementwise/simd/elementwise_loop.h"

#define OPERATION subtract
#define FORMULA a[i] - b[i]
#include "elementwise/simd/elementwise_loop.h"

#define OPERATION multiply
#define FORMULA a[i] * b[i]
#include "elementwise/simd/elementwise_loop.h"

#define OPERATION divide
#define FORMULA a[i] / b[i]
#include "elementwise/simd/elementwise_loop.h"

#define OPERATION maximum
#define FORMULA SIMD_JOIN(max_propagate_nan, SUFFIX)(a[i], b[i])
#include "elementwise/simd/elementwise_loop.h"

#define OPERATION minimum
#define FORMULA SIMD_JOIN(min_propagate_nan, SUFFIX)(a[i], b[i])
#include "elementwise/simd/elementwise_loop.h"

/* minimum(maximum(x, low), high), with the question about NaN last: else GCC makes masks of every choice. */
static inline T NAME(clipped)(T x, T low, T high) {
    const T above = x > low ? x : low;
    T chosen = above < high ? above : high;
    chosen = low != low ? low : chosen;
    return x != x ? x : chosen;
}
#define OPERATION clip
#define FORMULA NAME(clipped)(a[i], b[i], c[i])
#include "elementwise/simd/elementwise_loop.h"

#include "elementwise/simd/elementwise_comparisons.h"

#define OPERATION negative
#define FORMULA -a[i]
#include "elementwise/simd/elementwise_loop.h"

#define OPERATION absolute
#define FORMULA FUNCTION(fabs)(a[i])
#include "elementwise/simd/elementwise_loop.h"

#define OPERATION sign
#define FORMULA a[i] > 0 ? 1 : a[i] < 0 ? -1 : a[i] == 0 ? 0 : a[i]
#include "elementwise/simd/elementwise_loop.h"

#define OPERATION sqrt
#define FORMULA FUNCTION(sqrt)(a[i])
#include "elementwise/simd/elementwise_loop.h"

#define OPERATION cube
#define FORMULA a[i] * a[i] * a[i]
#include "elementwise/simd/elementwise_loop.h"

#define OPERATION logistic_loop
#define FORMULA SIMD_JOIN(logistic, SUFFIX)(a[i])
#include "elementwise/simd/elementwise_loop.h"

#define OPERATION silu
#define FORMULA SIMD_JOIN(gate, SUFFIX)(a[i], a[i])
#include "elementwise/simd/elementwise_loop.h"

/* (1 + tanh(u)) / 2 is the logistic function of 2 u, which loses nothing below 0. */
#define OPERATION gelu_tanh
#define FORMULA SIMD_JOIN(gate, SUFFIX)(a[i], a[i] * (a[i] * a[i] * (T)0.07135481627260025 + (T)1.5957691216057308))
#include "elementwise/simd/elementwise_loop.h"

#define OPERATION floor
#define FORMULA FUNCTION(floor)(a[i])
#include "elementwise/simd/elementwise_loop.h"

#define OPERATION ceil
#define FORMULA FUNCTION(ceil)(a[i])
#include "elementwise/simd/elementwise_loop.h"

#define OPERATION trunc
#define FORMULA FUNCTION(trunc)(a[i])
#include "elementwise/simd/elementwise_loop.h"

#define OPERATION round
#define FORMULA FUNCTION(rint)(a[i])
#include "elementwise/simd/elementwise_loop.h"

#define RESULT uint8_t
#define OPERATION isnan
#define FORMULA a[i] != a[i]
#include "elementwise/simd/elementwise_loop.h"

#define RESULT uint8_t
#define OPERATION isinf
#define FORMULA FUNCTION(fabs)(a[i]) == (T)INFINITY
#include "elementwise/simd/elementwise_loop.h"

#define RESULT uint8_t
#define OPERATION isfinite
#define FORMULA FUNCTION(fabs)(a[i]) < (T)INFINITY
#include "elementwise/simd/elementwise_loop.h"

#define OPERATION copysign
#define FORMULA FUNCTION(copysign)(a[i], b[i])
#include "elementwise/simd/elementwise_loop.h"

/* As C's: numbers of one sign are as far from 0 as their bits say, so the next one has one more or one less. */
static inline T NAME(next)(T from, T to) {
    BITS bits, target;
    memcpy(&bits, &from, sizeof bits);
    memcpy(&target, &to, sizeof target);
    const BITS sign = (BITS)1 << (8 * sizeof(BITS) - 1), least = (target & sign) | 1;
    BITS next = bits + ((from < to) == (from > 0) ? (BITS)1 : (BITS)-1);
    next = from == 0 ? least : next;
    next = from == to ? target : next;
    T found;
    memcpy(&found, &next, sizeof found);
    return (from != from) | (to != to) ? from + to : found;
}
#define OPERATION nextafter
#define FORMULA NAME(next)(a[i], b[i])
#include "elementwise/simd/elementwise_loop.h"

/* Whether x and y differ by absolute + relative |y| at most, or are one infinity. */
static void NAME(near)(Index n, void *result, const void *first, const void *second, Third third) {
    uint8_t *d = result;
    const T *x = first, *y = second, *relative = third.both[0], *absolute = third.both[1];
    for (Index i = 0; i < n; i++) {
        const T size = FUNCTION(fabs)(y[i]), bound = size * relative[i] + absolute[i];
        d[i] = ((FUNCTION(fabs)(x[i] - y[i]) <= bound) & (size < (T)INFINITY)) | (x[i] == y[i]);
    }
}

#include "elementwise/simd/elementwise_remainders.h"

#undef T
#undef SUFFIX
#undef BITS
#undef FUNCTION
