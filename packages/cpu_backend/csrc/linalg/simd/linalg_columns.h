/* Substitution with columns as they lie in memory, for few right-hand sides of larger matrices, or of the last few of a
 * batch: registers hold rows of one matrix, where the other routines hold one element of several, so nothing is
 * transposed, and every line of the matrix is read once, in order. Some matrices take turns, for each step of a
 * substitution waits for the one before.
 *
 * Each element of a solution has the same products subtracted in the same order, and is divided in the same way, as in
 * linalg_triangular.h: the results are the same to the bit. Matrices with more rows than lanes take are solved here alone.
 */

/* Rows in a register, matrices that take turns, and most registers that a column takes. */
enum { BLOCK = LANES / PARTS, TURNS = LANES == 8 ? 4 : 2, MOST_BLOCKS = LARGEST_SIDE / BLOCK };

/* Lanes from one on. */
INLINE Mask lanes_from(int first) {
#if LANES == 8
    return (Mask)(0xffu << first);
#else
    Mask mask;
    for (int i = 0; i < LANES; i++) mask[i] = i < first ? 0 : -1;
    return mask;
#endif
}

/* The diagonal elements of so many columns of a block, and ones behind them; zeros times them are added to a sum. */
INLINE Divisor block_divisor(const char *diagonal, Index step, int rows, bool narrow, Lane *spoilt) {
    Lane parts[PARTS];
    for (int part = 0; part < PARTS; part++) {
        parts[part] = broadcast(1.0);
        for (int k = 0; k < BLOCK; k++) {
            const char *at = diagonal + k * step;
            if (k < rows) parts[part][k] = narrow ? (double)((const float *)at)[part] : ((const double *)at)[part];
        }
        *spoilt += parts[part] * 0.0;
    }
    Number numbers;
    memcpy(&numbers, parts, sizeof numbers);
    return divisor(numbers);
}

/* x minus the products of so many columns of a block with what has been found, in order. */
INLINE Lane subtract_block(Lane x, const char *at, Index column, int width, const Factor *found, int rows, bool forward,
                           bool narrow) {
    for (int k = 0; k < rows; k++) {
        const int j = forward ? k : rows - 1 - k;
        x = subtract_column(x, load_some(at + j * column, width, narrow), found[j]);
    }
    return x;
}

/* The matrices that take turns: where the first of them lies, and how far the next. */
typedef struct {
    const char *a, *b;
    char *x;
    Index matrix, column,
        sides; /* bytes from a matrix to the next, from a column to the next, and between columns of b */
} ColumnTurns;

/* Substitution for one right-hand side of each of so many matrices. A solution takes as many registers of x as a column
 * has blocks. Answers whether a solution, or an element on a diagonal, is not finite. That is so wherever an element that
 * is read is not: each of the others is multiplied by a part of a solution, and even zero makes NaN of it. */
INLINE bool substitute_turns(const ColumnTurns *turns, int many, Lane *x, int n, bool forward, bool narrow) {
    const Index size = narrow ? sizeof(float) : sizeof(double);
    const int blocks = (n + BLOCK - 1) / BLOCK, last = (n - (blocks - 1) * BLOCK) * PARTS;
    Lane spoilt[TURNS];
    for (int t = 0; t < many; t++) {
        spoilt[t] = broadcast(0.0);
        for (int block = 0; block < blocks; block++)
            x[t * blocks + block] = load_some(turns->b + t * turns->sides + block * LANES * size,
                                              block == blocks - 1 ? last : LANES, narrow);
    }
    for (int step = 0; step < blocks; step++) {
        const int block = forward ? step : blocks - 1 - step, width = block == blocks - 1 ? last : LANES;
        const int rows = width / PARTS;
        const Index first = block * BLOCK * turns->column; /* column of the block */
        Factor found[TURNS][BLOCK];
        Divisor pivots[TURNS];
        Lane left[TURNS];
        for (int t = 0; t < many; t++) {
            left[t] = x[t * blocks + block];
            pivots[t] = block_divisor(turns->a + t * turns->matrix + first + block * LANES * size,
                                      turns->column + PARTS * size, rows, narrow, &spoilt[t]);
        }
#pragma GCC unroll 8
        for (int k = 0; k < BLOCK; k++) {
            const int j = forward ? k : BLOCK - 1 - k;
            if (j >= rows) continue;
            const Mask here = lanes_from(j * PARTS), behind = lanes_from((j + 1) * PARTS);
#pragma GCC unroll 4
            for (int t = 0; t < many; t++) {
                const Lane column = load_some(
                    turns->a + t * turns->matrix + first + j * turns->column + block * LANES * size, width, narrow);
                const Lane rest = left[t];
                const Factor factor = factor_of(divide_element(element_at(rest, j), divisor_at(pivots[t], j)));
                const Lane less = subtract_column(rest, column, factor);
                found[t][j] = factor;
                left[t] = forward ? pick(behind, less, pick(here, repeated(factor), rest))
                                  : pick(behind, rest, pick(here, repeated(factor), less));
            }
        }
        for (int t = 0; t < many; t++) x[t * blocks + block] = left[t];
        for (int other = forward ? block + 1 : 0; other < (forward ? blocks : block); other++) {
            const int other_width = other == blocks - 1 ? last : LANES;
            for (int t = 0; t < many; t++) {
                const char *at = turns->a + t * turns->matrix + first + other * LANES * size;
                Lane *const rest = &x[t * blocks + other];
                if (rows == BLOCK)
                    *rest = subtract_block(*rest, at, turns->column, other_width, found[t], BLOCK, forward, narrow);
                else *rest = subtract_block(*rest, at, turns->column, other_width, found[t], rows, forward, narrow);
            }
        }
    }
    for (int t = 0; t < many; t++)
        for (int block = 0; block < blocks; block++) {
            const Lane solution = x[t * blocks + block];
            store_some(turns->x + t * turns->sides + block * LANES * size, solution, block == blocks - 1 ? last : LANES,
                       narrow);
            spoilt[t] += solution * 0.0;
        }
    for (int t = 1; t < many; t++) spoilt[0] += spoilt[t];
    return any(complement(equal(spoilt[0], broadcast(0.0))));
}

static __attribute__((noinline)) bool turns_forward(const ColumnTurns *turns, int n, bool narrow) {
    Lane x[TURNS * MOST_BLOCKS];
    return narrow ? substitute_turns(turns, TURNS, x, n, true, true)
                  : substitute_turns(turns, TURNS, x, n, true, false);
}

static __attribute__((noinline)) bool turns_backward(const ColumnTurns *turns, int n, bool narrow) {
    Lane x[TURNS * MOST_BLOCKS];
    return narrow ? substitute_turns(turns, TURNS, x, n, false, true)
                  : substitute_turns(turns, TURNS, x, n, false, false);
}

static __attribute__((noinline)) bool one_forward(const ColumnTurns *one, Lane *x, int n, bool narrow) {
    return narrow ? substitute_turns(one, 1, x, n, true, true) : substitute_turns(one, 1, x, n, true, false);
}

static __attribute__((noinline)) bool one_backward(const ColumnTurns *one, Lane *x, int n, bool narrow) {
    return narrow ? substitute_turns(one, 1, x, n, false, true) : substitute_turns(one, 1, x, n, false, false);
}

/* For so many matrices; answers whether all is well. Room is for the solution of one. */
INLINE bool substitute_columns(const LaneProblem *problem, const char *const *operands, char *const *results,
                               Index count, Number *room, int n, bool forward) {
    const Index matrix = matrix_bytes(problem, n, n), column = matrix_bytes(problem, n, 1);
    const Index sides = problem->right * column;
    const bool narrow = problem->narrow;
    bool bad = false;
    for (Index number = 0, many; number < count; number += many) {
        many = n <= LARGEST_SIDE && count - number >= TURNS ? TURNS : 1;
        for (Index c = 0; c < problem->right; c++) {
            const Index at = number * sides + c * column;
            const ColumnTurns turns = {
                operands[0] + number * matrix, operands[1] + at, results[0] + at, matrix, column, sides};
            if (many == 1)
                bad |= forward ? one_forward(&turns, (Lane *)room, n, narrow)
                               : one_backward(&turns, (Lane *)room, n, narrow);
            else bad |= forward ? turns_forward(&turns, n, narrow) : turns_backward(&turns, n, narrow);
        }
    }
    return !(problem->check && bad);
}

static bool forward_single(const LaneProblem *problem, const char *const *operands, char *const *results, Index count,
                           void *room) {
    return substitute_columns(problem, operands, results, count, room, problem->rows, true);
}

static bool backward_single(const LaneProblem *problem, const char *const *operands, char *const *results, Index count,
                            void *room) {
    return substitute_columns(problem, operands, results, count, room, problem->rows, false);
}
