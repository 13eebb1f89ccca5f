/* Blocks: how a result without gaps is cut into pieces that fit into the first-level cache, and how operands are read.
 *
 * Axes that every operand allows are fused first. A block is then a box of the result, of about 1000 elements, and an
 * operand is used in place where its elements of the block lie side by side, written once where it is one number, and
 * copied into a block of workspace otherwise. There are two ways to cut:
 *
 * In runs: a block holds all of the innermost axes and a piece of one more, so that it is one run of the result.
 *
 * In tiles: where an operand's fastest axis is not the result's (a permuted operand), a block has a piece of either
 * axis, so that every cache line of the operand that is touched is used whole; it is several short runs (rows) of the
 * result.
 */
#ifndef TENSOR_CPU_BLOCKS_H
#define TENSOR_CPU_BLOCKS_H

#include "core/common.h"

enum { MOST_OPERANDS = 16 };

typedef enum { IN_PLACE, ONE_NUMBER, COPIED } Access;

typedef struct {
    int item_bytes;
    Access access;
    Index strides[MAX_RANK]; /* elements, of the fused axes */
} BlockOperand;

typedef struct {
    int rank, operand_count;
    Index shape[MAX_RANK];          /* of the fused axes, outermost first */
    Index result_strides[MAX_RANK]; /* elements */
    Index steps[MAX_RANK];          /* extent of a block */
    int order[MAX_RANK];            /* axes in the order in which blocks follow each other, slowest first */
    Index counts[MAX_RANK];         /* blocks along each of them, in that order */
    Index block_count;
    Index block_elements; /* most elements in a block */
    int row_axis;         /* tiles: the axis across rows; runs: -1 */
    int first_axis;       /* runs: the outermost axis that a block holds more than one index of */
    BlockOperand operands[MOST_OPERANDS];
} BlockPlan;

/* Where one walk over blocks stands. */
typedef struct {
    Index block[MAX_RANK]; /* its number along each axis, in the plan's order */
    Index index[MAX_RANK]; /* of the block's first element */
    Index result_offset;   /* elements */
    Index offsets[MOST_OPERANDS];
    Index rows, columns; /* this block: so many runs of the result, of so many elements */
} BlockWalk;

/* Fills in everything but shape, rank, and the operands' item_bytes and strides, which the caller gives for the axes
 * as they are. A run holds at most so many elements, and so does a tile; an axis that is as long as `alone` ends a run. */
void blocks_plan(BlockPlan *plan, Index longest_run, Index alone, Index largest_tile);

/* Cuts a plan of tiles again, into tiles of so many rows and columns, of which those beside each other come one after the
 * other. */
void blocks_cut_tiles(BlockPlan *plan, Index rows, Index columns);

void blocks_start(const BlockPlan *plan, BlockWalk *walk, Index block);
void blocks_advance(const BlockPlan *plan, BlockWalk *walk);

/* Of the walk's block, along an axis. */
Index blocks_extent(const BlockPlan *plan, const BlockWalk *walk, int axis);

/* Copies one plane of elements side by side: rows x columns of them, at strides in elements. */
typedef void (*CopyPlane)(void *target, const void *source, Index rows, Index columns, Index row_stride,
                          Index column_stride);

enum { STREAM_LINE = 64 };

/* What goes past the caches and is not a whole line yet: the next block begins where it ends, as a rule. A line that is
 * written in parts takes many times as long. */
typedef struct {
    _Alignas(STREAM_LINE) char line[STREAM_LINE];
    char *place; /* of the line */
    Index held;  /* bytes of it; zero at first */
} Stream;

typedef struct {
    CopyPlane copy[5]; /* by log2 of the bytes of an element */
    void (*stream)(Stream *stream, void *target, const void *source, Index bytes); /* past the caches */
    void (*finish_stream)(Stream *stream); /* writes the rest, and makes all visible to other threads; NULL: no rest */
} BlockKernels;

/* Copies an operand's elements of the walk's block into target, side by side in the result's order. */
void blocks_copy(const BlockKernels *kernels, const BlockPlan *plan, const BlockWalk *walk, int operand, void *target,
                 const char *first);

#include "core/cpu.h"
SIMD_TABLE(BlockKernels, block_kernels);

#endif
