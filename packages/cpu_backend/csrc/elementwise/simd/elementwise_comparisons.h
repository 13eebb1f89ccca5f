/* Comparisons of two numbers that have an order. */
#define RESULT uint8_t
#define OPERATION equal
#define FORMULA a[i] == b[i]
#include "elementwise/simd/elementwise_loop.h"

#define RESULT uint8_t
#define OPERATION not_equal
#define FORMULA a[i] != b[i]
#include "elementwise/simd/elementwise_loop.h"

#define RESULT uint8_t
#define OPERATION less
#define FORMULA a[i] < b[i]
#include "elementwise/simd/elementwise_loop.h"

#define RESULT uint8_t
#define OPERATION less_equal
#define FORMULA a[i] <= b[i]
#include "elementwise/simd/elementwise_loop.h"

#define RESULT uint8_t
#define OPERATION greater
#define FORMULA a[i] > b[i]
#include "elementwise/simd/elementwise_loop.h"

#define RESULT uint8_t
#define OPERATION greater_equal
#define FORMULA a[i] >= b[i]
#include "elementwise/simd/elementwise_loop.h"
