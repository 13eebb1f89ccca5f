/* What the larger and the smaller of two numbers are where one of them is NaN. There are two rules, one per name:
 *
 * max_propagate_nan, min_propagate_nan: NaN where either is. So NumPy's maximum and minimum do, and ours, and the
 * reductions max and min. Of two equal numbers they give the second, as NumPy does on x86: it shows in zeros of
 * different sign. A reduction, which keeps the first of equal ones, gives that as the second.
 *
 * max_ignore_nan, min_ignore_nan (contraction/simd/semiring.c, of vectors): what the processor's own instruction does:
 * the second where either is NaN. So a term that is NaN is forgotten, and a sum that is NaN stays.
 */
#ifndef TENSOR_CPU_NAN_RULES_H
#define TENSOR_CPU_NAN_RULES_H

/* In two steps each, of which GCC makes a maximum and a mask. */
static inline float max_propagate_nan_f32(float x, float y) {
    const float larger = x > y ? x : y;
    return x != x ? x : larger;
}

static inline float min_propagate_nan_f32(float x, float y) {
    const float lesser = x < y ? x : y;
    return x != x ? x : lesser;
}

static inline double max_propagate_nan_f64(double x, double y) {
    const double larger = x > y ? x : y;
    return x != x ? x : larger;
}

static inline double min_propagate_nan_f64(double x, double y) {
    const double lesser = x < y ? x : y;
    return x != x ? x : lesser;
}

#endif
