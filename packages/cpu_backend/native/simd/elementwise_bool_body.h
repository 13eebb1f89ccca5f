/* Loops for Bool, one byte of 0 or 1 per element. Sums are the logical or, products the logical and. */
#define OPERATION bitwise_and
#define FORMULA a[i] & b[i]
#include "elementwise_loop.h"

#define OPERATION bitwise_or
#define FORMULA a[i] | b[i]
#include "elementwise_loop.h"

#define OPERATION bitwise_xor
#define FORMULA a[i] ^ b[i]
#include "elementwise_loop.h"

#define OPERATION equal
#define FORMULA a[i] == b[i]
#include "elementwise_loop.h"

#define OPERATION less
#define FORMULA a[i] < b[i]
#include "elementwise_loop.h"

#define OPERATION less_equal
#define FORMULA a[i] <= b[i]
#include "elementwise_loop.h"

#define OPERATION greater
#define FORMULA a[i] > b[i]
#include "elementwise_loop.h"

#define OPERATION greater_equal
#define FORMULA a[i] >= b[i]
#include "elementwise_loop.h"

#define OPERATION invert
#define FORMULA a[i] == 0
#include "elementwise_loop.h"

#undef T
#undef SUFFIX
