/* exponential.h for F32 and for F64, by the names of NAME(). With UNFUSED, each operation rounds, whatever the processor
 * has. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define NAME(f) SIMD_JOIN(f, SUFFIX)

#define T float
#define SUFFIX f32
#define BITS uint32_t
#define FUNCTION(f) f##f
#define IS_DOUBLE 0
#if defined(__FMA__) && !defined(UNFUSED)
#define FMA(x, y, z) __builtin_fmaf(x, y, z)
#else
#define FMA(x, y, z) ((x) * (y) + (z))
#endif
#define SHIFTER 0x1.8p23f
#define BIAS 127
#define MANTISSA 23
#define GREATEST 89.0f
#define LEAST -104.0f
#define LARGEST 0x1.fffffep127f
#define LN2_HIGH 6.9313812256e-01f
#define LN2_LOW 9.0580006145e-06f
#include "elementwise/simd/exponential.h"
#include "elementwise/simd/exponential_end.h"

#define T double
#define SUFFIX f64
#define BITS uint64_t
#define FUNCTION(f) f
#define IS_DOUBLE 1
#if defined(__FMA__) && !defined(UNFUSED)
#define FMA(x, y, z) __builtin_fma(x, y, z)
#else
#define FMA(x, y, z) ((x) * (y) + (z))
#endif
#define SHIFTER 0x1.8p52
#define BIAS 1023
#define MANTISSA 52
#define GREATEST 710.0
#define LEAST -746.0
#define LARGEST 0x1.fffffffffffffp1023
#define LN2_HIGH 6.93147180369123816490e-01
#define LN2_LOW 1.90821492927058770002e-10
#include "elementwise/simd/exponential.h"
#include "elementwise/simd/exponential_end.h"

#undef NAME
