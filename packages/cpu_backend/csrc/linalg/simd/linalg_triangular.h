/* Substitution: systems of triangular matrices (Golub and Van Loan, Matrix Computations, 4th ed., §3.1).
 *
 * Forward goes down from the first unknown, backward up from the last one. Transposed, the matrix is the other triangle,
 * read along its rows. The other triangle may hold anything, and a zero on the diagonal gives what IEEE 754 says; where
 * that is to be checked, elements that are not finite and such zeros need another look. An element beside the diagonal is
 * multiplied by parts of solutions, which are not finite either then.
 */

/* The lanes in which a diagonal has a zero, or what is not finite. */
INLINE Mask bad_on_diagonal(const Number *a, Index stride, int n) {
    Mask bad = no_lane();
    for (int i = 0; i < n; i++)
        bad |= equal(largest_part(a[i + i * stride]), broadcast(0.0)) |
               not_finite((const Lane *)&a[i + i * stride], PARTS);
    return bad;
}

/* Loads the triangle that is read, turned to where its rows are equations; its columns are so many numbers apart. */
INLINE void load_triangle(const LaneProblem *problem, const char *from, Index matrix, Number *a, Index stride,
                          Number *column, int n, bool lower, bool transposed) {
    for (int j = 0; j < n; j++) {
        const int most = n < 4 ? n : 4; /* fewer take longer */
        const int first = !lower ? 0 : j < n - most ? j : n - most;
        const int end = lower ? n : j + 1 > most ? j + 1 : most;
        Number *const to = transposed ? column : a + j * stride;
        load_numbers(problem, from + matrix_bytes(problem, n, j) + matrix_bytes(problem, first, 1), matrix, to + first,
                     end - first);
        for (int i = first; transposed && i < end; i++) a[j + i * stride] = column[i];
    }
}

INLINE bool substitute_large(const LaneProblem *problem, const char *const *operands, char *const *results,
                             Index groups, Number *room, int n, bool forward, bool transposed) {
    const Index bytes = matrix_bytes(problem, n, n), column_bytes = matrix_bytes(problem, n, 1);
    const Index right_bytes = problem->right * column_bytes, stride = n | 1;
    Number *const a = room, *const column = a + n * stride, *const x = column + n;
    Mask bad = no_lane();
    for (Index group = 0; group < groups; group++) {
        const char *const matrices = operands[0] + group * LANES * bytes;
        load_triangle(problem, matrices, bytes, a, stride, column, n, forward != transposed, transposed);
        bad |= bad_on_diagonal(a, stride, n);
        for (Index first = 0; first < problem->right; first += RIGHT_AT_ONCE) {
            const int columns = (int)(problem->right - first < RIGHT_AT_ONCE ? problem->right - first : RIGHT_AT_ONCE);
            const Index offset = group * LANES * right_bytes + first * column_bytes;
            (void)load_padded(problem, operands[1] + offset, right_bytes, x, stride, n, columns);
            if (forward) forward_columns(a, stride, false, x, stride, n, columns);
            else backward_columns(a, stride, x, stride, n, columns);
            for (int c = 0; c < columns; c++) bad |= not_finite((const Lane *)(x + c * stride), n * PARTS);
            store_padded(problem, results[0] + offset, right_bytes, x, stride, n, columns);
        }
    }
    return !(problem->check && any(bad));
}

/* Loads of each matrix of a group the lower or the upper triangle, with what stands beside it in the same registers: n
 * columns of so many parts of numbers each. */
INLINE void load_triangle_as(Lane *lanes, const char *group, Index row_bytes, int n, int parts, bool lower,
                             bool narrow) {
    const int count = n * parts;
    for (int j = 0; j < n; j++) {
        Lane *const column = lanes + j * count;
        const int first = lower ? j * parts : 0, end = lower ? count : (j + 1) * parts;
#if LANES > 2
        for (int done = 0; done < end - first; done += 4) {
            int at = lower ? count - 4 - done : done;
            at = at < 0 ? 0 : at > count - 4 ? count - 4 : at;
            load_four_columns(column + at, group, row_bytes, j * count + at, narrow);
        }
#else
        load_as(column + first, group + (j * count + first) * (Index)(narrow ? sizeof(float) : sizeof(double)),
                row_bytes, end - first, narrow);
#endif
    }
}

static __attribute__((noinline)) void load_triangle_lanes(Lane *lanes, const char *group, Index row_bytes, int n,
                                                          int parts, bool lower, bool narrow) {
    if (narrow) load_triangle_as(lanes, group, row_bytes, n, parts, lower, true);
    else load_triangle_as(lanes, group, row_bytes, n, parts, lower, false);
}

/* So many groups, a constant, side by side, as each step waits for the quotient of the one before. The room is for so
 * many. */
INLINE bool substitute_some(const LaneProblem *problem, const char *const *operands, char *const *results, Index group,
                            Number *room, int n, bool forward, bool transposed, int many) {
    const Index bytes = matrix_bytes(problem, n, n), column_bytes = matrix_bytes(problem, n, 1);
    const Index right_bytes = problem->right * column_bytes;
    const int down = transposed ? n : 1, along = transposed ? 1 : n; /* from one row or column to the next */
    const int at_once = (int)(problem->right < RIGHT_AT_ONCE ? problem->right : RIGHT_AT_ONCE);
    Number *const all = room, *const rights = all + many * n * n;
    Mask bad = no_lane();
    for (int g = 0; g < many; g++) {
        const char *const from = operands[0] + (group + g) * LANES * bytes;
        if (n > LARGEST_CONSTANT_SIDE)
            load_triangle_lanes((Lane *)(all + g * n * n), from, bytes, n, PARTS, forward != transposed,
                                problem->narrow);
        else (void)load_numbers(problem, from, bytes, all + g * n * n, n * n);
        prefetch_group(from, bytes, many);
        prefetch_group(operands[1] + (group + g) * LANES * right_bytes, right_bytes, many);
        bad |= bad_on_diagonal(all + g * n * n, n, n);
    }
    for (Index first = 0; first < problem->right; first += RIGHT_AT_ONCE) {
        const int columns = (int)(problem->right - first < RIGHT_AT_ONCE ? problem->right - first : RIGHT_AT_ONCE);
        const Index offset = first * column_bytes;
        for (int g = 0; g < many; g++)
            (void)load_numbers(problem, operands[1] + (group + g) * LANES * right_bytes + offset, right_bytes,
                               rights + g * n * at_once, n * columns);
#pragma GCC unroll 16
        for (int step = 0; step < n; step++) {
            const int j = forward ? step : n - 1 - step, from = forward ? j + 1 : 0, to = forward ? n : j;
#pragma GCC unroll 2
            for (int g = 0; g < many; g++) {
                const Number *const a = all + g * n * n;
                const Divisor pivot = divisor(a[j + j * n]);
                for (int c = 0; c < columns; c++) {
                    Number *const right = rights + g * n * at_once + c * n;
                    const Number found = right[j] = divide(right[j], pivot);
#pragma GCC unroll 8
                    for (int i = from; i < to; i++)
                        right[i] = subtract_product(right[i], a[i * down + j * along], found);
                }
            }
        }
        for (int g = 0; g < many; g++) {
            const Number *const x = rights + g * n * at_once;
            store_numbers(problem, results[0] + (group + g) * LANES * right_bytes + offset, right_bytes, x,
                          n * columns);
            bad |= not_finite((const Lane *)x, n * columns * PARTS);
        }
    }
    return !(problem->check && any(bad));
}

/* Two groups at a time of few rows, or of a constant number. */
INLINE bool substitute_lanes(const LaneProblem *problem, const char *const *operands, char *const *results,
                             Index groups, Number *room, int n, bool forward, bool transposed) {
    const bool few = n > LARGEST_CONSTANT_SIDE && n <= LARGEST_PAIRED_SIDE;
    const int many = few || (__builtin_constant_p(n) && n > LARGEST_PAIRED_SIDE) ? AT_ONCE : 1;
    bool good = true;
    Index group = 0;
    for (; many > 1 && group + many <= groups; group += many)
        good &= substitute_some(problem, operands, results, group, room, n, forward, transposed, AT_ONCE);
    for (; group < groups; group++)
        good &= substitute_some(problem, operands, results, group, room, n, forward, transposed, 1);
    return good;
}

/* Some numbers of rows are constants, in functions of their own; complex numbers of so many are too many for registers. */
#define SUBSTITUTION_OF(name, n, forward, transposed)                                                                  \
    static __attribute__((noinline)) bool name##_of_##n(const LaneProblem *problem, const char *const *operands,       \
                                                        char *const *results, Index groups, Number *room) {            \
        return substitute_lanes(problem, operands, results, groups, room, n, forward, transposed);                     \
    }
#define SUBSTITUTION(name, forward, transposed)                                                                        \
    SUBSTITUTION_OF(name, 12, forward, transposed)                                                                     \
    SUBSTITUTION_OF(name, 16, forward, transposed)                                                                     \
    INLINE bool name##_groups(const LaneProblem *problem, const char *const *operands, char *const *results,           \
                              Index groups, Number *room, int n) {                                                     \
        if (!transposed && goes_along_columns(FORWARD, problem))                                                       \
            return substitute_columns(problem, operands, results, groups * LANES, room, n, forward);                   \
        if (n > LARGEST_MASKED_SIDE)                                                                                   \
            return substitute_large(problem, operands, results, groups, room, n, forward, transposed);                 \
        if (PARTS == 1 && n == 12) return name##_of_12(problem, operands, results, groups, room);                      \
        if (PARTS == 1 && n == 16) return name##_of_16(problem, operands, results, groups, room);                      \
        return substitute_lanes(problem, operands, results, groups, room, n, forward, transposed);                     \
    }                                                                                                                  \
    SQUARE_ROUTINE(name, SUBSTITUTION_ROOM(LARGEST_CONSTANT_SIDE, RIGHT_AT_ONCE))
SUBSTITUTION(forward, true, false)
SUBSTITUTION(backward, false, false)
SUBSTITUTION(forward_transposed, true, true)
SUBSTITUTION(backward_transposed, false, true)
