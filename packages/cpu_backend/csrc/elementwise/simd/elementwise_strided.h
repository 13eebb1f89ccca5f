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
#define T float
#define SUFFIX c32
#define BITS uint32_t
#define PAIR PairF32
#define PAIRS PairsF32
#define SIDE 8
#define BLOCK block_8
#include "elementwise/simd/elementwise_turned_pairs.h"
#define T double
#define SUFFIX c64
#define BITS uint64_t
#define PAIR PairF64
#define PAIRS PairsF64
#define SIDE 4
#define BLOCK block_16
#include "elementwise/simd/elementwise_turned_pairs.h"
