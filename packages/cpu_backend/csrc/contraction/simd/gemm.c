/* The loops of the scatter GEMM (gemm.h, ../gemm.c): products of packed panels, with a tile of the result in registers.
 *
 * A tile is three vectors by eight columns with AVX-512, three by four with AVX2 (half as many columns of complex
 * elements), so that it fills three quarters of the registers; F. G. Van Zee and R. A. van de Geijn, "BLIS", 2015.
 */
#include "contraction/gemm.h"
#include "reduction/simd/sums.h"

#if defined(__AVX512F__)
enum { TILE_VECTORS = 3, TILE_COLUMNS = 8 };
#elif defined(__AVX2__)
enum { TILE_VECTORS = 3, TILE_COLUMNS = 4 };
#else
enum { TILE_VECTORS = 2, TILE_COLUMNS = 4 };
#endif

_Static_assert(TILE_VECTORS <= 3, "multiply() in gemm_body.h has a case for each height of a tile");

#define BODY "contraction/simd/gemm_body.h"
#include "core/simd/every_type.h"

const GemmKernels SIMD_NAME(gemm_kernels) = {{
    [F32] = {multiply_f32, LANES_f32, ROWS_f32, COLUMNS_f32},
    [F64] = {multiply_f64, LANES_f64, ROWS_f64, COLUMNS_f64},
    [C32] = {multiply_c32, LANES_c32, ROWS_c32, COLUMNS_c32},
    [C64] = {multiply_c64, LANES_c64, ROWS_c64, COLUMNS_c64},
    [I32] = {multiply_i32, LANES_i32, ROWS_i32, COLUMNS_i32},
    [I64] = {multiply_i64, LANES_i64, ROWS_i64, COLUMNS_i64},
    [BOOL] = {multiply_bool, LANES_bool, ROWS_bool, COLUMNS_bool},
}};
