/* Principal square roots by Denman and Beavers' iteration in product form, with scaling: Cheng, Higham, Kenney and Laub,
 * Approximating the logarithm of a matrix to specified accuracy, SIAM J. Matrix Anal. Appl. 22 (2001), 1112-1125.
 *
 * X goes to the root, and M, X times its partner, to the identity. Rounding parts X from M where X is ill-conditioned,
 * so its square is compared with A in the end. A matrix whose iteration has no limit, or one whose square is not A to
 * nearly all digits, is not found.
 */

enum { MOST_ROOT_STEPS = 40, NOT_FOUND = 2 };

typedef struct {
    Number *a, *x, *m, *inverse, *factors, *room;
} SquareRoot;

INLINE SquareRoot root_room(Number *room, Whole matrix) {
    const int count = matrix.count;
    return (SquareRoot){room, room + count, room + 2 * count, room + 3 * count, room + 4 * count, room + 5 * count};
}

/* About the size of a determinant to the power -1 / (2 n), from pivots: what scales M to a determinant of size 1.
 * Logarithms are good to a few hundredths, which costs no step. */
INLINE Lane root_scale(const Lane *pivots, int n) {
    Lane logarithm = broadcast(0.0);
    for (int j = 0; j < n; j++) {
        const Lane e = exponent(pivots[j]), part = pivots[j] * power_of_two(-within(e, 1000.0)) - 1.0;
        logarithm += e + part * (1.34 - 0.34 * part);
    }
    const Lane power = within(logarithm * (-0.5 / n), 500.0), whole = power + 0x1.8p52 - 0x1.8p52, rest = power - whole;
    return power_of_two(whole) * (1.0 + rest * (0.693 + 0.24 * rest));
}

/* One step for those that are not done; answers which of them have no inverse, and so no limit. */
static __attribute__((noinline)) Mask root_step(Whole matrix, const SquareRoot *r, Mask near, Mask unfinished) {
    Lane pivots[LARGEST_MASKED_SIDE];
    memcpy(r->factors, r->m, (size_t)matrix.count * sizeof(Number));
    identity_into(matrix, r->room);
    const Mask singular = divide_whole(matrix, r->factors, r->room, r->inverse, pivots);
    const Mask stopped = singular | of_matrices(matrix, not_finite((Lane *)r->inverse, matrix.count * PARTS));
    /* scaling by the determinant helps far from the limit, and disturbs near it */
    const Lane scale = pick(near | stopped, broadcast(1.0), root_scale(pivots, matrix.n));
    const Lane square = scale * scale, over = 1.0 / square;
    const Mask going = unfinished & others_than(stopped);
    for (int i = 0; i < matrix.count; i++) {
        r->inverse[i] = scaled(r->inverse[i], over);
        r->factors[i] = scaled(add_multiple(r->inverse[i], r->m[i], square), broadcast(0.25));
    }
    add_identity(matrix, r->factors, broadcast(0.5));
    add_identity(matrix, r->inverse, broadcast(1.0));
    whole_product(matrix, r->room, r->x, r->inverse);
    for (int i = 0; i < matrix.count; i++) {
        r->m[i] = choose(going, r->factors[i], r->m[i]);
        r->x[i] = choose(going, scaled(r->room[i], 0.5 * scale), r->x[i]);
    }
    return stopped & unfinished;
}

/* Whether the square of x is farther from A than a few rounding units of its norm, or is NaN. */
INLINE Mask misses(Whole matrix, const SquareRoot *r) {
    whole_product(matrix, r->room, r->x, r->x);
    for (int i = 0; i < matrix.count; i++) r->room[i] = subtract(r->room[i], r->a[i]);
    const Lane distance = row_norm(matrix, r->room, 0x1p-10), size = row_norm(matrix, r->a, 0x1p-10);
    const Mask spoilt = of_matrices(matrix, not_finite((Lane *)r->room, matrix.count * PARTS));
    return spoilt | greater(distance, size * (matrix.n * 0x1p-44));
}

/* The root of a, into x; answers which are not found. */
static __attribute__((noinline)) Mask square_root(Whole matrix, const SquareRoot *r) {
    Mask near = no_lane(), lost = no_lane(), unfinished = others_than(no_lane());
    memcpy(r->x, r->a, (size_t)matrix.count * sizeof(Number));
    memcpy(r->m, r->a, (size_t)matrix.count * sizeof(Number));
    for (int step = 0; step < MOST_ROOT_STEPS && any(unfinished); step++) {
        const Mask stopped = root_step(matrix, r, near, unfinished);
        lost |= stopped;
        memcpy(r->factors, r->m, (size_t)matrix.count * sizeof(Number));
        add_identity(matrix, r->factors, broadcast(-1.0));
        const Lane away = row_norm(matrix, r->factors, 1.0);
        near = greater(broadcast(1e-2), away);
        unfinished &= others_than(stopped) & others_than(greater(broadcast(matrix.n * 0x1p-50), away));
    }
    return lost | unfinished | misses(matrix, r);
}

/* Of groups, or of so many matrices alone; beside each root 0, or NOT_FOUND. */
INLINE bool sqrtm_each(const LaneProblem *problem, const char *const *operands, char *const *results, Index count,
                       void *room, bool alone) {
    const Whole matrix = whole_matrices(problem->rows, alone);
    const int lanes = alone ? 1 : LANES;
    const Index bytes = matrix_bytes(problem, matrix.n, matrix.n) * lanes;
    const SquareRoot r = root_room(room, matrix);
    for (Index i = 0; i < count; i++) {
        const Mask bad = load_whole(problem, matrix, operands[0] + i * bytes, r.a);
        if (any(bad)) {
            if (problem->check) return false;
            for (int k = 0; k < matrix.count; k++) r.a[k] = choose(bad, number(broadcast(0.0)), r.a[k]);
        }
        const Lane lost = pick(square_root(matrix, &r), broadcast(NOT_FOUND), broadcast(0.0));
        drop_signs_of_zeros(r.x, matrix.count);
        store_whole(problem, matrix, results[0] + i * bytes, r.x);
        int32_t *const codes = (int32_t *)results[1] + i * lanes;
        for (int lane = 0; lane < lanes; lane++) codes[lane] = (int32_t)lost[lane];
    }
    return true;
}

static bool sqrtm(const LaneProblem *problem, const char *const *operands, char *const *results, Index groups,
                  void *room) {
    return sqrtm_each(problem, operands, results, groups, room, false);
}

static bool sqrtm_single(const LaneProblem *problem, const char *const *operands, char *const *results, Index count,
                         void *room) {
    return sqrtm_each(problem, operands, results, count, room, true);
}
