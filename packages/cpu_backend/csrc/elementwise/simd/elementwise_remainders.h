/* Whole quotients and remainders of real elements: T with the suffix SUFFIX, of which FUNCTION(f) is the C function.
 *
 * As long as the quotient is below MOST_QUOTIENT, |a| - trunc(|a| / |b|) |b| is exact when it is rounded once: it is what
 * C's fmod gives, or a quotient that was rounded up to a whole number made it one |b| less. Of other elements, and only
 * of them, fmod is asked, and of all where the processor cannot round once. Signs, zeros and what is no number are NumPy's.
 */
static const T NAME(MOST_QUOTIENT) = (T)(sizeof(T) == 4 ? 0x1p21 : 0x1p50);

static inline T NAME(fmod_of)(T a, T b) { return FUNCTION(fmod)(a, b); }

static inline T NAME(remainder_of)(T a, T b) {
    const T rest = FUNCTION(fmod)(a, b);
    if (b == 0) return rest;
    if (rest == 0) return FUNCTION(copysign)(0, b);
    return (b < 0) != (rest < 0) ? rest + b : rest;
}

static inline T NAME(floor_divide_of)(T a, T b) {
    if (b == 0) return a / b;
    const T rest = FUNCTION(fmod)(a, b);
    T quotient = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
    if (quotient == 0) return FUNCTION(copysign)(0, a / b);
    const T whole = FUNCTION(floor)(quotient);
    return quotient - whole > (T)0.5 ? whole + 1 : whole;
}

#if defined(__FMA__)
static inline bool NAME(is_beyond)(T quotient, T divisor) {
    return !((quotient < NAME(MOST_QUOTIENT)) & (divisor < (T)INFINITY));
}

#define REMAINDER_LOOP(name, FORMULA)                                                                                  \
    static void NAME(name)(Index n, void *result, const void *first, const void *second, Third third) {                \
        const T *a = first, *b = second;                                                                               \
        T *d = result, found[FEW_AT_ONCE];                                                                             \
        (void)third;                                                                                                   \
        for (Index start = 0; start < n; start += FEW_AT_ONCE) {                                                       \
            const Index end = smaller(n, start + FEW_AT_ONCE);                                                         \
            int32_t beyond = 0;                                                                                        \
            for (Index i = start; i < end; i++) {                                                                      \
                const T x = FUNCTION(fabs)(a[i]), y = FUNCTION(fabs)(b[i]), given = x / y;                             \
                beyond |= NAME(is_beyond)(given, y);                                                                   \
                T whole = FUNCTION(trunc)(given), rest = FUNCTION(fma)(-whole, y, x);                                  \
                const bool above = rest < 0, opposite = (a[i] < 0) != (b[i] < 0);                                      \
                rest = above ? rest + y : rest;                                                                        \
                whole = above ? whole - 1 : whole;                                                                     \
                (void)whole, (void)opposite;                                                                           \
                found[i - start] = FORMULA;                                                                            \
            }                                                                                                          \
            for (Index i = start; beyond && i < end; i++)                                                              \
                if (NAME(is_beyond)(FUNCTION(fabs)(a[i]) / FUNCTION(fabs)(b[i]), FUNCTION(fabs)(b[i])))                \
                    found[i - start] = NAME(name##_of)(a[i], b[i]);                                                    \
            memcpy(d + start, found, (size_t)(end - start) * sizeof(T));                                               \
        }                                                                                                              \
    }
#else
#define REMAINDER_LOOP(name, FORMULA)                                                                                  \
    static void NAME(name)(Index n, void *result, const void *first, const void *second, Third third) {                \
        const T *a = first, *b = second;                                                                               \
        T *d = result;                                                                                                 \
        (void)third;                                                                                                   \
        for (Index i = 0; i < n; i++) d[i] = NAME(name##_of)(a[i], b[i]);                                              \
    }
#endif

REMAINDER_LOOP(fmod, FUNCTION(copysign)(rest, a[i]))
REMAINDER_LOOP(remainder, FUNCTION(copysign)((opposite & (rest != 0)) ? y - rest : rest, b[i]))
REMAINDER_LOOP(floor_divide, FUNCTION(copysign)((opposite & (rest != 0)) ? whole + 1 : whole, a[i] * b[i]))

#undef REMAINDER_LOOP
