/* The product of packed panels, and what they contain, for one algebra and element type.
 *
 * The product is that of Goto and van de Geijn (Anatomy of High-Performance Matrix Multiplication, 2008): a tile of
 * the result, LEFT_WIDTH rows by RIGHT_VECTORS vectors, stays in registers while the contracted index runs through one
 * panel of each operand. Included by semiring.c with
 *   T, VECTOR        the element type, which may alias others, and a vector of it
 *   START            what every sum may begin with
 *   ADD(term, sum)   the sum of both; the sum where either is NaN
 *   MULTIPLY(x, y)   the term of two elements
 *   KEEP_NAN(term, sum)
 *   VALUE(x)         what a vector of elements that are not packed counts for
 *   HIGH, LOW        values whose product is NaN; left out where there is no NaN
 */

typedef VECTOR NAME(Loose) __attribute__((aligned(sizeof(T)), may_alias)); /* a vector anywhere */
typedef VECTOR NAME(Packed) __attribute__((may_alias));                    /* one in a panel */
enum { NAME(LANES) = VECTOR_BYTES / sizeof(T), NAME(WIDTH) = RIGHT_VECTORS * NAME(LANES) };

/* Which values that may lead to NaN a panel contains. */
static unsigned char NAME(marks)(const char *start, Index count) {
#ifdef HIGH
    const T *panel = (const T *)start;
    T nan = 0, high = 0, low = 0; /* of the element type, so that the loop is vectorised */
    for (Index i = 0; i < count; i++) {
        nan = panel[i] != panel[i] ? 1 : nan;
        high = (LOW == 0 ? (T)fabs(panel[i]) : panel[i]) == (T)HIGH ? 1 : high;
        low = panel[i] == (T)LOW ? 1 : low;
    }
    return (unsigned char)((nan != 0 ? HAS_NAN : 0) | (high != 0 ? HAS_HIGH : 0) | (low != 0 ? HAS_LOW : 0));
#else
    (void)start, (void)count;
    return 0;
#endif
}

/* One tile of the result from one panel of each operand. Row r of it begins at rows[r]. */
INLINE void NAME(tile)(const T *left, const T *right, Index depth, T *const *rows, bool continues, bool may_give_nan) {
    enum { LANES = NAME(LANES) };
    VECTOR sums[LEFT_WIDTH][RIGHT_VECTORS];
#pragma GCC unroll 8
    for (int r = 0; r < LEFT_WIDTH; r++)
#pragma GCC unroll 8
        for (int v = 0; v < RIGHT_VECTORS; v++)
            sums[r][v] = continues ? (VECTOR) * (const NAME(Loose) *)(rows[r] + v * LANES) : (T)START - (VECTOR){0};
    for (Index k = 0; k < depth; k++, left += LEFT_WIDTH, right += NAME(WIDTH)) {
        VECTOR columns[RIGHT_VECTORS];
#pragma GCC unroll 8
        for (int v = 0; v < RIGHT_VECTORS; v++) columns[v] = *(const NAME(Packed) *)(right + v * LANES);
#pragma GCC unroll 8
        for (int r = 0; r < LEFT_WIDTH; r++) {
            VECTOR factor = left[r] - (VECTOR){0};
#pragma GCC unroll 8
            for (int v = 0; v < RIGHT_VECTORS; v++) {
                VECTOR term = MULTIPLY(factor, columns[v]);
                sums[r][v] = ADD(term, sums[r][v]);
                if (may_give_nan) sums[r][v] = KEEP_NAN(term, sums[r][v]);
            }
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < LEFT_WIDTH; r++)
#pragma GCC unroll 8
        for (int v = 0; v < RIGHT_VECTORS; v++) *(NAME(Loose) *)(rows[r] + v * LANES) = sums[r][v];
}

static __attribute__((noinline)) void NAME(tile_of_numbers)(const T *left, const T *right, Index depth, T *const *rows,
                                                            bool continues) {
    NAME(tile)(left, right, depth, rows, continues, false);
}

static __attribute__((noinline)) void NAME(tile_of_any)(const T *left, const T *right, Index depth, T *const *rows,
                                                        bool continues) {
    NAME(tile)(left, right, depth, rows, continues, true);
}

/* A block of the result from panels. Tiles at its edge, or whose columns do not lie side by side, pass through a
 * tile aside. */
static void NAME(multiply)(const Block *block) {
    T aside[LEFT_WIDTH * NAME(WIDTH)];
    T *result = (T *)block->result;
    const T *right = (const T *)block->right;
    const unsigned char *right_marks = block->right_marks;
    for (Index j = 0; j < block->column_count; j += NAME(WIDTH), right += NAME(WIDTH) * block->depth, right_marks++) {
        const Index *columns = block->columns + j;
        Index width = block->column_count - j < NAME(WIDTH) ? block->column_count - j : NAME(WIDTH);
        bool whole_columns = width == NAME(WIDTH);
        for (Index c = 1; c < width; c++) whole_columns &= columns[c] == columns[c - 1] + 1;
        const T *left = (const T *)block->left;
        const unsigned char *left_marks = block->left_marks;
        for (Index i = 0; i < block->row_count; i += LEFT_WIDTH, left += LEFT_WIDTH * block->depth, left_marks++) {
            Index height = block->row_count - i < LEFT_WIDTH ? block->row_count - i : LEFT_WIDTH;
            unsigned each = *left_marks | *right_marks, x = *left_marks, y = *right_marks;
            bool may_give_nan =
                (each & HAS_NAN) || ((x & HAS_HIGH) && (y & HAS_LOW)) || ((x & HAS_LOW) && (y & HAS_HIGH));
            bool direct = whole_columns && height == LEFT_WIDTH;
            T *rows[LEFT_WIDTH];
            for (int r = 0; r < LEFT_WIDTH; r++)
                rows[r] = direct ? result + block->rows[i + r] + columns[0] : aside + r * NAME(WIDTH);
            if (!direct && block->continues) {
                memset(aside, 0, sizeof aside);
                for (Index r = 0; r < height; r++)
                    for (Index c = 0; c < width; c++) rows[r][c] = result[block->rows[i + r] + columns[c]];
            }
            if (may_give_nan) NAME(tile_of_any)(left, right, block->depth, rows, block->continues);
            else NAME(tile_of_numbers)(left, right, block->depth, rows, block->continues);
            if (!direct)
                for (Index r = 0; r < height; r++)
                    for (Index c = 0; c < width; c++) result[block->rows[i + r] + columns[c]] = rows[r][c];
        }
    }
}

static inline VECTOR NAME(joined)(VECTOR term, VECTOR sum) { return KEEP_NAN(term, ADD(term, sum)); }

/* Columns side by side: strips of them stay in registers while the rows of the matrix pass. */
static void NAME(add_rows)(T *sums, const T *vector, const T *matrix, const Line *line) {
    enum { LANES = NAME(LANES), STRIP = 2 * RIGHT_VECTORS };
    Index count = line->column_count, j = 0;
    for (; j + STRIP * LANES <= count; j += STRIP * LANES) {
        VECTOR strip[STRIP];
#pragma GCC unroll 8
        for (int v = 0; v < STRIP; v++) strip[v] = *(const NAME(Loose) *)(sums + j + v * LANES);
        for (Index k = 0; k < line->depth; k++) {
            const T *row = matrix + line->along[k] + line->across[j];
            VECTOR factor = vector[k] - (VECTOR){0};
#pragma GCC unroll 8
            for (int v = 0; v < STRIP; v++)
                strip[v] = NAME(joined)(MULTIPLY(factor, VALUE(*(const NAME(Loose) *)(row + v * LANES))), strip[v]);
        }
#pragma GCC unroll 8
        for (int v = 0; v < STRIP; v++) *(NAME(Loose) *)(sums + j + v * LANES) = strip[v];
    }
    for (; j < count; j += LANES) { /* the last vector may be short, and is read element by element */
        Index width = count - j < LANES ? count - j : LANES;
        VECTOR sum = {0}, elements = {0};
        for (Index i = 0; i < width; i++) sum[i] = sums[j + i];
        for (Index k = 0; k < line->depth; k++) {
            const T *row = matrix + line->along[k] + line->across[j];
            if (width == LANES) elements = (VECTOR) * (const NAME(Loose) *)row;
            else
                for (Index i = 0; i < width; i++) elements[i] = row[i];
            sum = NAME(joined)(MULTIPLY(vector[k] - (VECTOR){0}, VALUE(elements)), sum);
        }
        for (Index i = 0; i < width; i++) sums[j + i] = sum[i];
    }
}

/* Contracted elements side by side: a sum over lanes for each column. */
static void NAME(add_columns)(T *sums, const T *vector, const T *matrix, const Line *line) {
    enum { LANES = NAME(LANES), CHAINS = 4 }; /* sums that do not wait for each other */
    Index depth = line->depth;
    for (Index j = 0; j < line->column_count; j++) {
        const T *column = matrix + line->across[j] + line->along[0];
        VECTOR chains[CHAINS];
        for (int c = 0; c < CHAINS; c++) chains[c] = sums[j] - (VECTOR){0};
        Index k = 0;
        for (; k + CHAINS * LANES <= depth; k += CHAINS * LANES)
#pragma GCC unroll 8
            for (int c = 0; c < CHAINS; c++)
                chains[c] = NAME(joined)(MULTIPLY(*(const NAME(Loose) *)(vector + k + c * LANES),
                                                  VALUE(*(const NAME(Loose) *)(column + k + c * LANES))),
                                         chains[c]);
        for (; k < depth; k++)
            chains[0] = NAME(joined)(MULTIPLY(vector[k] - (VECTOR){0}, VALUE(column[k] - (VECTOR){0})), chains[0]);
        VECTOR lanes = NAME(joined)(NAME(joined)(chains[0], chains[1]), NAME(joined)(chains[2], chains[3]));
        VECTOR total = lanes;
        for (int lane = 1; lane < LANES; lane++) total = NAME(joined)(lanes[lane] - (VECTOR){0}, total);
        sums[j] = total[0];
    }
}

static void NAME(multiply_line)(const Line *line) {
    T sums[LINE_COLUMNS];
    T *result = (T *)line->result;
    for (Index j = 0; j < line->column_count; j++) sums[j] = line->continues ? result[line->columns[j]] : (T)START;
    (line->across_is_consecutive ? NAME(add_rows) : NAME(add_columns))(sums, (const T *)line->vector,
                                                                       (const T *)line->matrix, line);
    for (Index j = 0; j < line->column_count; j++) result[line->columns[j]] = sums[j];
}

#undef NAME
#undef T
#undef VECTOR
#undef START
#undef ADD
#undef MULTIPLY
#undef KEEP_NAN
#undef HIGH
#undef LOW
