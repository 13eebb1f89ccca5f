/* Applies elementary functions to blocks; see ../vectormath.h. */
#include "elementwise/vectormath.h"

#include "elementwise/simd/exponential_types.h"
#include "elementwise/simd/complex_functions.h"

#define NAME(f) SIMD_JOIN(f, SUFFIX)

#if defined(__AVX512F__)
enum { BITS = 512 };
#elif defined(__AVX2__)
enum { BITS = 256 };
#else
enum { BITS = 0 };
#endif

#if defined(__AVX2__)
typedef float Floats __attribute__((vector_size(BITS / 8)));
typedef double Doubles __attribute__((vector_size(BITS / 8)));
#define VECTOR Floats
#define LANES (BITS / 32)
#endif
#define T float
#define SUFFIX f32
#include "elementwise/simd/vectormath_body.h"

#if defined(__AVX2__)
#define VECTOR Doubles
#define LANES (BITS / 64)
#endif
#define T double
#define SUFFIX f64
#include "elementwise/simd/vectormath_body.h"

#if defined(__AVX512F__)
#include "elementwise/simd/vector_functions.h"
#endif

#if defined(__AVX2__) && !defined(__AVX512F__)
static void hyperbolic_tangents(Index n, void *result, const void *first, const void *second, Third third) {
    double *d = result;
    const double *a = first;
    (void)second, (void)third;
    INDEPENDENT
    for (Index i = 0; i < n; i++) {
        double above, below, rest;
        hyperbolic_tangent_parts_f64(a[i], &above, &below, &rest);
        d[i] = copysign(above / below + rest, a[i]);
    }
}
#endif

COMPLEX_LOOP(complex_exp_c32, float, exp_parts, EXP_ORDINARY, cexp)
COMPLEX_LOOP(complex_exp_c64, double, exp_parts, EXP_ORDINARY, cexp)
COMPLEX_LOOP(complex_sin_c32, float, sin_parts, SIN_ORDINARY, csin)
COMPLEX_LOOP(complex_sin_c64, double, sin_parts, SIN_ORDINARY, csin)
COMPLEX_LOOP(complex_cos_c32, float, cos_parts, SIN_ORDINARY, ccos)
COMPLEX_LOOP(complex_cos_c64, double, cos_parts, SIN_ORDINARY, ccos)
COMPLEX_LOOP(complex_tan_c32, float, tan_parts, SIN_ORDINARY, ctan)
COMPLEX_LOOP(complex_tan_c64, double, tan_parts, SIN_ORDINARY, ctan)
COMPLEX_LOOP(complex_sinh_c32, float, sinh_parts, SINH_ORDINARY, csinh)
COMPLEX_LOOP(complex_sinh_c64, double, sinh_parts, SINH_ORDINARY, csinh)
COMPLEX_LOOP(complex_cosh_c32, float, cosh_parts, SINH_ORDINARY, ccosh)
COMPLEX_LOOP(complex_cosh_c64, double, cosh_parts, SINH_ORDINARY, ccosh)
COMPLEX_LOOP(complex_tanh_c32, float, tanh_parts, SINH_ORDINARY, ctanh)
COMPLEX_LOOP(complex_tanh_c64, double, tanh_parts, SINH_ORDINARY, ctanh)

const MathKernels SIMD_NAME(math_kernels) = {
    .bits = BITS,
    .of_complex =
        {
            [EXP] = {complex_exp_c32, complex_exp_c64},
            [SIN] = {complex_sin_c32, complex_sin_c64},
            [COS] = {complex_cos_c32, complex_cos_c64},
            [TAN] = {complex_tan_c32, complex_tan_c64},
            [SINH] = {complex_sinh_c32, complex_sinh_c64},
            [COSH] = {complex_cosh_c32, complex_cosh_c64},
            [TANH] = {complex_tanh_c32, complex_tanh_c64},
        },
    .scalar = {{scalar_one_f32, scalar_one_f64}, {scalar_two_f32, scalar_two_f64}},
#if defined(__AVX512F__)
    .own = {[EXP] = {exp_sixteens_ps, exp_eights_pd},
            [LOG] = {NULL, log_eights_pd},
            [TANH] = {tanh_sixteens_ps, tanh_eights_pd},
            [POW] = {power_sixteens, NULL}},
#elif defined(__AVX2__)
    .own = {[TANH] = {NULL, hyperbolic_tangents}},
#endif
#if defined(__AVX2__)
    .vector = {{vector_one_f32, vector_one_f64}, {vector_two_f32, vector_two_f64}},
#endif
};
