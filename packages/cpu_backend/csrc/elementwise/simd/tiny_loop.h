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
    RESULT *restrict result = out;
    if (step_a && step_b)
        for (Index i = 0; i < count; i++) {
            const OPERAND x = a[i], y = b[i];
            result[i] = (RESULT)(FORMULA);
        }
    else if (step_a)
        for (Index i = 0; i < count; i++) {
            const OPERAND x = a[i], y = b[0];
            result[i] = (RESULT)(FORMULA);
        }
    else
        for (Index i = 0; i < count; i++) {
            const OPERAND x = a[0], y = b[i * step_b];
            result[i] = (RESULT)(FORMULA);
        }
}

#undef OPERATION
#undef OPERAND
#undef RESULT
#undef FORMULA
