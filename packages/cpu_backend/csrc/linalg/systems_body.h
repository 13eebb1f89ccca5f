/* Banded and Toeplitz systems. After number_body.h and load() of factorization_body.h, for the same kind of numbers. */

/* The sum of x y over so many numbers, in eight parts that do not wait for one another. */
static NUMBER NAME(dot)(const NUMBER *x, const NUMBER *y, Index count) {
    enum { AT_ONCE = 8 };
    NUMBER sums[AT_ONCE] = {0}, minus = {0};
    Index i = 0;
    for (; i + AT_ONCE <= count; i += AT_ONCE)
        for (int k = 0; k < AT_ONCE; k++) sums[k] = NAME(subtract_product)(sums[k], x[i + k], y[i + k]);
    for (; i < count; i++) minus = NAME(subtract_product)(minus, x[i], y[i]);
    for (int k = 0; k < AT_ONCE; k++) minus = NAME(add)(minus, sums[k]);
    return NAME(scaled)(minus, -1);
}

static bool NAME(load_system)(const FactorizationPlan *plan, const FactorizationScratch *scratch, NUMBER *a) {
    return NAME(load_a)(plan, scratch, a) &&
           NAME(load)(plan, &plan->b, scratch->source_b, plan->order, plan->right, scratch->out[0]);
}

static bool NAME(solve_banded)(const FactorizationPlan *plan, const FactorizationScratch *scratch) {
    const Index n = plan->order, lower = plan->first, upper = plan->last;
    const BlasInt height = 2 * lower + upper + 1;
    NUMBER *band = scratch->a, *x = scratch->out[0];
    bool solved = lower + upper > LARGEST_NARROW_BAND;
    if (!NAME(load_system)(plan, scratch, band + lower * n)) return false;
    NAME(spread_band)(band, n, lower, upper);
    if (solved) {
        BlasInt info = 0;
        blas_table()->lapack.gbsv[KIND](&plan->order, &plan->first, &plan->last, &plan->right, band, &height,
                                        scratch->integers, x, &plan->order, &info);
        if (info != 0) return false;
        for (Index j = 0; solved && j < n; j++)
            solved = !NAME(has_extreme_pivots)(band + lower + upper + j * height, n, 1);
        if (solved) return true;
        (void)NAME(load_system)(plan, scratch, band + lower * n);
        NAME(spread_band)(band, n, lower, upper);
    }
    const int power = NAME(scale_away_from_limits)(band, height * n);
    const int right_power = power != 0 ? NAME(scale_away_from_limits)(x, n * plan->right) : 0;
    if (!NAME(eliminate_band)(band, n, lower, upper, x, plan->right)) return false;
    NAME(scale_back)(x, n * plan->right, right_power - power);
    return true;
}

static bool NAME(solveh_banded)(const FactorizationPlan *plan, const FactorizationScratch *scratch) {
    const Index n = plan->order, width = plan->rows - 1;
    NUMBER *band = scratch->a, *x = scratch->out[0];
    if (!NAME(load_system)(plan, scratch, band)) return false;
    NAME(keep_lower_band)(band, n, width, plan->last > 0);
    const int power = NAME(scale_away_from_limits)(band, (width + 1) * n);
    const int right_power = power != 0 ? NAME(scale_away_from_limits)(x, n * plan->right) : 0;
    if (!NAME(solve_positive_band)(band, n, width, x, plan->right)) return false;
    NAME(scale_back)(x, n * plan->right, right_power - power);
    return true;
}

/* Levinson's recursion. Forward and backward solve the leading block for its first and its last unit vector. */
static bool NAME(solve_toeplitz)(const FactorizationPlan *plan, const FactorizationScratch *scratch) {
    const Index n = plan->order;
    NUMBER *diagonals = scratch->a, *forward = diagonals + 2 * n, *backward = forward + n, *x = scratch->out[0];
    if (!NAME(load_system)(plan, scratch, diagonals)) return false;
    for (Index i = 0; i < n - 1; i++) NAME(exchange)(diagonals + i, diagonals + 2 * n - 2 - i);
    const NUMBER *column_end = diagonals + n - 1, *row = diagonals + n; /* column[i] is column_end[-i] */
    const int power = NAME(scale_away_from_limits)(diagonals, 2 * n - 1);
    const int right_power = power != 0 ? NAME(scale_away_from_limits)(x, n * plan->right) : 0;
    if (NAME(rough_size)(*column_end) == 0) return false;
    const DIVISOR first = NAME(divisor)(*column_end);
    forward[0] = backward[0] = NAME(divide)(NAME(real_number)(1), first);
    for (Index m = 0; m < plan->right; m++) x[m * n] = NAME(divide)(x[m * n], first);
    for (Index count = 1; count < n; count++) {
        const NUMBER *below = column_end - count;
        const NUMBER of_forward = NAME(dot)(below, forward, count), of_backward = NAME(dot)(row, backward, count);
        const NUMBER left = NAME(subtract_product)(NAME(real_number)(1), of_forward, of_backward);
        if (NAME(rough_size)(left) == 0) return false;
        const DIVISOR divisor = NAME(divisor)(left);
        forward[count] = NAME(real_number)(0);
        memmove(backward + 1, backward, sizeof *backward * (size_t)count);
        backward[0] = NAME(real_number)(0);
        for (Index i = 0; i <= count; i++) {
            const NUMBER f = forward[i], b = backward[i];
            forward[i] = NAME(divide)(NAME(subtract_product)(f, of_forward, b), divisor);
            backward[i] = NAME(divide)(NAME(subtract_product)(b, of_backward, f), divisor);
        }
        for (Index m = 0; m < plan->right; m++) {
            NUMBER *column = x + m * n;
            const NUMBER of_x = NAME(dot)(below, column, count);
            const NUMBER step = NAME(subtract_product)(of_x, NAME(real_number)(1), column[count]); /* with its sign */
            column[count] = NAME(real_number)(0);
            for (Index i = 0; i <= count; i++) column[i] = NAME(subtract_product)(column[i], backward[i], step);
        }
    }
    NAME(scale_back)(x, n * plan->right, right_power - power);
    return true;
}
