/* What the larger and the smaller of two numbers are where one of them is NaN. There are two rules, one per name:
 *
 * max_propagate_nan, min_propagate_nan: NaN where either is. So NumPy's maximum and minimum do, and ours, and the
 * reductions max and min.
 *
 * max_ignore_nan, min_ignore_nan (contraction/simd/semiring.c, of vectors): what the processor's own instruction does:
 * the second where either is NaN. So a term that is NaN is forgotten, and a sum that is NaN stays.
 */
#ifndef TENSOR_CPU_NAN_RULES_H
#define TENSOR_CPU_NAN_RULES_H

/* Of two equal numbers, the second: it shows in zeros of different sign, and is what NumPy does on x86. */
#define MAX_PROPAGATE_NAN(x, y) ((((x) > (y)) | ((x) != (x))) ? (x) : (y))
#define MIN_PROPAGATE_NAN(x, y) ((((x) < (y)) | ((x) != (x))) ? (x) : (y))

/* The same in two steps, of which GCC makes a maximum under a mask. */
static inline float max_or_second_f32(float x, float y) {
    float chosen = x > y ? x : y;
    return x != x ? x : chosen;
}

static inline float min_or_second_f32(float x, float y) {
    float chosen = x < y ? x : y;
    return x != x ? x : chosen;
}

static inline double max_or_second_f64(double x, double y) {
    double chosen = x > y ? x : y;
    return x != x ? x : chosen;
}

static inline double min_or_second_f64(double x, double y) {
    double chosen = x < y ? x : y;
    return x != x ? x : chosen;
}

/* Of two equal numbers, the first. In two steps each, which GCC turns into a maximum and a blend. */
static inline float max_propagate_nan_f32(float x, float y) {
    float chosen = x < y ? y : x;
    return y != y ? y : chosen;
}

static inline float min_propagate_nan_f32(float x, float y) {
    float chosen = x > y ? y : x;
    return y != y ? y : chosen;
}

static inline double max_propagate_nan_f64(double x, double y) {
    double chosen = x < y ? y : x;
    return y != y ? y : chosen;
}

static inline double min_propagate_nan_f64(double x, double y) {
    double chosen = x > y ? y : x;
    return y != y ? y : chosen;
}

#endif
