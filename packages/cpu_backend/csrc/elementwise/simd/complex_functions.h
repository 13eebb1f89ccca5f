/* Elementary functions of complex elements, from real ones of their parts; see exponential_types.h, which comes before.
 *
 * Everything is computed in double, without a branch; what is beyond the range of a formula goes to the C library, one
 * element after the other. Each part is within 4 rounding units.
 *
 * Sine and cosine: x = n pi / 2 + r, pi / 2 in three parts, and the polynomials of fdlibm.
 */
#include <complex.h>

enum { FEW_COMPLEX = 64 }; /* elements at once */

typedef struct {
    double sine, cosine;
} Circular;

typedef struct {
    double sinh, cosh;
} Hyperbolic;

#define MOST_ANGLE 1e5 /* n, and so n times a part of pi / 2, has few enough digits */
#define MOST_HYPERBOLIC 300.0

INLINE Circular circular(double x) {
    const double shifted = multiply_add_f64(x, 6.36619772367581382433e-01, 0x1.8p52), n = shifted - 0x1.8p52;
    const uint64_t quadrant = bits_of_f64(shifted);
    double r = multiply_add_f64(-n, 1.57079632673412561417e+00, x);
    r = multiply_add_f64(-n, 6.07710050630396597660e-11, r);
    r = multiply_add_f64(-n, 2.02226624879595063154e-21, r);
    const double z = r * r;
    double s = multiply_add_f64(z, 1.58969099521155010221e-10, -2.50507602534068634195e-08);
    s = multiply_add_f64(z, s, 2.75573137070700676789e-06);
    s = multiply_add_f64(z, s, -1.98412698298579493134e-04);
    s = multiply_add_f64(z, s, 8.33333333332248946124e-03);
    s = multiply_add_f64(z, s, -1.66666666666666324348e-01);
    s = copysign(multiply_add_f64(z * r, s, r), r); /* -0.0 stays */
    double c = multiply_add_f64(z, -1.13596475577881948265e-11, 2.08757232129817482790e-09);
    c = multiply_add_f64(z, c, -2.75573143513906633035e-07);
    c = multiply_add_f64(z, c, 2.48015872894767294178e-05);
    c = multiply_add_f64(z, c, -1.38888888888741095749e-03);
    c = multiply_add_f64(z, c, 4.16666666666666019037e-02);
    const double half = 0.5 * z, w = 1 - half;
    c = w + ((1 - w - half) + z * z * c);
    const bool swapped = quadrant & 1;
    const double sine = swapped ? c : s, cosine = swapped ? s : c;
    return (Circular){quadrant & 2 ? -sine : sine, (quadrant + 1) & 2 ? -cosine : cosine};
}

INLINE Hyperbolic hyperbolic(double x) {
    const double size = fabs(x), e = exp_within_f64(size), inverse = 1 / e, z = x * x;
    double p = multiply_add_f64(z, 1 / 121645100408832000.0, 1 / 355687428096000.0);
    p = multiply_add_f64(z, p, 1 / 1307674368000.0);
    p = multiply_add_f64(z, p, 1 / 6227020800.0);
    p = multiply_add_f64(z, p, 1 / 39916800.0);
    p = multiply_add_f64(z, p, 1 / 362880.0);
    p = multiply_add_f64(z, p, 1 / 5040.0);
    p = multiply_add_f64(z, p, 1 / 120.0);
    p = multiply_add_f64(z, p, 1 / 6.0);
    const double small = multiply_add_f64(z * x, p, x), large = 0.5 * (e - inverse);
    return (Hyperbolic){size < 1 ? small : copysign(large, x), 0.5 * (e + inverse)};
}

INLINE bool within(double x, double y, double most_x, double most_y) { return fabs(x) < most_x && fabs(y) < most_y; }

#define EXP_ORDINARY(x, y) within(x, y, 700.0, MOST_ANGLE)
INLINE void exp_parts(double x, double y, double *re, double *im) {
    const Circular c = circular(y);
    const double e = exp_within_f64(x);
    *re = e * c.cosine;
    *im = e * c.sine;
}

#define SIN_ORDINARY(x, y) within(x, y, MOST_ANGLE, MOST_HYPERBOLIC)
INLINE void sin_parts(double x, double y, double *re, double *im) {
    const Circular c = circular(x);
    const Hyperbolic h = hyperbolic(y);
    *re = c.sine * h.cosh;
    *im = c.cosine * h.sinh;
}

INLINE void cos_parts(double x, double y, double *re, double *im) {
    const Circular c = circular(x);
    const Hyperbolic h = hyperbolic(y);
    *re = c.cosine * h.cosh;
    *im = -(c.sine * h.sinh);
}

#define SINH_ORDINARY(x, y) within(x, y, MOST_HYPERBOLIC, MOST_ANGLE)
INLINE void sinh_parts(double x, double y, double *re, double *im) {
    const Circular c = circular(y);
    const Hyperbolic h = hyperbolic(x);
    *re = h.sinh * c.cosine;
    *im = h.cosh * c.sine;
}

INLINE void cosh_parts(double x, double y, double *re, double *im) {
    const Circular c = circular(y);
    const Hyperbolic h = hyperbolic(x);
    *re = h.cosh * c.cosine;
    *im = h.sinh * c.sine;
}

INLINE void tanh_parts(double x, double y, double *re, double *im) {
    const Circular c = circular(y);
    const Hyperbolic h = hyperbolic(x);
    const double below = c.cosine * c.cosine + h.sinh * h.sinh;
    *re = h.sinh * h.cosh / below;
    *im = c.sine * c.cosine / below;
}

INLINE void tan_parts(double x, double y, double *re, double *im) { tanh_parts(y, x, im, re); }

/* |x| + |z| loses nothing; the other part is a quotient. */
#define SQRT_ORDINARY(x, y) (fabs(x) < 1e150 && fabs(y) < 1e150 && (fabs(x) > 1e-140 || fabs(y) > 1e-140))
INLINE void sqrt_parts(double x, double y, double *re, double *im) {
    const double root = sqrt(0.5 * (fabs(x) + sqrt(x * x + y * y))), other = 0.5 * fabs(y) / root;
    *re = x >= 0 ? root : other;
    *im = copysign(x >= 0 ? other : root, y);
}

INLINE double _Complex complex_of(double x, double y) { /* CMPLX, which not every compiler has */
    const double parts[2] = {x, y};
    double _Complex z;
    memcpy(&z, parts, sizeof z);
    return z;
}

#define COMPLEX_LOOP(name, T, PARTS, ORDINARY, SCALAR)                                                                 \
    static void name(Index n, void *result, const void *first, const void *second, Third third) {                      \
        const T *a = first;                                                                                            \
        T *d = result;                                                                                                 \
        double re[FEW_COMPLEX], im[FEW_COMPLEX];                                                                       \
        (void)second, (void)third;                                                                                     \
        for (Index start = 0, count; start < n; start += count, a += 2 * count, d += 2 * count) {                      \
            int64_t beyond = 0;                                                                                        \
            count = smaller(n - start, FEW_COMPLEX);                                                                   \
            for (Index i = 0; i < count; i++) {                                                                        \
                const double x = a[2 * i], y = a[2 * i + 1];                                                           \
                const bool ordinary = ORDINARY(x, y);                                                                  \
                beyond |= !ordinary;                                                                                   \
                PARTS(ordinary ? x : 1, ordinary ? y : 1, &re[i], &im[i]);                                             \
            }                                                                                                          \
            for (Index i = 0; beyond && i < count; i++) {                                                              \
                const double x = a[2 * i], y = a[2 * i + 1];                                                           \
                if (ORDINARY(x, y)) continue;                                                                          \
                const double _Complex found = SCALAR(complex_of(x, y));                                                \
                re[i] = creal(found), im[i] = cimag(found);                                                            \
            }                                                                                                          \
            for (Index i = 0; i < count; i++) d[2 * i] = (T)re[i], d[2 * i + 1] = (T)im[i];                            \
        }                                                                                                              \
    }
