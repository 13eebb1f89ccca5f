/* Arithmetic of one kind of numbers. The includer defines REAL, the type of a part, BITS, an unsigned one as wide,
 * WIDTH, the number of parts, and NAME(f), the name of a function for these numbers; it has included <float.h>,
 * <math.h>, <stdlib.h> and <string.h>. */

typedef struct {
    REAL part[WIDTH];
} NAME(Number);
#define NUMBER NAME(Number)

static inline NUMBER NAME(real_number)(REAL value) { return (NUMBER){{value}}; }

static inline NUMBER NAME(conjugate)(NUMBER x) {
#if WIDTH == 2
    x.part[1] = -x.part[1];
#endif
    return x;
}

static inline NUMBER NAME(scaled)(NUMBER x, REAL factor) {
    for (int i = 0; i < WIDTH; i++) x.part[i] *= factor;
    return x;
}

static inline NUMBER NAME(divided)(NUMBER x, REAL divisor) {
    for (int i = 0; i < WIDTH; i++) x.part[i] /= divisor;
    return x;
}

static inline NUMBER NAME(add)(NUMBER x, NUMBER y) {
    for (int i = 0; i < WIDTH; i++) x.part[i] += y.part[i];
    return x;
}

/* sum - x y, rounded as simd/linalg_lu.h rounds it. */
static inline NUMBER NAME(subtract_product)(NUMBER sum, NUMBER x, NUMBER y) {
#if WIDTH == 1
    return (NUMBER){{sum.part[0] - x.part[0] * y.part[0]}};
#else
    return (NUMBER){{sum.part[0] - x.part[0] * y.part[0] + x.part[1] * y.part[1],
                     sum.part[1] - x.part[0] * y.part[1] - x.part[1] * y.part[0]}};
#endif
}

/* By which LAPACK compares pivots. */
static inline REAL NAME(rough_size)(NUMBER x) {
    REAL size = 0;
    for (int i = 0; i < WIDTH; i++) size += (REAL)fabs((double)x.part[i]);
    return size;
}

static inline REAL NAME(largest_part)(NUMBER x) {
    REAL size = 0;
    for (int i = 0; i < WIDTH; i++)
        size = fabs((double)x.part[i]) > (double)size ? (REAL)fabs((double)x.part[i]) : size;
    return size;
}

static inline double NAME(modulus)(NUMBER x) {
#if WIDTH == 1
    return fabs((double)x.part[0]);
#else
    return hypot((double)x.part[0], (double)x.part[1]);
#endif
}

/* What divides several numbers: a complex one by its conjugate over the square of its size, after scaling by a power of
 * two, as in simd/number_complex.h. Nothing is multiplied by a reciprocal, which may be infinite. */
typedef struct {
    NUMBER unit;
    REAL square, scale;
} NAME(Divisor);
#define DIVISOR NAME(Divisor)

static inline DIVISOR NAME(divisor)(NUMBER x) {
#if WIDTH == 1
    return (DIVISOR){x, 0, 0};
#else
    const REAL size = NAME(largest_part)(x);
    const int limit = sizeof(REAL) == 4 ? 120 : 1000;
    int exponent = size == 0 ? 0 : -ilogb((double)size);
    exponent = exponent > limit ? limit : exponent < -limit ? -limit : exponent;
    const REAL scale = (REAL)ldexp(1.0, exponent);
    const NUMBER unit = NAME(scaled)(x, scale);
    return (DIVISOR){unit, unit.part[0] * unit.part[0] + unit.part[1] * unit.part[1], scale};
#endif
}

static inline NUMBER NAME(divide)(NUMBER x, DIVISOR y) {
#if WIDTH == 1
    return (NUMBER){{x.part[0] / y.unit.part[0]}};
#else
    const NUMBER z = NAME(scaled)(x, y.scale);
    return (NUMBER){{(z.part[0] * y.unit.part[0] - z.part[1] * -y.unit.part[1]) / y.square,
                     (z.part[0] * -y.unit.part[1] + z.part[1] * y.unit.part[0]) / y.square}};
#endif
}

static inline void NAME(exchange)(NUMBER *x, NUMBER *y) {
    const NUMBER former = *x;
    *x = *y;
    *y = former;
}

/* Whether none of so many numbers is NaN or infinite: the bits of such a one's exponent are all set, and one more at
 * the lowest of them carries into the sign. */
static bool NAME(are_finite)(const NUMBER *numbers, Index count) {
    const int width = sizeof(REAL) == 4 ? 23 : 52;
    const uint64_t all = sizeof(REAL) == 4 ? 0xff : 0x7ff;
    const BITS exponent = (BITS)(all << width), lowest = (BITS)1 << width;
    const char *place = (const char *)numbers;
    BITS carried = 0;
    for (Index i = 0; i < WIDTH * count; i++) {
        BITS bits;
        memcpy(&bits, place + i * (Index)sizeof bits, sizeof bits);
        carried |= (bits & exponent) + lowest;
    }
    return carried >> (8 * sizeof(REAL) - 1) == 0;
}

/* The largest of so many parts, in eight rows that do not wait for one another. */
static REAL NAME(largest_of)(const REAL *parts, Index count) {
    enum { AT_ONCE = 8 };
    REAL most[AT_ONCE] = {0};
    Index i = 0;
    for (; i + AT_ONCE <= count; i += AT_ONCE)
        for (int k = 0; k < AT_ONCE; k++) {
            const REAL size = (REAL)fabs((double)parts[i + k]);
            most[k] = size > most[k] ? size : most[k];
        }
    for (; i < count; i++) {
        const REAL size = (REAL)fabs((double)parts[i]);
        most[0] = size > most[0] ? size : most[0];
    }
    for (int k = 1; k < AT_ONCE; k++) most[0] = most[k] > most[0] ? most[k] : most[0];
    return most[0];
}

/* Scales so many numbers by a power of two if all of them lie near the lower end of the range, to sizes up to 1, or the
 * largest of them at the upper end, so far that sums of a few are finite; that power. */
static int NAME(scale_away_from_limits)(NUMBER *numbers, Index count) {
    REAL *parts = (REAL *)numbers;
    const REAL most = NAME(largest_of)(parts, WIDTH * count);
    const int low = sizeof(REAL) == 4 ? -100 : -900, high = sizeof(REAL) == 4 ? 114 : 1010;
    if (most == 0 || !isfinite(most) || ((double)most > ldexp(1, low) && (double)most < ldexp(1, high))) return 0;
    const int power = ilogb((double)most) + 1, excess = power > 0 ? power - high + 10 : power;
    for (Index i = 0; i < WIDTH * count; i++) parts[i] = (REAL)ldexp((double)parts[i], -excess);
    return excess;
}

static void NAME(scale_back)(NUMBER *numbers, Index count, int power) {
    REAL *parts = (REAL *)numbers;
    for (Index i = 0; power != 0 && i < WIDTH * count; i++) parts[i] = (REAL)ldexp((double)parts[i], power);
}
