/* Elimination within a band. After number_body.h, for the same kind of numbers. */

/* Spreads the diagonals, which lie at the end of the room for so many rows, and makes zeros of what is no element. */
static void NAME(spread_band)(NUMBER *band, Index n, Index lower, Index upper) {
    const Index given = lower + upper + 1, height = given + lower;
    const NUMBER *from = band + lower * n;
    for (Index j = 0; j < n; j++) {
        NUMBER *column = band + j * height;
        memmove(column + lower, from + j * given, sizeof(NUMBER) * (size_t)given);
        memset(column, 0, sizeof(NUMBER) * (size_t)lower);
        for (Index i = 0; i < upper - j; i++) column[lower + i] = NAME(real_number)(0);
        for (Index i = upper + n - j; i < given; i++) column[lower + i] = NAME(real_number)(0);
    }
}

/* Eliminates within the band, with partial pivoting, and in the right-hand sides, which become solutions; false where a
 * pivot is zero. Element (i, j) lies at band[lower + upper + i - j + j * height]. */
static bool NAME(eliminate_band)(NUMBER *band, Index n, Index lower, Index upper, NUMBER *x, Index columns) {
    const Index along = 2 * lower + upper; /* from an element to the next one in its row */
    Index reach = 0;                       /* the last column that an exchange has filled */
    for (Index j = 0; j < n; j++) {
        NUMBER *diagonal = band + lower + upper + j * (along + 1);
        const Index below = smaller(lower, n - 1 - j);
        Index row = 0;
        REAL best = NAME(rough_size)(diagonal[0]);
        for (Index i = 1; i <= below; i++) {
            const REAL size = NAME(rough_size)(diagonal[i]);
            row = size > best ? i : row;
            best = size > best ? size : best;
        }
        if (best == 0) return false;
        const Index last = smaller(j + upper + row, n - 1);
        reach = last > reach ? last : reach;
        const Index right = reach - j;
        if (row != 0) {
            for (Index c = 0; c <= right; c++) NAME(exchange)(diagonal + c * along, diagonal + row + c * along);
            for (Index c = 0; c < columns; c++) NAME(exchange)(x + j + c * n, x + j + row + c * n);
        }
        const DIVISOR pivot = NAME(divisor)(diagonal[0]);
        for (Index i = 1; i <= below; i++) diagonal[i] = NAME(divide)(diagonal[i], pivot);
        for (Index c = 1; c <= right; c++) {
            NUMBER *other = diagonal + c * along;
            const NUMBER top = other[0];
            for (Index i = 1; i <= below; i++) other[i] = NAME(subtract_product)(other[i], diagonal[i], top);
        }
        for (Index c = 0; c < columns; c++) {
            NUMBER *other = x + j + c * n;
            const NUMBER top = other[0];
            for (Index i = 1; i <= below; i++) other[i] = NAME(subtract_product)(other[i], diagonal[i], top);
        }
    }
    for (Index j = n - 1; j >= 0; j--) {
        const NUMBER *diagonal = band + lower + upper + j * (along + 1);
        const Index above = smaller(lower + upper, j);
        const DIVISOR pivot = NAME(divisor)(diagonal[0]);
        for (Index c = 0; c < columns; c++) {
            NUMBER *other = x + j + c * n;
            other[0] = NAME(divide)(other[0], pivot);
            for (Index i = 1; i <= above; i++) other[-i] = NAME(subtract_product)(other[-i], diagonal[-i], other[0]);
        }
    }
    return true;
}
