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

static void NAME(copy_plane)(void *target, const void *source, Index rows, Index columns, Index row_stride,
                             Index column_stride) {
    T *to = target;
    const T *from = source;
    if (row_stride == 1 && rows >= 8 && column_stride != 1) {
        NAME(transpose)(to, from, rows, columns, column_stride);
        return;
    }
    for (Index row = 0; row < rows; row++)
        NAME(copy_strided)(to + row * columns, from + row * row_stride, columns, column_stride);
}
#undef T
#undef SUFFIX
