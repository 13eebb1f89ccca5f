/* A stack of small products as it was bound (stack.c), and how it is computed (stack_run.c). */
#ifndef TENSOR_CPU_STACK_PLAN_H
#define TENSOR_CPU_STACK_PLAN_H

#include "contraction/groups.h"
#include "contraction/pack.h"
#include "contraction/stack.h"

enum { STAGED_BYTES = 1 << 13 };                    /* of products that go past the cache together */
static const double STACK_WORTH_A_THREAD = 20000.0; /* nanoseconds */

enum { OF_X, OF_Y, PACKED };

typedef struct {
    ArrayForm result;
    StackLoop *loop;
    Pack *pack;
    StackProblem problem; /* as the operands lie */
    Role x, y;            /* which operand has the rows, and which the columns */
    Group stack;          /* its axes, but for the one that is walked by the loop */
    Index near;           /* extent of that one */
    Index lanes;          /* neighbouring products that are packed together: some vectors; 0 where vectors are rows */
    Index row_step, column_step, sum_step;
    Index row_blocks, column_blocks;
    bool stages; /* products go past the cache, through a buffer */
    bool packs[PACKED];
    Index *across[PACKED], *along[PACKED]; /* offsets of the neighbours in a vector, and of the others */
    Index panel[PACKED];                   /* elements of what is packed for one product, or one vector of them */
    double part_nanoseconds;
} StackPlan;

/* Computes everything, shared among the threads where that pays; false for want of memory. */
bool stack_run(const StackPlan *plan, const char *x, const char *y, char *result);

#endif
