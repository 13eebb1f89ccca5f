/* The loop over rows (stack.h) for one element type and one length of vectors (stack_vectors.h): blocks of one or two
 * vectors of rows by some columns, whose sums stay in registers while the inner index runs. */

enum { NAME(MOST) = 8 / PARTS }; /* columns of one vector at once; of two, half as many */

/* Adds the products of one inner index to the sums of a block. */
INLINE void NAME(add_step)(NAME(Sum) sums[2][NAME(MOST)], const NAME(Part) * a, const NAME(Part) * b, Index b_column,
                           const int vectors, const int columns, const bool part, Index last) {
    NAME(Vector) rows[2];
#pragma GCC unroll 2
    for (int i = 0; i < vectors; i++) {
        const NAME(Part) *from = a + i * NAME(WIDTH);
        rows[i] = part && i + 1 == vectors ? NAME(load_part)(from, last) : NAME(load)(from);
    }
#pragma GCC unroll 8
    for (int j = 0; j < columns; j++)
#pragma GCC unroll 2
        for (int i = 0; i < vectors; i++) sums[i][j] = NAME(add_product)(sums[i][j], rows[i], b + j * b_column);
}

/* One block; of its last vector there are only `last` parts if `part`. The depth is `depth`, and elements of b along it
 * are neighbours, unless that is 0. */
INLINE void NAME(block)(const StackProblem *p, const NAME(Part) * a, const NAME(Part) * b, NAME(Part) * c,
                        const int vectors, const int columns, const bool part, Index last, const int depth) {
    const Index a_inner = p->a_inner * PARTS, b_inner = p->b_inner * PARTS;
    const Index b_column = p->b_column * PARTS, c_column = p->c_column * PARTS;
    NAME(Sum) sums[2][NAME(MOST)];
#pragma GCC unroll 2
    for (int i = 0; i < vectors; i++)
#pragma GCC unroll 8
        for (int j = 0; j < columns; j++) sums[i][j] = NAME(empty)();
#define STEP(k)                                                                                                        \
    if (depth > (k)) NAME(add_step)(sums, a + (k) * a_inner, b + (k) * PARTS, b_column, vectors, columns, part, last)
    STEP(0);
    STEP(1);
    STEP(2);
    STEP(3);
    STEP(4);
    STEP(5);
    STEP(6);
    STEP(7);
#undef STEP
    if (depth == 0)
        for (Index k = 0; k < p->depth; k++)
            NAME(add_step)(sums, a + k * a_inner, b + k * b_inner, b_column, vectors, columns, part, last);
#pragma GCC unroll 8
    for (int j = 0; j < columns; j++)
#pragma GCC unroll 2
        for (int i = 0; i < vectors; i++) {
            NAME(Part) *to = c + j * c_column + i * NAME(WIDTH);
            const bool some = part && i + 1 == vectors;
            NAME(Vector) value = NAME(value)(sums[i][j]);
            if (p->adds) value += some ? NAME(load_part)(to, last) : NAME(load)(to);
            if (some) NAME(store_part)(to, value, last);
            else NAME(store)(to, value);
        }
}

/* All columns of one or two vectors of rows. */
INLINE void NAME(strip)(const StackProblem *p, const NAME(Part) * a, const NAME(Part) * b, NAME(Part) * c,
                        const int vectors, const bool part, Index last) {
    const int most = NAME(MOST) / vectors;
    Index left = p->columns;
    for (; left >= most; left -= most, b += most * p->b_column * PARTS, c += most * p->c_column * PARTS)
        NAME(block)(p, a, b, c, vectors, most, part, last, 0);
    switch (left) {
    case 1: NAME(block)(p, a, b, c, vectors, 1, part, last, 0); break;
    case 2: NAME(block)(p, a, b, c, vectors, 2, part, last, 0); break;
    case 3: NAME(block)(p, a, b, c, vectors, 3, part, last, 0); break;
#if PARTS == 1
    case 4:
        if (most > 4) NAME(block)(p, a, b, c, vectors, 4, part, last, 0);
        break;
    case 5:
        if (most > 4) NAME(block)(p, a, b, c, vectors, 5, part, last, 0);
        break;
    case 6:
        if (most > 4) NAME(block)(p, a, b, c, vectors, 6, part, last, 0);
        break;
    case 7:
        if (most > 4) NAME(block)(p, a, b, c, vectors, 7, part, last, 0);
        break;
#endif
    default: break;
    }
}

/* One product of any size. */
INLINE void NAME(product)(const StackProblem *p, const NAME(Part) * a, const NAME(Part) * b, NAME(Part) * c) {
    enum { TWO = 2 * NAME(WIDTH) };
    Index left = p->rows * PARTS;
    for (; left >= TWO; left -= TWO, a += TWO, c += TWO) NAME(strip)(p, a, b, c, 2, false, 0);
    if (left > NAME(WIDTH)) NAME(strip)(p, a, b, c, 2, true, left - NAME(WIDTH));
    else if (left > 0) NAME(strip)(p, a, b, c, 1, true, left);
}

/* Products that are one block each: the choice is made once for all of them. */
INLINE void NAME(blocks)(const StackProblem *p, const NAME(Part) * a, const NAME(Part) * b, NAME(Part) * c, Index count,
                         const int columns, const bool part, const int depth) {
    StackProblem problem = *p; /* so that what a product writes is known not to change it */
    problem.adds = false;
    for (; count > 0; count--, a += problem.a_next * PARTS, b += problem.b_next * PARTS, c += problem.c_next * PARTS)
        NAME(block)(&problem, a, b, c, 1, columns, part, problem.rows * PARTS, depth);
}

/* The same, with the loop over the inner index unrolled where there are as many columns. */
INLINE void NAME(blocks_of)(const StackProblem *p, const NAME(Part) * a, const NAME(Part) * b, NAME(Part) * c,
                            Index count, const int columns, const bool part) {
    if (p->depth == columns && p->b_inner == 1) NAME(blocks)(p, a, b, c, count, columns, part, columns);
    else NAME(blocks)(p, a, b, c, count, columns, part, 0);
}

INLINE bool NAME(are_blocks)(const StackProblem *p, const NAME(Part) * a, const NAME(Part) * b, NAME(Part) * c,
                             Index count, const bool part) {
    switch (p->columns) {
    case 1: NAME(blocks)(p, a, b, c, count, 1, part, 0); return true;
    case 2: NAME(blocks_of)(p, a, b, c, count, 2, part); return true;
    case 3: NAME(blocks_of)(p, a, b, c, count, 3, part); return true;
    case 4: NAME(blocks_of)(p, a, b, c, count, 4, part); return true;
#if PARTS == 1
    case 5: NAME(blocks_of)(p, a, b, c, count, 5, part); return true;
    case 6: NAME(blocks_of)(p, a, b, c, count, 6, part); return true;
    case 7: NAME(blocks_of)(p, a, b, c, count, 7, part); return true;
    case 8: NAME(blocks_of)(p, a, b, c, count, 8, part); return true;
#endif
    default: return false;
    }
}

static void NAME(by_rows)(const StackProblem *p, const char *first, const char *second, char *result, Index count) {
    const NAME(Part) *a = (const NAME(Part) *)first, *b = (const NAME(Part) *)second;
    NAME(Part) *c = (NAME(Part) *)result;
    const Index parts = p->rows * PARTS;
    if (count > 1 && !p->adds && parts <= NAME(WIDTH)) {
#if !defined(__AVX512VL__) /* where masks cost nothing */
        if (parts == NAME(WIDTH) && NAME(are_blocks)(p, a, b, c, count, false)) return;
#endif
        if (NAME(are_blocks)(p, a, b, c, count, true)) return;
    }
    for (; count > 0; count--, a += p->a_next * PARTS, b += p->b_next * PARTS, c += p->c_next * PARTS)
        NAME(product)(p, a, b, c);
}
