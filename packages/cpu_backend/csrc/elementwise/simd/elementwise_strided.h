/* Operations on operands that do not lie as the result does, of every type that has them. */
#define T float
#define SUFFIX f32
#define WRAPPING float
#include "elementwise/simd/elementwise_steps.h"
#define T double
#define SUFFIX f64
#define WRAPPING double
#include "elementwise/simd/elementwise_steps.h"
#define WHOLE
#define T int32_t
#define SUFFIX i32
#define WRAPPING uint32_t
#include "elementwise/simd/elementwise_steps.h"
#define T int64_t
#define SUFFIX i64
#define WRAPPING uint64_t
#include "elementwise/simd/elementwise_steps.h"
#undef WHOLE

#define T float
#define SUFFIX f32
#define SIDE 16
#define BLOCK block_4
#include "elementwise/simd/elementwise_turned.h"
#define T double
#define SUFFIX f64
#define SIDE 8
#define BLOCK block_8
#include "elementwise/simd/elementwise_turned.h"
