/* Copies of planes for elements that are a T; see ../blocks.h. */

static void NAME(fill)(T *target, T value, Index count) {
    for (Index i = 0; i < count; i++) target[i] = value;
}

#include "core/simd/steps_body.h"

static void NAME(copy_strided)(T *restrict target, const T *restrict source, Index count, Index stride) {
    if (stride == 1) memcpy(target, source, (size_t)count * sizeof(T));
    else if (stride == 0) NAME(fill)(target, source[0], count);
    else NAME(copy_steps)((char *)target, (const char *)source, count, stride);
}

/* Rows lie side by side in the source: eight of them are read at once, so that lines are used whole. */
static void NAME(transpose)(T *restrict target, const T *restrict source, Index rows, Index columns,
                            Index column_stride) {
    Index row = 0;
    for (; row + 8 <= rows; row += 8)
        NAME(transpose_eight)(target + row * columns, source + row, columns, column_stride);
    for (Index column = 0; column < columns; column++)
        for (Index rest = row; rest < rows; rest++)
            target[rest * columns + column] = source[rest + column * column_stride];
}

/* Rows of a few elements, as many as the compiler knows: a call for each row would take longer than its elements. */
static inline void NAME(copy_rows)(T *restrict target, const T *restrict source, Index rows, Index columns,
                                   Index row_stride, Index column_stride) {
    for (Index row = 0; row < rows; row++)
        for (Index column = 0; column < columns; column++)
            target[row * columns + column] = source[row * row_stride + column * column_stride];
}

static inline void NAME(copy_short_rows)(T *target, const T *source, Index rows, Index columns, Index row_stride,
                                         Index column_stride) {
    if (column_stride == 1) NAME(copy_rows)(target, source, rows, columns, row_stride, 1);
    else if (column_stride == 0) NAME(copy_rows)(target, source, rows, columns, row_stride, 0);
    else NAME(copy_rows)(target, source, rows, columns, row_stride, column_stride);
}

/* The first of these rows, and then as often as it takes what is there already. */
static void NAME(repeat_row)(T *target, const T *source, Index rows, Index columns, Index column_stride) {
    NAME(copy_strided)(target, source, columns, column_stride);
    const Index count = rows * columns;
    for (Index made = columns; made < count; made *= 2)
        memcpy(target + made, target, (size_t)smaller(made, count - made) * sizeof(T));
}

static void NAME(copy_plane)(void *target, const void *source, Index rows, Index columns, Index row_stride,
                             Index column_stride) {
    T *to = target;
    const T *from = source;
    if (row_stride == 0 && rows > 1 && columns > 0) {
        NAME(repeat_row)(to, from, rows, columns, column_stride);
        return;
    }
    if (row_stride == 1 && rows >= 8 && column_stride != 1 && (columns > 4 || column_stride == 0)) {
        NAME(transpose)(to, from, rows, columns, column_stride);
        return;
    }
    switch (columns) {
    case 1: NAME(copy_short_rows)(to, from, rows, 1, row_stride, column_stride); return;
    case 2: NAME(copy_short_rows)(to, from, rows, 2, row_stride, column_stride); return;
    case 3: NAME(copy_short_rows)(to, from, rows, 3, row_stride, column_stride); return;
    case 4: NAME(copy_short_rows)(to, from, rows, 4, row_stride, column_stride); return;
    case 5: NAME(copy_short_rows)(to, from, rows, 5, row_stride, column_stride); return;
    case 6: NAME(copy_short_rows)(to, from, rows, 6, row_stride, column_stride); return;
    case 7: NAME(copy_short_rows)(to, from, rows, 7, row_stride, column_stride); return;
    case 8: NAME(copy_short_rows)(to, from, rows, 8, row_stride, column_stride); return;
    default: break;
    }
    for (Index row = 0; row < rows; row++)
        NAME(copy_strided)(to + row * columns, from + row * row_stride, columns, column_stride);
}
#undef T
#undef SUFFIX
