/* MAGNITUDES: a loop that sets each d[i] to the length of (X, Y), of elements of type T. LEAST and MOST bound the numbers
 * whose squares keep their digits and add up within the range; of the others, and only of them, C's hypot is asked. */

#define MAGNITUDES(name, T, X, Y, LEAST, MOST, FUNCTION, ROOTS)                                                        \
    static inline bool name##_is_beyond(T x, T y) {                                                                    \
        const T largest = x < y ? y : x;                                                                               \
        return !((x < MOST) & (y < MOST) & ((largest > LEAST) | (largest == 0)));                                      \
    }                                                                                                                  \
    static void name(Index n, void *result, const void *first, const void *second, Third third) {                      \
        const T *a = first, *b = second;                                                                               \
        T *d = result, found[FEW_AT_ONCE];                                                                             \
        (void)b;                                                                                                       \
        for (Index start = 0; start < n; start += FEW_AT_ONCE) {                                                       \
            const Index end = smaller(n, start + FEW_AT_ONCE);                                                         \
            int32_t beyond = 0;                                                                                        \
            for (Index i = start; i < end; i++) {                                                                      \
                const T x = FUNCTION(fabs)(X), y = FUNCTION(fabs)(Y);                                                  \
                beyond |= name##_is_beyond(x, y);                                                                      \
                found[i - start] = x * x + y * y;                                                                      \
            }                                                                                                          \
            ROOTS(end - start, found, found, second, third);                                                           \
            for (Index i = start; beyond && i < end; i++)                                                              \
                if (name##_is_beyond(FUNCTION(fabs)(X), FUNCTION(fabs)(Y))) found[i - start] = FUNCTION(hypot)(X, Y);  \
            memcpy(d + start, found, (size_t)(end - start) * sizeof(T));                                               \
        }                                                                                                              \
    }

/* HALF_POWERS: a loop of roots with the limits of a power: -0 gives 0 and minus infinity infinity. */
#define HALF_POWERS(name, T, ROOTS)                                                                                    \
    static void name(Index n, void *result, const void *first, const void *second, Third third) {                      \
        const T *a = first;                                                                                            \
        T *d = result, x[FEW_AT_ONCE];                                                                                 \
        for (Index start = 0; start < n; start += FEW_AT_ONCE) {                                                       \
            const Index count = smaller(n - start, FEW_AT_ONCE);                                                       \
            for (Index i = 0; i < count; i++) x[i] = a[start + i] == -(T)INFINITY ? (T)INFINITY : a[start + i] + 0;    \
            ROOTS(count, d + start, x, second, third);                                                                 \
        }                                                                                                              \
    }

#define OF_F32(name) name##f
#define OF_F64(name) name

MAGNITUDES(hypot_f32, float, a[i], b[i], 1e-15f, 1e18f, OF_F32, roots_f32)
MAGNITUDES(hypot_f64, double, a[i], b[i], 1e-140, 1e150, OF_F64, roots_f64)
MAGNITUDES(absolute_c32, float, a[2 * i], a[2 * i + 1], 1e-15f, 1e18f, OF_F32, roots_f32)
MAGNITUDES(absolute_c64, double, a[2 * i], a[2 * i + 1], 1e-140, 1e150, OF_F64, roots_f64)
HALF_POWERS(half_powers_f32, float, roots_f32)
HALF_POWERS(half_powers_f64, double, roots_f64)
