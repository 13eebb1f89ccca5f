/* What a reduction is made of: its loops, its loops over elements, and how it is cut; reduce.c fills it in. */
#ifndef TENSOR_CPU_REDUCE_PLAN_H
#define TENSOR_CPU_REDUCE_PLAN_H

#include "core/arrays.h"
#include "core/strided_walk.h"
#include "elementwise/blocks.h"
#include "reduction/reduce.h"

#include <math.h>
#include <stdatomic.h>

typedef struct {                 /* a record of strided_walk.h */
    Index extent, source, place; /* stride in the source; in the results, for a kept axis */
} Axis;

/* Loops over axes, outermost first. */
typedef struct {
    int rank;
    Axis axes[MAX_RANK];
    Index steps;
} Loops;

typedef struct {
    ArrayForm result;
    FoldLoops loops;
    WideLoops wide_loops; /* in their place, for a wide fold */
    bool is_wide, centred;
    bool root;      /* of a wide fold: what the result is made of is its square root */
    double divisor; /* after the fold was divided by this */
    int source_bytes, fold_bytes;
    Index results, elements;
    Index start;               /* of the first element walked, from the first logical one */
    Loops kept, bands;         /* without the columns, and without the rows */
    Index inner, column_place; /* extent of the columns, and their stride in the results */
    Index rows, row_stride;    /* in a line, a row is an element */
    bool lines;
    void (*line_apart)(Index count, const void *source, Index step,
                       void *fold); /* of lines of elements apart, or NULL */
    CopyPlane pack;                 /* makes neighbours of the elements of other such lines; NULL where they are */
    size_t packed_bytes;            /* of a thread: the place for so many of them */
    Index widening;                 /* rows that count as one; a power of 2 */
    Index columns, column_blocks;   /* of a block; how many blocks */
    Index chunk_rows, chunk_bands, row_chunks, chunks;
    bool in_place;          /* one group of rows makes each block of results, which needs no other place */
    size_t workspace_bytes; /* of a thread */
} ReductionPlan;

typedef struct {
    const ReductionPlan *plan;
    const char *source;
    const double *centres; /* as the results; NULL where there are none */
    char *partial;         /* folds of [chunk][result]; the result itself where there is one chunk */
    atomic_bool *out_of_memory;
} Run;

/* Walks over the steps of loops: the first offset is that in the source, the second the place among the results. */
static inline void loops_walk_start(StridedWalk *walk, const Loops *loops, Index step) {
    strided_walk_start(walk, loops->rank, (const Index *)loops->axes, 2, step);
}
static inline void loops_walk_step(StridedWalk *walk, const Loops *loops) {
    strided_walk_step(walk, loops->rank, (const Index *)loops->axes, 2);
}

/* Sets results, so many places apart, to what wide folds give: divided, and rooted, and rounded to F32 where that is
 * the type of the result. They may lie where the folds lie. */
static inline void finish_wide(const ReductionPlan *plan, void *results, const void *folds, Index count, Index step) {
    const double *from = folds;
    for (Index i = 0; i < count; i++) {
        double value = from[i];
        if (plan->divisor != 1) value /= plan->divisor;
        if (plan->root) value = sqrt(value);
        if (plan->result.type == F32) ((float *)results)[i * step] = (float)value;
        else ((double *)results)[i * step] = value;
    }
}

#endif
