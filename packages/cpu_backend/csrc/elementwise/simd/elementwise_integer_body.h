/* Loops for integers: T with the suffix SUFFIX, whose unsigned counterpart is WRAPPING. Arithmetic wraps; shifts by
 * the width of T or more, and by negative counts, move everything out, as NumPy's do.
 */
#define OPERATION add
#define FORMULA (WRAPPING) a[i] + (WRAPPING)b[i]
#include "elementwise/simd/elementwise_loop.h"

#define OPERATION subtract
#define FORMULA (WRAPPING) a[i] - (WRAPPING)b[i]
#include "elementwise/simd/elementwise_loop.h"

#define OPERATION multiply
#define FORMULA (WRAPPING) a[i] * (WRAPPING)b[i]
#include "elementwise/simd/elementwise_loop.h"

#define OPERATION maximum
#define FORMULA a[i] > b[i] ? a[i] : b[i]
#include "elementwise/simd/elementwise_loop.h"

#define OPERATION minimum
#define FORMULA a[i] < b[i] ? a[i] : b[i]
#include "elementwise/simd/elementwise_loop.h"

static inline T NAME(clipped)(T x, T low, T high) {
    const T above = x > low ? x : low;
    return above < high ? above : high;
}
#define OPERATION clip
#define FORMULA NAME(clipped)(a[i], b[i], c[i])
#include "elementwise/simd/elementwise_loop.h"

#include "elementwise/simd/elementwise_comparisons.h"

#define OPERATION bitwise_and
#define FORMULA a[i] & b[i]
#include "elementwise/simd/elementwise_loop.h"

#define OPERATION bitwise_or
#define FORMULA a[i] | b[i]
#include "elementwise/simd/elementwise_loop.h"

#define OPERATION bitwise_xor
#define FORMULA a[i] ^ b[i]
#include "elementwise/simd/elementwise_loop.h"

#define OPERATION left_shift
#define FORMULA (WRAPPING) b[i] < 8 * sizeof(T) ? (WRAPPING)a[i] << ((WRAPPING)b[i] & (8 * sizeof(T) - 1)) : 0
#include "elementwise/simd/elementwise_loop.h"

#define OPERATION right_shift
#define FORMULA a[i] >> ((WRAPPING)b[i] < 8 * sizeof(T) ? b[i] : (T)(8 * sizeof(T) - 1))
#include "elementwise/simd/elementwise_loop.h"

#define OPERATION negative
#define FORMULA -(WRAPPING)a[i]
#include "elementwise/simd/elementwise_loop.h"

#define OPERATION absolute
#define FORMULA a[i] < 0 ? -(WRAPPING)a[i] : (WRAPPING)a[i]
#include "elementwise/simd/elementwise_loop.h"

#define OPERATION sign
#define FORMULA (a[i] > 0) - (a[i] < 0)
#include "elementwise/simd/elementwise_loop.h"

#define OPERATION invert
#define FORMULA ~a[i]
#include "elementwise/simd/elementwise_loop.h"

#undef T
#undef SUFFIX
#undef WRAPPING
