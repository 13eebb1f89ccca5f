/* Substitution with columns as they lie in memory, for few right-hand sides: registers hold rows of one matrix, where the
 * other routines hold one element of several, so nothing is transposed, and every line of the matrix is read once, in
 * order. Some matrices take turns, for each step of a substitution waits for the one before.
 *
 * Each element of a solution has the same products subtracted in the same order, and is divided in the same way, as in
 * linalg_triangular.h: the results are the same to the bit.
 */

/* Rows in a register, matrices that take turns, and most registers that a column takes. */
enum { BLOCK = LANES / PARTS, TURNS = LANES == 8 ? 4 : 2, MOST_BLOCKS = LARGEST_SIDE / BLOCK };

/* So many doubles or floats, and zeros. */
INLINE Lane load_some(const char *from, int count, bool narrow) {
#if LANES == 8
    const __mmask8 mask = (__mmask8)((1u << count) - 1);
    return narrow ? _mm512_cvtps_pd(_mm256_maskz_loadu_ps(mask, from)) : _mm512_maskz_loadu_pd(mask, from);
#else
    Lane lanes = broadcast(0.0);
    if (count == LANES && !narrow) memcpy(&lanes, from, sizeof lanes);
    else
        for (int i = 0; i < count; i++)
            lanes[i] = narrow ? (double)((const float *)from)[i] : ((const double *)from)[i];
    return lanes;
#endif
}

INLINE void store_some(char *to, Lane lanes, int count, bool narrow) {
#if LANES == 8
    const __mmask8 mask = (__mmask8)((1u << count) - 1);
    if (narrow) _mm256_mask_storeu_ps(to, mask, _mm512_cvtpd_ps(lanes));
    else _mm512_mask_storeu_pd(to, mask, lanes);
#else
    for (int i = 0; i < count; i++) {
        if (narrow) ((float *)to)[i] = (float)lanes[i];
        else ((double *)to)[i] = lanes[i];
    }
#endif
}

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

/* The diagonal elements of so many columns of a block, and ones behind them. */
INLINE Divisor block_divisor(const char *diagonal, Index step, int rows, bool narrow) {
    Lane parts[PARTS];
    for (int part = 0; part < PARTS; part++) {
        parts[part] = broadcast(1.0);
        for (int k = 0; k < BLOCK; k++) {
            const char *at = diagonal + k * step;
            if (k < rows) parts[part][k] = narrow ? (double)((const float *)at)[part] : ((const double *)at)[part];
        }
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

/* Zeros times the elements of a block that is not read: NaN where one is not finite. */
INLINE Lane zeros_of_block(const char *at, Index column, int width, int rows, bool narrow) {
    Lane sums[4] = {{0}};
    if (rows == BLOCK)
        for (int j = 0; j < BLOCK; j++) sums[j % 4] += load_some(at + j * column, width, narrow) * 0.0;
    else
        for (int j = 0; j < rows; j++) sums[0] += load_some(at + j * column, width, narrow) * 0.0;
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* The matrices that take turns: where the first of them lies, and how far the next. */
typedef struct {
    const char *a, *b;
    char *x;
    Index matrix, column,
        sides; /* bytes from a matrix to the next, from a column to the next, and between columns of b */
} ColumnTurns;

/* Substitution for one right-hand side of each; answers whether something was not finite, also
 * above the diagonal, or a solution is not. */
INLINE bool substitute_turns(const ColumnTurns *turns, int n, bool forward, bool check, bool narrow) {
    const Index size = narrow ? sizeof(float) : sizeof(double);
    const int blocks = (n + BLOCK - 1) / BLOCK, last = (n - (blocks - 1) * BLOCK) * PARTS;
    Lane x[TURNS][MOST_BLOCKS], spoilt[TURNS];
    for (int t = 0; t < TURNS; t++) {
        spoilt[t] = broadcast(0.0);
        for (int block = 0; block < blocks; block++)
            x[t][block] = load_some(turns->b + t * turns->sides + block * LANES * size,
                                    block == blocks - 1 ? last : LANES, narrow);
    }
    for (int step = 0; step < blocks; step++) {
        const int block = forward ? step : blocks - 1 - step, width = block == blocks - 1 ? last : LANES;
        const int rows = width / PARTS;
        const Index first = block * BLOCK * turns->column; /* column of the block */
        Factor found[TURNS][BLOCK];
        Divisor pivots[TURNS];
        for (int t = 0; t < TURNS; t++)
            pivots[t] = block_divisor(turns->a + t * turns->matrix + first + block * LANES * size,
                                      turns->column + PARTS * size, rows, narrow);
#pragma GCC unroll 8
        for (int k = 0; k < BLOCK; k++) {
            const int j = forward ? k : BLOCK - 1 - k;
            if (j >= rows) continue;
            const Mask here = lanes_from(j * PARTS), behind = lanes_from((j + 1) * PARTS);
#pragma GCC unroll 4
            for (int t = 0; t < TURNS; t++) {
                const Lane column = load_some(
                    turns->a + t * turns->matrix + first + j * turns->column + block * LANES * size, width, narrow);
                if (check) spoilt[t] += column * 0.0;
                Lane rest = x[t][block];
                const Factor factor = factor_of(divide_element(element_at(rest, j), divisor_at(pivots[t], j)));
                const Lane less = subtract_column(rest, column, factor);
                found[t][j] = factor;
                if (forward) rest = pick(behind, less, pick(here, repeated(factor), rest));
                else rest = pick(behind, rest, pick(here, repeated(factor), less));
                x[t][block] = rest;
            }
        }
        for (int other = 0; other < blocks; other++) {
            const bool is_read = forward == (other > block);
            if (other == block || !(is_read || check)) continue;
            const int other_width = other == blocks - 1 ? last : LANES;
            for (int t = 0; t < TURNS; t++) {
                const char *at = turns->a + t * turns->matrix + first + other * LANES * size;
                Lane *const rest = &x[t][other];
                if (!is_read) spoilt[t] += zeros_of_block(at, turns->column, other_width, rows, narrow);
                else if (rows == BLOCK)
                    *rest = subtract_block(*rest, at, turns->column, other_width, found[t], BLOCK, forward, narrow);
                else *rest = subtract_block(*rest, at, turns->column, other_width, found[t], rows, forward, narrow);
            }
        }
    }
    for (int t = 0; t < TURNS; t++)
        for (int block = 0; block < blocks; block++) {
            store_some(turns->x + t * turns->sides + block * LANES * size, x[t][block],
                       block == blocks - 1 ? last : LANES, narrow);
            if (check) spoilt[t] += x[t][block] * 0.0;
        }
    for (int t = 1; t < TURNS; t++) spoilt[0] += spoilt[t];
    return check && any(complement(equal(spoilt[0], broadcast(0.0))));
}

static __attribute__((noinline)) bool substitute_forward(const ColumnTurns *turns, int n, bool check, bool narrow) {
    if (!check)
        return narrow ? substitute_turns(turns, n, true, false, true) : substitute_turns(turns, n, true, false, false);
    return narrow ? substitute_turns(turns, n, true, true, true) : substitute_turns(turns, n, true, true, false);
}

static __attribute__((noinline)) bool substitute_backward(const ColumnTurns *turns, int n, bool check, bool narrow) {
    if (!check)
        return narrow ? substitute_turns(turns, n, false, false, true)
                      : substitute_turns(turns, n, false, false, false);
    return narrow ? substitute_turns(turns, n, false, true, true) : substitute_turns(turns, n, false, true, false);
}

/* Answers whether all is well. */
INLINE bool substitute_columns(const LaneProblem *problem, const char *const *operands, char *const *results,
                               Index groups, int n, bool forward) {
    const Index matrix = matrix_bytes(problem, n, n), column = matrix_bytes(problem, n, 1);
    const Index sides = problem->right * column;
    bool bad = false;
    for (Index number = 0; number < groups * LANES; number += TURNS)
        for (Index c = 0; c < problem->right; c++) {
            const Index at = number * sides + c * column;
            const ColumnTurns turns = {
                operands[0] + number * matrix, operands[1] + at, results[0] + at, matrix, column, sides};
            bad |= forward ? substitute_forward(&turns, n, problem->check, problem->narrow)
                           : substitute_backward(&turns, n, problem->check, problem->narrow);
        }
    return !bad;
}
