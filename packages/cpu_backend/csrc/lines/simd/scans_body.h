/* Running sums and products of elements of type S, as T, computed as WRAPPING, from the first element to the last; those
 * of COMPLEX elements, which are vectors of two, by PAIR_PRODUCT. */

#if defined(TRUTHS) /* any byte but 0 is true */
#define READ(x) ((T)((x) != 0))
#else
#define READ(x) ((T)(x))
#endif

#define SCAN cumsum
#define JOIN(x, y) ((T)((WRAPPING)(x) + (WRAPPING)(y)))
#include "lines/simd/scans_loop.h"

#define SCAN cumprod
#if defined(COMPLEX)
#define JOIN(x, y) PAIR_PRODUCT(y, x)
#else
#define JOIN(x, y) ((T)((WRAPPING)(x) * (WRAPPING)(y)))
#endif
#include "lines/simd/scans_loop.h"
#undef READ
