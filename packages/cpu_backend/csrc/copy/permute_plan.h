/* What a plan of a strided copy holds; for permute_plan.c, which makes it, permute.c, which runs it, and
 * permute_kernels.c, which tells about it. */
#ifndef TENSOR_CPU_PERMUTE_PLAN_H
#define TENSOR_CPU_PERMUTE_PLAN_H

#include "copy/permute.h"

typedef struct {                  /* a record of strided_walk.h */
    Index extent, source, target; /* strides in bytes */
} CopyAxis;

typedef enum { NOTHING, RUNS, SPREAD, STEPS, TRANSPOSE, INTERLEAVE, DEINTERLEAVE, GATHER, SCATTER } CopyMethod;

struct CopyPlan {
    CopyMethod method;
    int width;                        /* an element has 1 << width bytes */
    Index bytes;                      /* of all elements */
    Index source_start, target_start; /* of the first element walked, from the first logical one, in bytes */
    CopyTile tile;                    /* the full one */
    Index last_columns, last_rows;    /* of the last tile along an axis that tiles cut */
    int cut_by_columns, cut_by_rows;  /* that axis, among the loops; -1 when there is none */
    int rank;                         /* loops around the tile, outermost first */
    CopyAxis loops[MAX_RANK];
    Index tiles, grain; /* grain: tiles worth waking a thread for */
    bool whole_lines;   /* rows of tiles are whole cache lines of a target that begins with one */
    bool large;         /* written past the cache, where it can be */
    bool long_runs;     /* rows are so long that a part of a line at each end does not matter */
    /* A large target whose rows are no whole lines gets them through a buffer, group by group of rows that are
     * neighbours in it, so that all lines but those at the ends of a group are written past the cache. */
    const Index *row_buffer; /* offset of each row in the buffer; NULL for a plan that has no use for one */
    Index group, group_pitch, buffer_bytes;
    Index column_pitch; /* in a buffer of a tile whose elements are given: bytes from column to column */
    CopyTileFunction copy;
    const CopyKernels *kernels;
    Index tables[]; /* of the tile */
};

/* Lets the rows of a tile pass through a buffer, in groups of so many bytes at least, or else gives it none; the table
 * has room for an offset of each row. */
void copy_plan_buffer(CopyPlan *plan, Index *table, Index least);

#endif
