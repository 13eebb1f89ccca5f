/* The loops of tiny.h for every element type; plain C that the compiler vectorises for each instruction set. */
#include "elementwise/tiny.h"
#include "core/simd/nan_rules.h"

#include <complex.h>

#define T float
#define NAME(f) SIMD_JOIN(f, f32)
#define REAL
#include "elementwise/simd/tiny_body.h"
#undef T
#undef NAME

#define T double
#define NAME(f) SIMD_JOIN(f, f64)
#include "elementwise/simd/tiny_body.h"
#undef T
#undef NAME
#undef REAL

#define T float _Complex
#define NAME(f) SIMD_JOIN(f, c32)
#define COMPLEX
#include "elementwise/simd/tiny_body.h"
#undef T
#undef NAME

#define T double _Complex
#define NAME(f) SIMD_JOIN(f, c64)
#include "elementwise/simd/tiny_body.h"
#undef T
#undef NAME
#undef COMPLEX

#define T uint32_t
#define S int32_t
#define NAME(f) SIMD_JOIN(f, i32)
#define INTEGER
#include "elementwise/simd/tiny_body.h"
#undef T
#undef S
#undef NAME

#define T uint64_t
#define S int64_t
#define NAME(f) SIMD_JOIN(f, i64)
#include "elementwise/simd/tiny_body.h"

#define OF_EVERY_TYPE(s)                                                                                               \
    [ADD] = add_##s, [SUBTRACT] = subtract_##s, [MULTIPLY] = multiply_##s, [EQUAL] = equal_##s,                        \
    [NOT_EQUAL] = not_equal_##s
#define OF_ORDERED_TYPES(s)                                                                                            \
    OF_EVERY_TYPE(s), [MAXIMUM] = maximum_##s, [MINIMUM] = minimum_##s, [LESS] = less_##s, [LESS_EQUAL] = less_equal_##s

const TinyKernels SIMD_NAME(tiny_kernels) = {
    .binary = {[F32] = {OF_ORDERED_TYPES(f32), [DIVIDE] = divide_f32},
               [F64] = {OF_ORDERED_TYPES(f64), [DIVIDE] = divide_f64},
               [C32] = {OF_EVERY_TYPE(c32)},
               [C64] = {OF_EVERY_TYPE(c64)},
               [I32] = {OF_ORDERED_TYPES(i32)},
               [I64] = {OF_ORDERED_TYPES(i64)}},
    .unary = {[F32] = {[NEGATIVE] = negative_f32, [ABSOLUTE] = absolute_f32, [SQRT] = sqrt_f32},
              [F64] = {[NEGATIVE] = negative_f64, [ABSOLUTE] = absolute_f64, [SQRT] = sqrt_f64},
              [C32] = {[NEGATIVE] = negative_c32},
              [C64] = {[NEGATIVE] = negative_c64},
              [I32] = {[NEGATIVE] = negative_i32, [ABSOLUTE] = absolute_i32},
              [I64] = {[NEGATIVE] = negative_i64, [ABSOLUTE] = absolute_i64}},
    .product = {[F32] = product_f32,
                [F64] = product_f64,
                [C32] = product_c32,
                [C64] = product_c64,
                [I32] = product_i32,
                [I64] = product_i64},
};
