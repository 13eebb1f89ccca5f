/* Conversions between element types that are defined for every value: C's own, which are NumPy's.
 *
 * Towards a float type they round to nearest, towards a real one they drop the imaginary part, and Bool is whether the
 * value differs from zero. Conversions to integers that may not fit are not here.
 */
#include "copy/convert.h"

#include <complex.h>

#define FROM float
#define NAME(to) f32_to_##to
#define FLOATING_ONLY
#include "copy/simd/convert_body.h"

#define FROM double
#define NAME(to) f64_to_##to
#define FLOATING_ONLY
#include "copy/simd/convert_body.h"

#define FROM float _Complex
#define NAME(to) c32_to_##to
#define FLOATING_ONLY
#include "copy/simd/convert_body.h"

#define FROM double _Complex
#define NAME(to) c64_to_##to
#define FLOATING_ONLY
#include "copy/simd/convert_body.h"

#define FROM int32_t
#define NAME(to) i32_to_##to
#include "copy/simd/convert_body.h"

#define FROM int64_t
#define NAME(to) i64_to_##to
#include "copy/simd/convert_body.h"

#define FROM uint8_t /* a Bool: true is whatever is not 0 */
#define VALUE(x) ((x) != 0)
#define NAME(to) bool_to_##to
#include "copy/simd/convert_body.h"

const ConvertKernels SIMD_NAME(convert_kernels) = {
    .loop =
        {
            [F32] = {[F64] = f32_to_f64, [C32] = f32_to_c32, [C64] = f32_to_c64, [BOOL] = f32_to_bool},
            [F64] = {[F32] = f64_to_f32, [C32] = f64_to_c32, [C64] = f64_to_c64, [BOOL] = f64_to_bool},
            [C32] = {[F32] = c32_to_f32, [F64] = c32_to_f64, [C64] = c32_to_c64, [BOOL] = c32_to_bool},
            [C64] = {[F32] = c64_to_f32, [F64] = c64_to_f64, [C32] = c64_to_c32, [BOOL] = c64_to_bool},
            [I32] = {[F32] = i32_to_f32,
                     [F64] = i32_to_f64,
                     [C32] = i32_to_c32,
                     [C64] = i32_to_c64,
                     [I64] = i32_to_i64,
                     [BOOL] = i32_to_bool},
            [I64] =
                {[F32] = i64_to_f32, [F64] = i64_to_f64, [C32] = i64_to_c32, [C64] = i64_to_c64, [BOOL] = i64_to_bool},
            [BOOL] = {[F32] = bool_to_f32,
                      [F64] = bool_to_f64,
                      [C32] = bool_to_c32,
                      [C64] = bool_to_c64,
                      [I32] = bool_to_i32,
                      [I64] = bool_to_i64},
        },
};
