/* A sum of broadcast products as it was bound (pair.c), and how it is computed (pair_run.c). */
#ifndef TENSOR_CPU_PAIR_PLAN_H
#define TENSOR_CPU_PAIR_PLAN_H

#include "contraction/groups.h"
#include "contraction/pair.h"

enum { WORTH_A_THREAD = 1 << 18, WORTH_RELEASING_THE_GIL = 1 << 14 }; /* products */

typedef struct {
    ArrayForm result;
    PairLoop *loop;
    PairTile tile; /* a whole one */
    bool asks[2];  /* for the factors of the next rectangle in each operand, from memory */
    double terms;  /* products of the whole result */
    bool swapped;  /* the first operand of the tile is the second of the call */
    Group outer;   /* the axes that are walked */
    GroupAxis row; /* axis of the rectangles' rows; its extent is that of the whole result */
    Index lanes;   /* in a row of the whole result; a rectangle has tile.lanes of them, the last one the rest */
    Index lane_step[ROLES]; /* offsets from a rectangle to the next one along the lanes */
    Index row_blocks, lane_blocks;
    Index *tables[4]; /* along and across, of the first and the second operand */
    /* Of a large result whose rows are no whole lines of the cache: rectangles go through a buffer, and from there past
     * the cache, all but the lines in part at the ends of runs. */
    Index staged_bytes;  /* of the buffer; 0 for none */
    bool rows_are_a_run; /* they follow one another in the result */
    Index aligned_bytes; /* of the vectors that all rows of a rectangle load; 0 where they are read as they lie */
    Index packed_bytes;  /* of the second operand's factors, which then are a run; 0 where they are read as they lie */
} PairPlan;

/* Computes everything, shared among the threads where that pays. */
bool pair_run(const void *plan, const char *const *operands, char *result);

#endif
