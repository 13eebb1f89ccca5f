/* Short lines of elements of type T, turned into columns of a tile, and back: so vectors take several lines at once. */

INLINE void NAME(turn)(Index lines, Index length, const T *restrict a, T *restrict tile) {
    for (Index k = 0; k < length; k++)
        for (Index j = 0; j < lines; j++) tile[k * LINES_AT_ONCE + j] = a[j * length + k];
}

INLINE void NAME(turn_back)(Index lines, Index length, const T *restrict tile, T *restrict a) {
    for (Index j = 0; j < lines; j++)
        for (Index k = 0; k < length; k++) a[j * length + k] = tile[k * LINES_AT_ONCE + j];
}
