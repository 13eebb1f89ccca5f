/* The method of Box and Muller on pairs of words; see ../normal.h.
 *
 * The angle lies between 0 and pi / 4, where the polynomials of fdlibm give sine and cosine within one rounding unit; the
 * logarithm is within two, so that a number is within the four that are promised. Every operation rounds by itself: the
 * same bits on every processor.
 */
#include "random/normal.h"

#define UNFUSED
#include "elementwise/simd/exponential_types.h"

/* (digits + 1/2) / 2^52 of digits below 2^52; exact. */
INLINE double fraction(uint64_t digits) { return (of_bits_f64(digits | 0x4330000000000000) - 0x1p52 + 0.5) * 0x1p-52; }

INLINE double sine(double a, double square) {
    double p = multiply_add_f64(square, 1.58969099521155010221e-10, -2.50507602534068634195e-08);
    p = multiply_add_f64(square, p, 2.75573137070700676789e-06);
    p = multiply_add_f64(square, p, -1.98412698298579493134e-04);
    p = multiply_add_f64(square, p, 8.33333333332248946124e-03);
    p = multiply_add_f64(square, p, -1.66666666666666324348e-01);
    return multiply_add_f64(square * a, p, a);
}

INLINE double cosine(double square) {
    double p = multiply_add_f64(square, -1.13596475577881948265e-11, 2.08757232129817482790e-09);
    p = multiply_add_f64(square, p, -2.75573143513906633035e-07);
    p = multiply_add_f64(square, p, 2.48015872894767294178e-05);
    p = multiply_add_f64(square, p, -1.38888888888741095749e-03);
    p = multiply_add_f64(square, p, 4.16666666666666019037e-02);
    const double half = 0.5 * square, most = 1 - half;
    return most + multiply_add_f64(square * square, p, 1 - most - half);
}

static void normals(const uint64_t *words, double *numbers) {
    INDEPENDENT
    for (int i = 0; i < NORMALS; i += 2) {
        const uint64_t radial = words[i], angular = words[i + 1];
        const double radius = sqrt(-2 * logarithm_f64(fraction(radial >> 12)));
        const double angle = fraction(angular >> 9 & 0x000fffffffffffff) * 0x1.921fb54442d18p-1;
        const double square = angle * angle, c = cosine(square), s = sine(angle, square);
        const bool exchanged = angular >> 61 & 1;
        const uint64_t sign = 0x8000000000000000;
        numbers[i] = of_bits_f64(bits_of_f64(radius * (exchanged ? s : c)) ^ (angular << 1 & sign));
        numbers[i + 1] = of_bits_f64(bits_of_f64(radius * (exchanged ? c : s)) ^ (angular & sign));
    }
}

const NormalKernels SIMD_NAME(normal_kernels) = {normals};
