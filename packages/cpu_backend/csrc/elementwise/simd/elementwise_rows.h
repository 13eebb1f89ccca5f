/* Operations on rows, for each of which one operand is one number (RowsLoop in elementwise.h): T with the suffix SUFFIX. */
#define ROWS_LOOP(name, RESULT, FORMULA)                                                                               \
    static void NAME(name)(Index rows, Index columns, void *result, const void *numbers, Index step,                   \
                           const void *others, Index pitch) {                                                          \
        RESULT *d = result;                                                                                            \
        const T *from = numbers, *row = others;                                                                        \
        for (Index k = 0; k < rows; k++, d += columns, from += step, row += pitch) {                                   \
            const T number = *from;                                                                                    \
            INDEPENDENT                                                                                                \
            for (Index i = 0; i < columns; i++) d[i] = FORMULA;                                                        \
        }                                                                                                              \
    }

ROWS_LOOP(add_rows, T, row[i] + number)
ROWS_LOOP(multiply_rows, T, row[i] * number)
ROWS_LOOP(subtract_rows, T, row[i] - number)
ROWS_LOOP(subtract_from_rows, T, number - row[i])
ROWS_LOOP(divide_rows, T, row[i] / number)
ROWS_LOOP(divide_by_rows, T, number / row[i])
ROWS_LOOP(equal_rows, uint8_t, row[i] == number)
ROWS_LOOP(not_equal_rows, uint8_t, row[i] != number)
ROWS_LOOP(less_rows, uint8_t, row[i] < number)
ROWS_LOOP(less_equal_rows, uint8_t, row[i] <= number)
ROWS_LOOP(greater_rows, uint8_t, row[i] > number)
ROWS_LOOP(greater_equal_rows, uint8_t, row[i] >= number)

#undef ROWS_LOOP
#undef T
#undef SUFFIX
