/* Running sums and products of elements of type T, computed as WRAPPING, from the first element to the last. */

#define SCAN cumsum
#define JOIN(x, y) ((T)((WRAPPING)(x) + (WRAPPING)(y)))
#include "lines/simd/scans_loop.h"

#define SCAN cumprod
#define JOIN(x, y) ((T)((WRAPPING)(x) * (WRAPPING)(y)))
#include "lines/simd/scans_loop.h"
