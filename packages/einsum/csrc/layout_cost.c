/* The cost of a contraction by the orders of its labels.
 *
 * Labels that are neighbours in every array that has them are one axis. What a library of kernels can do is one of
 * three: matrix products by BLAS, one for each index of the axes that are stacked, with copies of what is no matrix;
 * a packed product that reads and writes any strides; and sums of broadcast products along the result's fastest axis.
 * Each multiplies, and moves the elements of three arrays. An element costs more in a short run, and more where a cache
 * line is fetched again for each of its elements. The cheapest of the three counts.
 *
 * The constants are nanoseconds on one core of a server with AVX-512, fitted by least squares of logarithms to nearly
 * nine hundred times of steps in drawn orders, of 20 microseconds to a second; estimates are off by a factor of 1.5 in
 * the mean square. Only ratios matter.
 */
#include "layout_cost.h"

enum { A, B, C, ARRAYS };
enum { LINE = 8 /* elements of a cache line */, DEPTH = 256 /* of a sum that is taken in one go */ };
static const double CACHE = 1 << 17, DISTANT = 1 << 21; /* elements that stay in the second-level cache, in any */
static const double FLOP = 0.016, CALL = 16.0;          /* of matrix products, and of one more in a stack */
static const double PACKED_FLOP = 0.017, PACKED = 0.9, WRITTEN = 0.23, PRODUCT = 35.0, KERNEL = 200.0;
static const double COPIED = 1.15, COPIED_FAR = 3.6, COPY_CALL = 300.0;
static const double ONE_VECTOR = 0.033, TWO_VECTORS = 0.1, TWO_DISTANT = 0.21, STRIP = 0.28, GATHERED = 0.31;
static const double GATHERED_SUM = 0.18, SHORTEST_LANES = 4;
static const double NEAR = 0.23, MIDDLE = 0.44, FAR = 1.1; /* one element in a long run */
static const double AGAIN_MIDDLE = 0.03, AGAIN_FAR = 0.2;  /* each more time that its line is fetched */
static const double RUN[3] = {0.4, 0.39, 1.0};             /* one run more, by where the array lies */
static const double LANE_RUN[3] = {0.32, 0.31, 0.68};      /* the same of sums along the result's fastest axis */

typedef struct {
    double extent, strides[ARRAYS]; /* 0 where an array lacks it */
} Axis;

/* Axes from the fastest to the slowest: those that are summed, in the order of the larger operand, then the result's.
   Sets of them are words. */
typedef struct {
    Axis axes[MOST_AXES];
    int count;
    Word summed, rows, columns, batch; /* rows are the first operand's alone, columns the second's */
    Word unit[ARRAYS];                 /* the axis along which neighbours of an array lie, or none */
    double sizes[ARRAYS];
    int by_size[ARRAYS]; /* the largest first */
    bool closely;
} Contraction;

static double extent_of(const Contraction *job, Word axes) {
    double extent = 1;
    for (; axes; axes &= axes - 1) extent *= job->axes[lowest(axes)].extent;
    return extent;
}

static bool continues(const Axis *inner, const Axis *outer) {
    for (int array = A; array < ARRAYS; array++)
        if (outer->strides[array] != inner->strides[array] * inner->extent) return false;
    return true;
}

/* Adds the axis of a label, or makes the last one longer. */
static void join(Contraction *job, Axis axis) {
    Axis *last = job->count ? &job->axes[job->count - 1] : NULL;
    if (axis.extent == 1) return;
    if (last && continues(last, &axis)) last->extent *= axis.extent;
    else job->axes[job->count++] = axis;
}

static double lay(const Extents *extents, int array, Order order) {
    double size = 1;
    for (int i = 0; i < order.count; i++) {
        extents->strides[array][order.labels[i]] = size;
        size *= extents->extents[order.labels[i]];
    }
    return size;
}

static void forget(const Extents *extents, int array, Order order) {
    for (int i = 0; i < order.count; i++) extents->strides[array][order.labels[i]] = 0;
}

static Axis axis_of(const Extents *extents, int label) {
    double *const *strides = extents->strides;
    return (Axis){extents->extents[label], {strides[A][label], strides[B][label], strides[C][label]}};
}

/* How often a cache line of an array is fetched by a walk through sets of axes, fastest axes first: once where steps
   that share a line are so few elements apart that it stays, LINE times where it never does. */
static double fetches(const Contraction *job, const Word *walk, int array) {
    double strides[MOST_AXES], lengths[MOST_AXES], count = 1, cover = 1;
    int known = 0;
    for (; *walk; walk++) {
        for (Word left = *walk; left; left &= left - 1) {
            const Axis *axis = &job->axes[lowest(left)];
            double stride = axis->strides[array];
            if (stride == 0) continue;
            int place = known++;
            for (; place > 0 && strides[place - 1] > stride; place--) {
                strides[place] = strides[place - 1];
                lengths[place] = lengths[place - 1];
            }
            strides[place] = stride;
            lengths[place] = axis->extent;
            cover = 1;
            for (int k = 0; k < known && strides[k] == cover && cover < LINE; k++) cover *= lengths[k];
            cover = fmin(cover, LINE);
            count *= axis->extent;
            if (count * LINE / cover > CACHE) return LINE / cover;
        }
    }
    return LINE / cover;
}

/* Moving an array once; its runs are those of an axis among `inner`. The walk ends with an empty set. */
static double moved(const Contraction *job, const Word *walk, Word inner, int array, const double *per_run) {
    double size = job->sizes[array], run = extent_of(job, inner & job->unit[array]);
    if (size <= CACHE) return size * (NEAR + per_run[0] / run);
    double again = fetches(job, walk, array) - 1;
    if (size <= DISTANT) return size * (MIDDLE + per_run[1] / run + AGAIN_MIDDLE * again);
    return size * (FAR + per_run[2] / run + AGAIN_FAR * again);
}

static double copied(double size) { return COPY_CALL + size * (size < CACHE ? COPIED : COPIED_FAR); }

/* The largest array first: it decides most. */
static double all_moved(const Contraction *job, const Word *walk, const Word *inner, const bool *copies,
                        const double *per_run, double time, double bound) {
    for (int i = 0; i < ARRAYS && time < bound; i++) {
        int array = job->by_size[i];
        time += copies[array] ? copied(job->sizes[array]) : moved(job, walk, inner[array], array, per_run);
    }
    return time;
}

static bool several(Word axes) { return axes & (axes - 1); }

/* Whether something else of an array lies between the axes of a group. */
static bool scattered(const Contraction *job, Word group, int array) {
    double first = INFINITY, end = 0;
    for (Word left = group; left; left &= left - 1) {
        const Axis *axis = &job->axes[lowest(left)];
        first = fmin(first, axis->strides[array]);
        end = fmax(end, axis->strides[array] * axis->extent);
    }
    return end > first * extent_of(job, group);
}

/* Axes that are to be one axis of two matrices: the smaller array is copied, as they may lie in two orders. Looked at
   closely, one where they are not neighbours is copied in its place. */
static void merge(const Contraction *job, Word group, int first, int second, bool *copies) {
    if (!several(group)) return;
    bool apart_first = job->closely && scattered(job, group, first);
    bool apart_second = job->closely && scattered(job, group, second);
    if (apart_first) copies[first] = true;
    if (apart_second) copies[second] = true;
    if (!apart_first && !apart_second) copies[job->sizes[first] <= job->sizes[second] ? first : second] = true;
}

/* One matrix product for each index of the axes that are neither summed nor rows nor columns. */
static double stacked(const Contraction *job, Word rows, Word columns, double bound) {
    Word summed = job->summed, others = (job->rows | job->columns | job->batch) & ~(rows | columns);
    double m = extent_of(job, rows), n = extent_of(job, columns), k = extent_of(job, summed);
    Word matrices[ARRAYS] = {summed | rows, summed | columns, rows | columns};
    bool copies[ARRAYS];
    for (int array = A; array < ARRAYS; array++)
        copies[array] = extent_of(job, matrices[array]) > 1 && !(matrices[array] & job->unit[array]);
    merge(job, summed, A, B, copies);
    merge(job, rows, A, C, copies);
    merge(job, columns, B, C, copies);
    Word walk[] = {summed, rows, columns, others, 0}, *first = walk;
    for (int i = 0; i < 4; i++)
        if (walk[i]) *first++ = walk[i];
    *first = 0;
    double time = extent_of(job, others) * (CALL + 2 * m * n * k * FLOP);
    if (!job->closely || (m > 1 && n > 1)) /* a vector needs no packing */
        time += extent_of(job, others) * NEAR * (m * k + n * k + m * n);
    return all_moved(job, walk, matrices, copies, RUN, time, bound);
}

enum { CHOICES = 3 };

/* The axes as rows or columns of a matrix: all of them, or one of the two longest, the others being stacked. */
static int choices(const Contraction *job, Word group, Word *found) {
    int count = 0;
    found[count++] = group;
    if (!several(group)) return count;
    while (count < CHOICES) {
        Word left = group & ~(count > 1 ? found[1] : 0), longest = left & -left;
        for (; left; left &= left - 1)
            if (job->axes[lowest(left)].extent > job->axes[lowest(longest)].extent) longest = left & -left;
        found[count++] = longest;
    }
    return count;
}

static double by_blas(const Contraction *job, double bound) {
    Word rows[CHOICES], columns[CHOICES];
    if (!job->summed) return INFINITY;
    int row_choices = choices(job, job->rows, rows), column_choices = choices(job, job->columns, columns);
    for (int i = 0; i < row_choices; i++)
        for (int j = 0; j < column_choices; j++) bound = fmin(bound, stacked(job, rows[i], columns[j], bound));
    return bound;
}

static const bool NO_COPIES[ARRAYS];

static double by_packing(const Contraction *job, double bound) {
    const double *sizes = job->sizes;
    Word rows = job->rows, columns = job->columns, summed = job->summed;
    double m = extent_of(job, rows), n = extent_of(job, columns), k = extent_of(job, summed);
    Word matrices[ARRAYS] = {summed | rows, summed | columns, rows | columns};
    Word walk[] = {summed, rows, columns, job->batch, 0}, *first = walk;
    for (int i = 0; i < 4; i++)
        if (walk[i]) *first++ = walk[i];
    *first = 0;
    double time = KERNEL + extent_of(job, job->batch) * (PRODUCT + 2 * m * n * k * PACKED_FLOP);
    time += (sizes[A] + sizes[B]) * PACKED + sizes[C] * WRITTEN * ceil(k / DEPTH);
    return all_moved(job, walk, matrices, NO_COPIES, RUN, time, bound);
}

static double by_lanes(const Contraction *job, double bound) {
    const double *sizes = job->sizes;
    Word summed = job->summed, kept = job->rows | job->columns | job->batch, lanes = kept ? kept & -kept : summed;
    Word all = summed | kept, walk[] = {all, 0};
    double depth = extent_of(job, summed), time = KERNEL;
    if (kept) {
        const Axis *lane = &job->axes[lowest(kept)];
        double first = lane->strides[A], second = lane->strides[B];
        if (lane->extent >= SHORTEST_LANES && (first == 0 || first == 1) && (second == 0 || second == 1)) {
            bool distant = depth > 1 && (sizes[A] > CACHE || sizes[B] > CACHE);
            double each = first != second ? ONE_VECTOR : distant ? TWO_DISTANT : TWO_VECTORS;
            time += sizes[C] * depth * (each + STRIP / lane->extent);
        } else {
            time += sizes[C] * (depth * GATHERED + GATHERED_SUM);
        }
    } else {
        time += depth * GATHERED;
    }
    return all_moved(job, walk, (Word[]){lanes, lanes, lanes}, NO_COPIES, LANE_RUN, time, bound);
}

static void divide(const Extents *extents, Order larger, Order c, Contraction *job) {
    for (int i = 0; i < larger.count; i++) {
        Axis axis = axis_of(extents, larger.labels[i]);
        if (axis.strides[C] == 0 && axis.strides[A] != 0 && axis.strides[B] != 0) join(job, axis);
    }
    for (int i = 0; i < c.count; i++) join(job, axis_of(extents, c.labels[i]));
    for (int i = 0; i < job->count; i++) {
        const Axis *axis = &job->axes[i];
        bool first = axis->strides[A] != 0, second = axis->strides[B] != 0;
        if (axis->strides[C] == 0) job->summed |= bit(i);
        else if (first && second) job->batch |= bit(i);
        else *(first ? &job->rows : &job->columns) |= bit(i);
        for (int array = A; array < ARRAYS; array++)
            if (axis->strides[array] == 1) job->unit[array] = bit(i);
    }
}

static void sort_by_size(Contraction *job) {
    for (int array = A; array < ARRAYS; array++) {
        int place = array;
        for (; place > 0 && job->sizes[job->by_size[place - 1]] < job->sizes[array]; place--)
            job->by_size[place] = job->by_size[place - 1];
        job->by_size[place] = array;
    }
}

Factors factors_laid(const Extents *extents, Order a, Order b) {
    return (Factors){a, b, lay(extents, A, a), lay(extents, B, b)};
}

void factors_forgotten(const Extents *extents, const Factors *factors) {
    forget(extents, A, factors->a);
    forget(extents, B, factors->b);
}

double contraction_cost(const Extents *extents, const Factors *factors, Order c, double bound) {
    Contraction job;
    job.count = 0;
    job.closely = extents->closely;
    job.summed = job.rows = job.columns = job.batch = job.unit[A] = job.unit[B] = job.unit[C] = 0;
    job.sizes[A] = factors->first_size;
    job.sizes[B] = factors->second_size;
    job.sizes[C] = lay(extents, C, c);
    sort_by_size(&job);
    divide(extents, job.sizes[A] >= job.sizes[B] ? factors->a : factors->b, c, &job);
    forget(extents, C, c);
    bound = fmin(bound, by_packing(&job, bound));
    bound = fmin(bound, by_lanes(&job, bound));
    return fmin(bound, by_blas(&job, bound));
}
