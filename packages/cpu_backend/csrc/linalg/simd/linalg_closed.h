/* Determinants of 2 x 2 and 3 x 3 matrices by their formulas, the minors with products that are exact.
 *
 * A minor is the sum of its products to about two rounding units, whatever cancels (Ogita, Rump and Oishi 2005, Accurate
 * sum and dot product, algorithm 5.3), so a determinant errs no more than by the backward errors of an elimination: some
 * rounding units of the sizes of three elements, each times its minor. Products of floats are exact doubles as they are.
 * Where products are so far from 1 that parts of them may be lost, matrices are eliminated instead.
 */

enum { LARGEST_CLOSED_SIDE = 3 };

/* What a product lost by rounding. */
INLINE Lane lost_part(Lane x, Lane y, Lane product) {
#if LANES == 8
    return _mm512_fmsub_pd(x, y, product);
#elif LANES == 4
    return _mm256_fmsub_pd(x, y, product);
#else /* Dekker 1971 */
    const Lane far_x = x * 0x1.0000002p27, far_y = y * 0x1.0000002p27;
    const Lane high_x = far_x - (far_x - x), high_y = far_y - (far_y - y);
    const Lane low_x = x - high_x, low_y = y - high_y;
    return low_x * low_y - (((product - high_x * high_y) - low_x * high_y) - high_x * low_y);
#endif
}

/* Of products, and what it lost by rounding; and the sum of their sizes, which no cancellation hides. */
typedef struct {
    Lane sum, lost, size;
} ProductSum;

INLINE ProductSum product_of(Lane x, Lane y, bool narrow) {
    const Lane product = x * y;
    return (ProductSum){product, narrow ? broadcast(0.0) : lost_part(x, y, product), size_of(product)};
}

INLINE ProductSum with_product(ProductSum so_far, Lane x, Lane y, bool narrow, bool rough) {
    const ProductSum next = product_of(x, y, narrow);
    const Lane sum = so_far.sum + next.sum, size = so_far.size + next.size;
    if (rough) return (ProductSum){sum, so_far.lost, size};
    const Lane added = sum - so_far.sum; /* Knuth's sum of two */
    const Lane lost = (so_far.sum - (sum - added)) + (next.sum - added);
    return (ProductSum){sum, so_far.lost + (lost + next.lost), size};
}

typedef struct {
    Number value;
    Lane size; /* of its terms; of floats, which leave no range, its own */
} Determinant;

/* a d - b c; a rough one of floats adds exact products, each sum rounded. */
INLINE Determinant minor_of(Number a, Number b, Number c, Number d, bool narrow, bool rough) {
    const Lane *const as = (const Lane *)&a, *const bs = (const Lane *)&b;
    const Lane *const cs = (const Lane *)&c, *const ds = (const Lane *)&d;
    enum { IM = PARTS - 1 };
    Determinant minor;
    Lane *const parts = (Lane *)&minor.value;
    ProductSum real = with_product(product_of(as[0], ds[0], narrow), -bs[0], cs[0], narrow, rough);
    if (PARTS == 2) {
        real = with_product(with_product(real, -as[IM], ds[IM], narrow, rough), bs[IM], cs[IM], narrow, rough);
        ProductSum imaginary = with_product(product_of(as[0], ds[IM], narrow), -bs[0], cs[IM], narrow, rough);
        imaginary = with_product(with_product(imaginary, as[IM], ds[0], narrow, rough), -bs[IM], cs[0], narrow, rough);
        parts[IM] = imaginary.sum + imaginary.lost;
        real.size += imaginary.size;
    }
    parts[0] = real.sum + real.lost;
    minor.size = real.size;
    return minor;
}

INLINE Determinant closed_determinant(const Number *a, int n, bool narrow) {
    const bool rough = narrow && (PARTS == 1 || n == 2); /* two exact products; or enough for floats */
    if (n == 2) {
        Determinant minor = minor_of(a[0], a[2], a[1], a[3], narrow, rough);
        if (narrow) minor.size = rough_size(minor.value);
        return minor;
    }
    const Determinant first = minor_of(a[4], a[7], a[5], a[8], narrow, rough);
    const Determinant second = minor_of(a[3], a[6], a[5], a[8], narrow, rough);
    const Determinant third = minor_of(a[3], a[6], a[4], a[7], narrow, rough);
    const Number sum = subtract_product(times(a[0], first.value), a[1], second.value);
    const Lane sizes[] = {rough_size(a[0]), rough_size(a[1]), rough_size(a[2])};
    const Lane size = sizes[0] * first.size + sizes[1] * second.size + sizes[2] * third.size;
    const Mask large = greater(sizes[0] + sizes[1] + sizes[2], broadcast(0x1p300));
    const Number value = add_product(sum, a[2], third.value);
    return (Determinant){value, narrow ? rough_size(value) : pick(large, broadcast(INFINITY), size)};
}

/* The matrices whose products are so large or small that some, or what they lose, may have left the range, or which are
 * not finite; zero is a small one. Of floats no others leave it. */
INLINE Mask are_doubtful(Lane size, bool narrow) {
    const Lane least = broadcast(narrow ? -1.0 : 0x1p-600), most = broadcast(narrow ? 0x1p1000 : 0x1p900);
    return complement(greater(size, least)) | complement(greater(most, size));
}

/* By elimination, where they are doubtful; false where one is minute, or has a pivot that is not finite. */
static __attribute__((noinline)) bool eliminate_doubtful(const LaneProblem *problem, const char *from, Mask doubtful,
                                                         Number *result) {
    const int n = problem->rows;
    const Index bytes = matrix_bytes(problem, n, n);
    Number a[LARGEST_CLOSED_SIDE * LARGEST_CLOSED_SIDE];
    Lane swaps[LARGEST_CLOSED_SIDE];
    (void)load_numbers(problem, from, bytes, a, n * n);
    lu_group(a, swaps, n);
    if (any(not_zero(zeros_of_pivots(a, n, n)))) return false;
    if (are_minute(problem, from, bytes, a[0], n * n)) return false;
    *result = choose(doubtful, lu_product_group(a, n, swaps, n), *result);
    return true;
}

INLINE bool closed_groups(const LaneProblem *problem, const char *const *operands, char *const *results, Index groups,
                          int n, bool narrow) {
    const Index bytes = matrix_bytes(problem, n, n), result_bytes = matrix_bytes(problem, 1, 1);
    for (Index group = 0; group < groups; group++) {
        const char *const from = operands[0] + group * LANES * bytes;
        Number a[LARGEST_CLOSED_SIDE * LARGEST_CLOSED_SIDE];
        prefetch_group(from, bytes, 4);
        if (n * n * PARTS == 4) load_fours((Lane *)a, from, narrow);
        else load_as((Lane *)a, from, bytes, n * n * PARTS, narrow);
        Determinant found = closed_determinant(a, n, narrow);
        const Mask doubtful = are_doubtful(found.size, narrow);
        if (any(doubtful) && !eliminate_doubtful(problem, from, doubtful, &found.value)) return false;
        store_rows(results[0] + group * LANES * result_bytes, &found.value, LANES, narrow);
    }
    return true;
}

/* Determinants of groups, and of so many single matrices with the same bits. */
static bool determinants(const LaneProblem *problem, const char *const *operands, char *const *results, Index groups,
                         void *room) {
    const bool narrow = problem->narrow;
    switch (problem->rows) {
    case 2:
        return narrow ? closed_groups(problem, operands, results, groups, 2, true)
                      : closed_groups(problem, operands, results, groups, 2, false);
    case 3:
        return narrow ? closed_groups(problem, operands, results, groups, 3, true)
                      : closed_groups(problem, operands, results, groups, 3, false);
    default: return det(problem, operands, results, groups, room);
    }
}

static bool determinants_single(const LaneProblem *problem, const char *const *operands, char *const *results,
                                Index count, void *room) {
    const int n = problem->rows;
    if (n < 2 || n > LARGEST_CLOSED_SIDE) return det_single(problem, operands, results, count, room);
    const Index bytes = matrix_bytes(problem, n, n), result_bytes = matrix_bytes(problem, 1, 1);
    for (Index matrix = 0; matrix < count; matrix++) {
        const char *const first = operands[0] + matrix * bytes, *const from[] = {first,
                                                                                 first}; /* the second is unused */
        char *const place = results[0] + matrix * result_bytes, *const to[] = {place, place};
        Number a[LARGEST_CLOSED_SIDE * LARGEST_CLOSED_SIDE];
        for (int i = 0; i < n * n * PARTS; i++)
            ((Lane *)a)[i] =
                broadcast(problem->narrow ? (double)((const float *)from[0])[i] : ((const double *)from[0])[i]);
        const Determinant found = closed_determinant(a, n, problem->narrow);
        if (!any(are_doubtful(found.size, problem->narrow))) store_one(problem, to[0], found.value);
        else if (!det_single(problem, from, to, 1, room)) return false;
    }
    return true;
}
