/* Exponentials of square matrices by Padé approximants with scaling and squaring.
 *
 * Degrees and powers of two are those of Al-Mohy and Higham, A new scaling and squaring algorithm for the matrix
 * exponential, SIAM J. Matrix Anal. Appl. 31 (2009), 970-989, each matrix with its own: norms of powers tell how far it
 * is to be halved, norms of the sizes of its elements how far rounding asks for more. Norms are those of rows, so a power
 * of the sizes is a few products with a vector. Degrees are 3, 5, 7 and 13, by one formula with other coefficients.
 * Matrices of large norms are scaled by a similarity first, in linalg_balance.h.
 */

enum { DEGREES = 4, COEFFICIENTS = 14, MOST_SPARED = 150 /* halvings: a sixth power does not overflow */ };

/* Of numerators, over the first one, so that what is not there leaves pivots of exactly 1. */
static const double PADE[DEGREES][COEFFICIENTS] = {
    {1.0, 1.0 / 2, 1.0 / 10, 1.0 / 120},
    {1.0, 1.0 / 2, 1.0 / 9, 1.0 / 72, 1.0 / 1008, 1.0 / 30240},
    {1.0, 1.0 / 2, 3.0 / 26, 5.0 / 312, 5.0 / 3432, 1.0 / 11440, 1.0 / 308880, 1.0 / 17297280},
    {1.0, 1.0 / 2, 3.0 / 25, 11.0 / 600, 11.0 / 5520, 3.0 / 18400, 1.0 / 96600, 1.0 / 1932000, 1.0 / 48944000,
     1.0 / 1585785600, 1.0 / 67395888000, 1.0 / 3953892096000, 1.0 / 355850288640000, 1.0 / 64764752532480000},
};

/* Norms up to which they are exact to a rounding unit; of the last one, as far as its denominator is harmless. */
static const double PADE_NORMS[DEGREES] = {1.495585217958292e-2, 2.539398330063230e-1, 9.504178996162932e-1, 4.25};
static const double PADE_SQUARE = 4.25 * 4.25;

/* The coefficient of power 27, the first that the last one gets wrong, in rounding units. */
static const double PADE_ERROR = 0x1p53 / 113250775606021113483283660800000000.0;

typedef struct {
    Number *a, *square, *fourth, *sixth; /* the matrix as it is scaled, and its powers */
    Number *odd, *even, *other;          /* room */
    Lane *sizes, *rows;                  /* of elements, and two columns of such */
    Lane coefficients[COEFFICIENTS];
} Exponential;

INLINE Exponential exponential_room(Number *room, Whole matrix) {
    const int count = matrix.count;
    Lane *const sizes = (Lane *)(room + 7 * count);
    return (Exponential){.a = room,
                         .square = room + count,
                         .fourth = room + 2 * count,
                         .sixth = room + 3 * count,
                         .odd = room + 4 * count,
                         .even = room + 5 * count,
                         .other = room + 6 * count,
                         .sizes = sizes,
                         .rows = sizes + count};
}

INLINE Lane greater_of(Lane x, Lane y) { return pick(settled(greater(y, x)), y, x); }
INLINE Lane less_of(Lane x, Lane y) { return pick(settled(greater(x, y)), y, x); }

/* The least whole number of which 2 to the power root is no less than x 2^power; x is not negative. */
INLINE Lane root_of_power(Lane x, Lane power, double root) {
    const Lane normal = greater_of(x, broadcast(0x1p-1000)), e = exponent(normal);
    const Lane above = pick(settled(greater(normal, power_of_two(e))), broadcast(1.0), broadcast(0.0));
    const Lane quotient = (e + power + above) / root + (root - 1.0) / (2.0 * root); /* nearest to the one above */
    return quotient + 0x1.8p52 - 0x1.8p52;
}

INLINE void multiply_sizes(Whole matrix, Lane *to, const Lane *sizes, const Lane *rows) {
    const int count = rows_of(matrix);
    for (int i = 0; i < count; i++) to[i] = broadcast(0.0);
    for (int j = 0; j < matrix.n; j++) {
        const Lane factor = matrix.blocks > 0 ? broadcast(rows[j / LANES][j % LANES]) : rows[j];
        for (int i = 0; i < count; i++) to[i] = fused(sizes[i + j * count], factor, to[i]);
    }
}

INLINE Lane third_power(Lane x) { return x * x * x; }

/* How many halvings rounding asks for, where so many are spared, by the norm of power 27 of the sizes of elements; that
 * none is needed bounds by lower powers tell mostly. */
static __attribute__((noinline)) Lane halvings_of_sizes(Whole matrix, const Exponential *e, Lane norm, Lane spared) {
    const int count = rows_of(matrix);
    Lane *rows = e->rows, *next = e->rows + count, powers = 26.0 * spared, needed = broadcast(0.0);
    Mask open = others_than(no_lane());
    for (int i = 0; i < matrix.count; i++) e->sizes[i] = rough_size(e->a[i]);
    for (int i = 0; i < count; i++) rows[i] = broadcast(1.0);
    for (int k = 1; k <= 27; k++) {
        multiply_sizes(matrix, next, e->sizes, rows);
        Lane *const former = rows;
        rows = next, next = former;
        if (k > 1 && k % 3 != 0) continue;
        const Lane most = largest_row(matrix, rows);
        open &= greater(most, broadcast(0.0));
        if (k == 1 || k == 3 || k == 27) {
            Lane bound = most;
            for (int power = k; power < 27; power *= 3) bound = third_power(bound);
            const Lane error = bound * (PADE_ERROR / greater_of(norm, broadcast(0x1p-1000)));
            needed = root_of_power(error, powers, 26.0);
            open &= greater(needed, broadcast(0.0));
            if (!any(open)) break;
        }
        if (k > 1) { /* far from the ends of the range */
            const Lane unit = scale_to(greater_of(most, broadcast(0x1p-1000)), 0.0);
            powers -= exponent(unit);
            for (int i = 0; i < count; i++) rows[i] *= unit;
        }
    }
    return pick(open, needed, broadcast(0.0));
}

/* Of a matrix that was halved by its norm, and its powers: scales them to what their own norms ask for; answers how many
 * halvings are left. */
static __attribute__((noinline)) Lane rescale(Whole matrix, const Exponential *e, Lane norm, Lane halvings) {
    const Lane none = broadcast(0.0);
    const double square = PADE_SQUARE, fourth = square * square;
    const Lane of_sixth = root_of_power(row_norm(matrix, e->sixth, 1.0) / (fourth * square), none, 6.0);
    whole_product(matrix, e->other, e->fourth, e->fourth);
    const Lane of_eighth = root_of_power(row_norm(matrix, e->other, 1.0) / (fourth * fourth), none, 8.0);
    whole_product(matrix, e->other, e->fourth, e->sixth);
    const Lane of_tenth = root_of_power(row_norm(matrix, e->other, 1.0) / (fourth * fourth * square), none, 10.0);
    const Lane needed = less_of(greater_of(of_sixth, of_eighth), greater_of(of_eighth, of_tenth));
    const Lane spared = less_of(less_of(greater_of(-needed, none), halvings), broadcast(MOST_SPARED));
    const Lane change = spared - halvings_of_sizes(matrix, e, norm, spared);
    const Lane factor = power_of_two(change), of_square = factor * factor, of_fourth = of_square * of_square;
    scale_whole(matrix, e->a, factor);
    scale_whole(matrix, e->square, of_square);
    scale_whole(matrix, e->fourth, of_fourth);
    scale_whole(matrix, e->sixth, of_fourth * of_square);
    return halvings - change;
}

/* x + factor y. */
INLINE Number add_multiple(Number x, Number y, Lane factor) {
    Lane *const parts = (Lane *)&x;
    const Lane *const others = (const Lane *)&y;
    for (int part = 0; part < PARTS; part++) parts[part] = fused(others[part], factor, parts[part]);
    return x;
}

/* Adds multiples of the first so many of three powers to a matrix, with every other coefficient from `first` on. */
INLINE void add_powers(Whole matrix, const Exponential *e, Number *to, int powers, int first) {
    const Lane *const c = e->coefficients + first;
    for (int i = 0; i < matrix.count; i++) {
        if (powers > 2) to[i] = add_multiple(to[i], e->sixth[i], c[4]);
        if (powers > 1) to[i] = add_multiple(to[i], e->fourth[i], c[2]);
        to[i] = add_multiple(to[i], e->square[i], c[0]);
    }
}

INLINE void clear_whole(Whole matrix, Number *a) {
    for (int i = 0; i < matrix.count; i++) a[i] = number(broadcast(0.0));
}

/* The sum of every other term of a numerator, from that of the identity on, without the factor A of the odd ones. */
INLINE void half_of_terms(Whole matrix, const Exponential *e, Number *to, int powers, int first) {
    if (powers > 3) {
        clear_whole(matrix, e->other);
        add_powers(matrix, e, e->other, 3, first + 8);
        whole_product(matrix, to, e->sixth, e->other);
    } else clear_whole(matrix, to);
    add_powers(matrix, e, to, powers, first + 2);
    add_identity(matrix, to, e->coefficients[first]);
}

/* The approximant, into `odd`: (even + odd) over (even - odd). */
INLINE void approximate(Whole matrix, const Exponential *e, int powers) {
    half_of_terms(matrix, e, e->even, powers, 1);
    whole_product(matrix, e->odd, e->a, e->even);
    half_of_terms(matrix, e, e->even, powers, 0);
    for (int i = 0; i < matrix.count; i++) {
        e->other[i] = add_multiple(e->even[i], e->odd[i], broadcast(1.0));
        e->even[i] = subtract(e->even[i], e->odd[i]);
    }
    Lane sizes[LARGEST_MASKED_SIDE];
    divide_whole(matrix, e->even, e->other, e->odd, sizes);
}

/* 2^-halvings, of up to 1100, times a matrix. */
INLINE void halve_whole(Whole matrix, Number *a, Lane halvings) {
    const Lane most = within(halvings, 900.0);
    scale_whole(matrix, a, power_of_two(-most));
    scale_whole(matrix, a, power_of_two(most - halvings));
}

/* The exponential of e->a, which is finite; where it lies. */
static __attribute__((noinline)) Number *exponential(Whole matrix, Exponential *e) {
    Lane part = row_norm(matrix, e->a, 0x1p-10); /* of a norm that may be beyond the range */
    Lane shifts[LARGEST_MASKED_SIDE];
    const Mask uneven = settled(greater(part, broadcast(BALANCED_NORM * 0x1p-10)));
    if (any(uneven)) {
        balance_whole(matrix, e->a, e->sizes, uneven, shifts);
        part = row_norm(matrix, e->a, 0x1p-10);
    }
    Lane halvings = greater_of(root_of_power(part / PADE_NORMS[DEGREES - 1], broadcast(10.0), 1.0), broadcast(0.0));
    const Mask large = settled(greater(halvings, broadcast(0.0)));
    if (any(large)) halve_whole(matrix, e->a, halvings);
    const Lane norm = part * power_of_two(10.0 - halvings);
    for (int k = 0; k < COEFFICIENTS; k++) e->coefficients[k] = broadcast(PADE[DEGREES - 1][k]);
    int powers = DEGREES;
    for (int degree = DEGREES - 2; degree >= 0; degree--) {
        const Mask beyond = settled(greater(norm, broadcast(PADE_NORMS[degree])));
        if (!any(beyond)) powers = degree + 1;
        for (int k = 0; k < COEFFICIENTS; k++)
            e->coefficients[k] = pick(beyond, e->coefficients[k], broadcast(PADE[degree][k]));
    }
    whole_product(matrix, e->square, e->a, e->a);
    if (powers > 1) whole_product(matrix, e->fourth, e->square, e->square);
    if (powers > 2) whole_product(matrix, e->sixth, e->fourth, e->square);
    if (any(large)) halvings = rescale(matrix, e, norm, halvings);
    approximate(matrix, e, powers);
    Number *x = e->odd, *next = e->other;
    for (Lane done = broadcast(0.0); any(greater(halvings, done)); done += 1.0) {
        const Mask more = settled(greater(halvings, done));
        whole_product(matrix, next, x, x);
        for (int i = 0; i < matrix.count; i++) next[i] = choose(more, next[i], x[i]);
        Number *const former = x;
        x = next, next = former;
    }
    if (any(uneven)) scale_similarly(matrix, x, shifts, -1.0);
    return x;
}

/* Of groups, or of so many matrices alone. */
INLINE bool expm_each(const LaneProblem *problem, const char *from, char *to, Index count, void *room, bool alone) {
    const Whole matrix = whole_matrices(problem->rows, alone);
    const Index bytes = matrix_bytes(problem, matrix.n, matrix.n) * (alone ? 1 : LANES);
    Exponential e = exponential_room(room, matrix);
    for (Index i = 0; i < count; i++) {
        const Mask bad = load_whole(problem, matrix, from + i * bytes, e.a);
        if (any(bad)) {
            if (problem->check) return false;
            for (int k = 0; k < matrix.count; k++) e.a[k] = choose(bad, number(broadcast(0.0)), e.a[k]);
        }
        Number *const x = exponential(matrix, &e);
        drop_signs_of_zeros(x, matrix.count);
        if (any(bad))
            for (int k = 0; k < matrix.count; k++)
                x[k] = choose(bad, scaled(number(broadcast(1.0)), broadcast(NAN)), x[k]);
        store_whole(problem, matrix, to + i * bytes, x);
    }
    return true;
}

static bool expm(const LaneProblem *problem, const char *const *operands, char *const *results, Index groups,
                 void *room) {
    return expm_each(problem, operands[0], results[0], groups, room, false);
}

static bool expm_single(const LaneProblem *problem, const char *const *operands, char *const *results, Index count,
                        void *room) {
    return expm_each(problem, operands[0], results[0], count, room, true);
}
