/* Loops for Bool, one byte per element: true is whatever is not 0, because lent memory may hold any byte; results are 0
 * or 1. Sums are the logical or, products the logical and. */
#define OPERATION bitwise_and
#define FORMULA (a[i] != 0) & (b[i] != 0)
#include "elementwise/simd/elementwise_loop.h"

#define OPERATION bitwise_or
#define FORMULA (a[i] | b[i]) != 0
#include "elementwise/simd/elementwise_loop.h"

#define OPERATION bitwise_xor
#define FORMULA (a[i] != 0) ^ (b[i] != 0)
#include "elementwise/simd/elementwise_loop.h"

#define OPERATION equal
#define FORMULA (a[i] != 0) == (b[i] != 0)
#include "elementwise/simd/elementwise_loop.h"

#define OPERATION less
#define FORMULA (a[i] == 0) & (b[i] != 0)
#include "elementwise/simd/elementwise_loop.h"

#define OPERATION less_equal
#define FORMULA (a[i] == 0) | (b[i] != 0)
#include "elementwise/simd/elementwise_loop.h"

#define OPERATION greater
#define FORMULA (a[i] != 0) & (b[i] == 0)
#include "elementwise/simd/elementwise_loop.h"

#define OPERATION greater_equal
#define FORMULA (a[i] != 0) | (b[i] == 0)
#include "elementwise/simd/elementwise_loop.h"

#define OPERATION invert
#define FORMULA a[i] == 0
#include "elementwise/simd/elementwise_loop.h"

#undef T
#undef SUFFIX
