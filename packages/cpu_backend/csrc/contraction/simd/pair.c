/* The loops of the pair kernel (pair.h, ../pair.c): sums of products of two operands, a rectangle of the result at a
 * time, with the sums in registers. */
#include "contraction/pair.h"
#include "reduction/simd/sums.h"

/* Vectors of a block of several rows, so that its sums stay in registers. */
#if defined(__AVX512F__)
enum { VECTORS_OF_ROWS = 4 };
#else
enum { VECTORS_OF_ROWS = 2 };
#endif

#define BODY "contraction/simd/pair_body.h"
#include "core/simd/every_type.h"

const PairKernels SIMD_NAME(pair_kernels) = {{
    [F32] = {scaled_f32, shared_f32, both_f32, tables_f32, runs_f32, pieces_f32},
    [F64] = {scaled_f64, shared_f64, both_f64, tables_f64, runs_f64, pieces_f64},
    [C32] = {scaled_c32, shared_c32, both_c32, tables_c32, runs_c32, pieces_c32},
    [C64] = {scaled_c64, shared_c64, both_c64, tables_c64, runs_c64, pieces_c64},
    [I32] = {scaled_i32, shared_i32, both_i32, tables_i32, runs_i32, pieces_i32},
    [I64] = {scaled_i64, shared_i64, both_i64, tables_i64, runs_i64, pieces_i64},
    [BOOL] = {scaled_bool, shared_bool, both_bool, tables_bool, runs_bool, pieces_bool},
}};
