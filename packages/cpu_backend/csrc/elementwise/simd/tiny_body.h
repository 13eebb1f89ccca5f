/* Loops for one element type.
 *
 * The includer defines T, the type that is computed in (unsigned for integers, so that overflow wraps), NAME(f), and
 * REAL, COMPLEX or INTEGER, the kind; for integers also S, the signed type that is compared.
 */

/* Complex products are written out, as NumPy's are: the operator of C takes a second look at NaN (C11, annex G) and
 * makes infinities of some. */
static inline T NAME(times)(T x, T y) {
#ifdef COMPLEX
    T product;
    __real__ product = __real__ x * __real__ y - __imag__ x * __imag__ y;
    __imag__ product = __real__ x * __imag__ y + __imag__ x * __real__ y;
    return product;
#else
    return x * y;
#endif
}

#define OPERATION add
#define FORMULA x + y
#include "elementwise/simd/tiny_loop.h"

#define OPERATION subtract
#define FORMULA x - y
#include "elementwise/simd/tiny_loop.h"

#define OPERATION multiply
#define FORMULA NAME(times)(x, y)
#include "elementwise/simd/tiny_loop.h"

#define OPERATION equal
#define RESULT uint8_t
#define FORMULA x == y
#include "elementwise/simd/tiny_loop.h"

#define OPERATION not_equal
#define RESULT uint8_t
#define FORMULA x != y
#include "elementwise/simd/tiny_loop.h"

#ifdef REAL
#define OPERATION divide
#define FORMULA x / y
#include "elementwise/simd/tiny_loop.h"

#define OPERATION maximum
#define FORMULA NAME(max_propagate_nan)(x, y)
#include "elementwise/simd/tiny_loop.h"

#define OPERATION minimum
#define FORMULA NAME(min_propagate_nan)(x, y)
#include "elementwise/simd/tiny_loop.h"

#define OPERATION less
#define RESULT uint8_t
#define FORMULA x < y
#include "elementwise/simd/tiny_loop.h"

#define OPERATION less_equal
#define RESULT uint8_t
#define FORMULA x <= y
#include "elementwise/simd/tiny_loop.h"
#endif

#ifdef INTEGER
#define OPERATION maximum
#define OPERAND S
#define FORMULA x > y ? x : y
#include "elementwise/simd/tiny_loop.h"

#define OPERATION minimum
#define OPERAND S
#define FORMULA x < y ? x : y
#include "elementwise/simd/tiny_loop.h"

#define OPERATION less
#define OPERAND S
#define RESULT uint8_t
#define FORMULA x < y
#include "elementwise/simd/tiny_loop.h"

#define OPERATION less_equal
#define OPERAND S
#define RESULT uint8_t
#define FORMULA x <= y
#include "elementwise/simd/tiny_loop.h"
#endif

static void NAME(negative)(const void *a, void *out, Index count) {
    const T *x = a;
    for (Index i = 0; i < count; i++) ((T *)out)[i] = -x[i];
}

#ifndef COMPLEX
static void NAME(absolute)(const void *a, void *out, Index count) {
#ifdef REAL
    const T *x = a;
    for (Index i = 0; i < count; i++)
        ((T *)out)[i] = sizeof(T) == 4 ? (T)__builtin_fabsf((float)x[i]) : (T)__builtin_fabs(x[i]);
#else
    const S *x = a;
    for (Index i = 0; i < count; i++) ((T *)out)[i] = x[i] < 0 ? -(T)x[i] : (T)x[i];
#endif
}
#endif

#ifdef REAL
static void NAME(sqrt)(const void *a, void *out, Index count) {
    const T *x = a;
    for (Index i = 0; i < count; i++)
        ((T *)out)[i] = sizeof(T) == 4 ? (T)__builtin_sqrtf((float)x[i]) : (T)__builtin_sqrt(x[i]);
}
#endif

/* Rows of the result are sums of rows of the right operand, four columns at a time; that operand is packed first when
 * its columns are not contiguous. */
static void NAME(product)(const TinyProduct *p, const void *left, const void *right, void *out) {
    enum { WIDTH = 4 };
    T panel[TINY_PANEL];
    for (Index batch = 0; batch < p->batches; batch++) {
        const T *a = (const T *)left + batch * p->left_batch;
        const T *b = (const T *)right + batch * p->right_batch;
        Index b_inner = p->right_inner;
        if (p->right_column != 1) {
            for (Index k = 0; k < p->inner; k++)
                for (Index m = 0; m < p->columns; m++)
                    panel[k * p->columns + m] = b[k * p->right_inner + m * p->right_column];
            b = panel;
            b_inner = p->columns;
        }
        for (Index n = 0; n < p->rows; n++) {
            const T *row = a + n * p->left_row;
            T *c = (T *)out + batch * p->out_batch + n * p->out_row;
            Index m = 0;
            for (; m + WIDTH <= p->columns; m += WIDTH) {
                T sums[WIDTH] = {0};
                for (Index k = 0; k < p->inner; k++)
                    for (int i = 0; i < WIDTH; i++)
                        sums[i] += NAME(times)(row[k * p->left_inner], b[k * b_inner + m + i]);
                for (int i = 0; i < WIDTH; i++) c[m + i] = sums[i];
            }
            for (; m < p->columns; m++) {
                T sum = 0;
                for (Index k = 0; k < p->inner; k++) sum += NAME(times)(row[k * p->left_inner], b[k * b_inner + m]);
                c[m] = sum;
            }
        }
    }
}
