/* Operations on elements that are equally far apart (StepsLoop in elementwise.h): T with the suffix SUFFIX, computed as
 * WRAPPING. Of the steps that are common compilers make loads and shuffles of vectors. */
#define STEPS_LOOP(name, OPERATOR)                                                                                     \
    static inline __attribute__((always_inline)) void NAME(name##_apart)(Index n, T * d, const T *a, Index first_step, \
                                                                         const T *b, Index second_step) {              \
        INDEPENDENT                                                                                                    \
        for (Index i = 0; i < n; i++) d[i] = (T)((WRAPPING)a[i * first_step] OPERATOR(WRAPPING) b[i * second_step]);   \
    }                                                                                                                  \
    static void NAME(name##_steps)(Index n, void *result, const void *first, Index first_step, const void *second,     \
                                   Index second_step) {                                                                \
        if (first_step == 2 && second_step == 2) NAME(name##_apart)(n, result, first, 2, second, 2);                   \
        else if (first_step == 2 && second_step == 1) NAME(name##_apart)(n, result, first, 2, second, 1);              \
        else if (first_step == 1 && second_step == 2) NAME(name##_apart)(n, result, first, 1, second, 2);              \
        else if (first_step == 2 && second_step == 0) NAME(name##_apart)(n, result, first, 2, second, 0);              \
        else if (first_step == 0 && second_step == 2) NAME(name##_apart)(n, result, first, 0, second, 2);              \
        else NAME(name##_apart)(n, result, first, first_step, second, second_step);                                    \
    }

STEPS_LOOP(add, +)
STEPS_LOOP(subtract, -)
STEPS_LOOP(multiply, *)
#if !defined(WHOLE)
STEPS_LOOP(divide, /)
#endif

#undef STEPS_LOOP
#undef T
#undef SUFFIX
#undef WRAPPING
