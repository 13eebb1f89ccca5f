/* Strided copies: any strided source into any strided target of the same shape.
 *
 * copy_plan() decides once how the elements are walked; copy_run() then copies any number of times, sharing the work
 * among threads. Neither knows Python, so every kernel that needs an operand in another order may call them.
 *
 * A plan is two levels of loops. A *tile* has columns and rows: the element (c, r) lies at column_source[c] +
 * row_source[r] in the source, and likewise in the target, all in bytes. Columns are what lies together in the target,
 * rows what lies together in the source, so that a tile uses whole cache lines of both sides while they are in the
 * cache. All other axes are loops around the tile.
 */
#ifndef TENSOR_CPU_PERMUTE_H
#define TENSOR_CPU_PERMUTE_H

#include "core/common.h"
#include "core/cpu.h"
#include "core/strided_layout.h"

/* One tile, without its place: offsets in bytes. */
typedef struct {
    Index columns, rows;
    Index column_step; /* of steps: elements from one column to the next in the source */
    const Index *column_source, *column_target, *row_source, *row_target;
} CopyTile;

/* Copies a tile that starts at these addresses; tile->columns and rows may be less than the tables hold. With stream,
 * it is written past the cache; rows of the target must then be whole 64-byte lines, but for runs, which may begin and
 * end anywhere. */
typedef void (*CopyTileFunction)(const CopyTile *tile, const char *source, char *target, bool stream);

enum { WIDTHS = 5 }; /* elements of 1, 2, 4, 8 and 16 bytes: 1 << width */

enum { MOST_INTERLEAVED = 7 }; /* columns or rows */

typedef struct {
    CopyTileFunction runs[WIDTHS];         /* columns are neighbours on both sides */
    CopyTileFunction spread[WIDTHS];       /* columns are neighbours in the target and one element of the source */
    CopyTileFunction steps[WIDTHS];        /* columns are neighbours in the target, equally far apart in the source */
    CopyTileFunction transpose[WIDTHS];    /* columns are neighbours in the target, rows in the source */
    CopyTileFunction interleave[WIDTHS];   /* few columns: the tile is one piece in the target, its rows side by side */
    CopyTileFunction deinterleave[WIDTHS]; /* few rows: the tile is one piece in the source, its columns side by side */
    CopyTileFunction gather[WIDTHS];       /* columns are neighbours in the target, anywhere in the source */
    CopyTileFunction scatter[WIDTHS];      /* anywhere on both sides */
    void (*stream_run)(const char *source, char *target, Index bytes); /* whole lines of the target past the cache */
    void (*finish_stream)(void); /* makes what was written past the cache visible to other threads */
} CopyKernels;
SIMD_TABLE(CopyKernels, copy_kernels);

enum { LONG_COPY = 1 << 17 }; /* bytes; worth other threads, and releasing the GIL */

typedef struct CopyPlan CopyPlan;

/* Both layouts have the same extents and elements of 1, 2, 4, 8 or 16 bytes; elements of the target must not overlap.
 * NULL when memory is short. */
CopyPlan *copy_plan(const StridedLayout *source, const StridedLayout *target);
void copy_plan_free(CopyPlan *plan);

/* The pointers are those of the first logical elements; the memory must not overlap. Call without the GIL when
 * copy_takes_long(). */
void copy_run(const CopyPlan *plan, const void *source, void *target);
bool copy_takes_long(const CopyPlan *plan);

/* Takes elements that lie side by side in the target of a copy, from such a place in it, in bytes. */
typedef void (*CopyTaker)(void *context, const char *elements, Index place, Index bytes);

/* A plan whose elements are given away run by run, instead of being copied, while they are in the cache. False when memory
 * is short. Threads call the function at once, for different runs. */
CopyPlan *copy_plan_handed(const StridedLayout *source, const StridedLayout *target);
bool copy_hand_over(const CopyPlan *plan, const void *source, CopyTaker take, void *context);

/* Writes elements that lie side by side in the source of a copy, from such a place in it, in bytes. */
typedef void (*CopyGiver)(void *context, Index place, char *elements, Index bytes);

/* A plan whose elements are given by a function instead of being read, run by run; NULL where the source has no runs across
 * those of the target, and when memory is short. With stream, what is written goes past the cache where lines are whole. */
CopyPlan *copy_plan_given(const StridedLayout *source, const StridedLayout *target);
bool copy_given_elements(const CopyPlan *plan, CopyGiver give, void *context, void *target, bool stream);

/* Name of the method that was chosen; tests and copy_method() read it: "runs", "spread", "steps", "transpose",
 * "interleave", "deinterleave", "gather", "scatter" or "nothing". */
const char *copy_method(const CopyPlan *plan);

#endif
