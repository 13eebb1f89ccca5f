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

/* Makes of half a Hermitian band the diagonals from the main one down, with zeros for what is no element: element
 * (i, j) then lies at band[i - j + j * (width + 1)]. Above it was given at band[width + i - j + j * (width + 1)]. */
static void NAME(keep_lower_band)(NUMBER *band, Index n, Index width, bool is_above) {
    for (Index j = 0; j < n; j++) {
        NUMBER *column = band + j * (width + 1);
        const Index below = smaller(width, n - 1 - j);
        column[0] = NAME(real_number)(column[is_above ? width : 0].part[0]);
        for (Index i = 1; is_above && i <= below; i++) column[i] = NAME(conjugate)(column[i * (width + 1) + width - i]);
        for (Index i = below + 1; i <= width; i++) column[i] = NAME(real_number)(0);
    }
}

/* A = L D L^H within the band of keep_lower_band(), without square roots, and the right-hand sides become solutions;
 * false where a pivot is not positive. */
static bool NAME(solve_positive_band)(NUMBER *band, Index n, Index width, NUMBER *x, Index columns) {
    for (Index j = 0; j < n; j++) {
        NUMBER *column = band + j * (width + 1);
        const Index below = smaller(width, n - 1 - j);
        const REAL pivot = column[0].part[0];
        if (!(pivot > 0)) return false;
        for (Index c = 1; c <= below; c++) {
            NUMBER *other = column + c * (width + 1);
            const NUMBER top = NAME(divided)(NAME(conjugate)(column[c]), pivot);
            for (Index i = c; i <= below; i++) other[i - c] = NAME(subtract_product)(other[i - c], column[i], top);
        }
        for (Index i = 1; i <= below; i++) column[i] = NAME(divided)(column[i], pivot);
        for (Index c = 0; c < columns; c++) {
            NUMBER *other = x + j + c * n;
            for (Index i = 1; i <= below; i++) other[i] = NAME(subtract_product)(other[i], column[i], other[0]);
        }
    }
    for (Index j = n - 1; j >= 0; j--) {
        const NUMBER *column = band + j * (width + 1);
        const Index below = smaller(width, n - 1 - j);
        for (Index c = 0; c < columns; c++) {
            NUMBER *other = x + j + c * n;
            NUMBER left = NAME(divided)(other[0], column[0].part[0]);
            for (Index i = below; i > 0; i--) left = NAME(subtract_product)(left, NAME(conjugate)(column[i]), other[i]);
            other[0] = left;
        }
    }
    return true;
}
