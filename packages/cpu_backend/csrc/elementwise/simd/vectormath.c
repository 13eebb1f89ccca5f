/* Applies elementary functions to blocks; see ../vectormath.h. */
#include "elementwise/vectormath.h"

#include "elementwise/simd/exponential_types.h"

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

#if defined(__AVX2__)
static void hyperbolic_tangents(Index n, void *result, const void *first, const void *second, Third third) {
    double *d = result;
    const double *a = first;
    (void)second, (void)third;
    INDEPENDENT
    for (Index i = 0; i < n; i++) d[i] = hyperbolic_tangent_f64(a[i]);
}
#endif

const MathKernels SIMD_NAME(math_kernels) = {
    .bits = BITS,
    .scalar = {{scalar_one_f32, scalar_one_f64}, {scalar_two_f32, scalar_two_f64}},
#if defined(__AVX2__)
    .hyperbolic_tangent = hyperbolic_tangents,
    .vector = {{vector_one_f32, vector_one_f64}, {vector_two_f32, vector_two_f64}},
#endif
};
