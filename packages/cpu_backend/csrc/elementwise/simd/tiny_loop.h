/* One loop over two operands: NAME(OPERATION) sets every element of the result to FORMULA, an expression in x and y.
 *
 * The type of x and y is OPERAND, which is T unless it is defined; RESULT is that of the result where it differs. There
 * is one loop for each pair of steps, so that the compiler sees neighbours or one element repeated.
 */
#ifndef OPERAND
#define OPERAND T
#endif
#ifndef RESULT
#define RESULT OPERAND
#endif

static void NAME(OPERATION)(const void *first, Index step_a, const void *second, Index step_b, void *out, Index count) {
    const OPERAND *a = first, *b = second;
    RESULT *result = out; /* may be where a or b is */
    if (step_a && step_b) INDEPENDENT for (Index i = 0; i < count; i++) {
            const OPERAND x = a[i], y = b[i];
            result[i] = (RESULT)(FORMULA);
        }
    else if (step_a) {
        const OPERAND y = b[0];
        INDEPENDENT for (Index i = 0; i < count; i++) {
            const OPERAND x = a[i];
            result[i] = (RESULT)(FORMULA);
        }
    } else {
        const OPERAND x = a[0];
        INDEPENDENT for (Index i = 0; i < count; i++) {
            const OPERAND y = b[i * step_b];
            result[i] = (RESULT)(FORMULA);
        }
    }
}

#undef OPERATION
#undef OPERAND
#undef RESULT
#undef FORMULA
