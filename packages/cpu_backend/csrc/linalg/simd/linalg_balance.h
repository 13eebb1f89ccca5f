/* Similarities by diagonals of powers of two that bring the elements of a matrix nearer to one another, so that nothing is
 * rounded: D^-1 A D. Elements count as powers of two; products along a path through the matrix are sums of them.
 *
 * The largest mean of a cycle is what no such scaling changes: Karp, A characterization of the minimum cycle mean in a
 * digraph, Discrete Math. 23 (1978), 309-311. Down to it, or to 1, longest paths bring all elements.
 */

#define BALANCED_NORM 0x1p20 /* beyond which matrices are looked at: others have their digits as they are */
#define ABSENT (-0x1p36)     /* the power of two of 0, so far down that one of it in a cycle tells in the mean */

/* The longest of walks by one more step. */
INLINE double longer_walk(int n, const double *weights, const double *walks, int i) {
    double most = weights[i] + walks[0];
    for (int j = 1; j < n; j++) most = fmax(most, weights[i + j * n] + walks[j]);
    return most;
}

INLINE double largest_mean(int n, const double *weights) {
    double walks[LARGEST_MASKED_SIDE + 1][LARGEST_MASKED_SIDE] = {{0.0}}, mean = ABSENT;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++) walks[k + 1][i] = longer_walk(n, weights, walks[k], i);
    for (int i = 0; i < n; i++) {
        double least = walks[n][i] / n;
        for (int k = 1; k < n; k++) least = fmin(least, (walks[n][i] - walks[k][i]) / (n - k));
        mean = fmax(mean, least);
    }
    return mean;
}

/* Powers of two for the diagonal of D, from the weights of elements, whose columns lie one after another. */
static __attribute__((noinline)) void balancing_powers(int n, double *weights, double *powers) {
    const double target = ceil(fmax(largest_mean(n, weights), 0.0));
    for (int i = 0; i < n * n; i++) weights[i] -= target;
    for (int i = 0; i < n; i++) powers[i] = 0.0;
    bool longer = true;
    for (int step = 0; step < n && longer; step++) {
        longer = false;
        for (int i = 0; i < n; i++) {
            const double walk = longer_walk(n, weights, powers, i);
            if (walk > powers[i]) powers[i] = walk, longer = true;
        }
    }
}

/* D^-1 A D, or D A D^-1 with the sign -1, in up to three steps: from one end of the range to beyond the other. */
INLINE void scale_similarly(Whole matrix, Number *a, const Lane *powers, double sign) {
    const int rows = rows_of(matrix);
    for (int j = 0; j < matrix.n; j++) {
        const Lane column = matrix.blocks > 0 ? broadcast(powers[j / LANES][j % LANES]) : powers[j];
        for (int i = 0; i < rows; i++) {
            Lane rest = (column - powers[i]) * sign;
            for (int step = 0; step < 3; step++) {
                const Lane part = within(rest, 900.0);
                a[i + j * rows] = scaled(a[i + j * rows], power_of_two(part));
                rest -= part;
            }
        }
    }
}

/* Scales the matrices of a mask; powers are those of rows, 0 of other matrices. Of sizes as many are room. */
static __attribute__((noinline)) void balance_whole(Whole matrix, Number *a, Lane *sizes, Mask chosen, Lane *powers) {
    const int n = matrix.n, rows = rows_of(matrix), matrices = matrix.blocks > 0 ? 1 : LANES;
    const Lane marks = pick(chosen, broadcast(1.0), broadcast(0.0));
    for (int i = 0; i < matrix.count; i++) sizes[i] = rough_size(a[i]);
    for (int i = 0; i < rows; i++) powers[i] = broadcast(0.0);
    for (int lane = 0; lane < matrices; lane++) {
        if (marks[lane] == 0.0) continue;
        double weights[LARGEST_MASKED_SIDE * LARGEST_MASKED_SIDE], found[LARGEST_MASKED_SIDE];
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++) {
                const double size = matrix.blocks > 0 ? sizes[i / LANES + j * rows][i % LANES] : sizes[i + j * n][lane];
                int power = 1024;
                if (isfinite(size)) frexp(size, &power);
                weights[i + j * n] = size > 0.0 ? power : ABSENT;
            }
        balancing_powers(n, weights, found);
        for (int i = 0; i < n; i++)
            if (matrix.blocks > 0) powers[i / LANES][i % LANES] = found[i];
            else powers[i][lane] = found[i];
    }
    scale_similarly(matrix, a, powers, 1.0);
}
