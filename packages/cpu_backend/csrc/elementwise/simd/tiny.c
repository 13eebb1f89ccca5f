/* The loops of tiny.h for every element type; plain C that the compiler vectorises for each instruction set. */
#include "elementwise/tiny.h"

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

const TinyKernels
    SIMD_NAME(tiny_kernels) = {
        .binary =
            {
                [F32] = {add_f32, subtract_f32, multiply_f32, divide_f32, maximum_f32, minimum_f32, equal_f32,
                         not_equal_f32, less_f32, less_equal_f32},
                [F64] = {add_f64, subtract_f64, multiply_f64, divide_f64, maximum_f64, minimum_f64, equal_f64,
                         not_equal_f64, less_f64, less_equal_f64},
                [C32] = {add_c32, subtract_c32, multiply_c32, NULL, NULL, NULL, equal_c32, not_equal_c32, NULL, NULL},
                [C64] = {add_c64, subtract_c64, multiply_c64, NULL, NULL, NULL, equal_c64, not_equal_c64, NULL, NULL},
                [I32] = {add_i32, subtract_i32, multiply_i32, NULL, maximum_i32, minimum_i32, equal_i32, not_equal_i32,
                         less_i32, less_equal_i32},
                [I64] = {add_i64, subtract_i64, multiply_i64, NULL, maximum_i64, minimum_i64, equal_i64, not_equal_i64,
                         less_i64, less_equal_i64},
            },
        .unary =
            {
                [F32] = {negative_f32, absolute_f32, square_root_f32},
                [F64] = {negative_f64, absolute_f64, square_root_f64},
                [C32] = {negative_c32, NULL, NULL},
                [C64] = {negative_c64, NULL, NULL},
                [I32] = {negative_i32, absolute_i32, NULL},
                [I64] = {negative_i64, absolute_i64, NULL},
            },
        .product = {[F32] = product_f32,
                    [F64] = product_f64,
                    [C32] = product_c32,
                    [C64] = product_c64,
                    [I32] = product_i32,
                    [I64] = product_i64},
};
