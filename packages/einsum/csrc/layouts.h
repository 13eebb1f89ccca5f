/* Orders of the labels of intermediates. */
#ifndef LAYOUTS_H
#define LAYOUTS_H

#include "layout_cost.h"
#include "memory.h"

/* One step of a plan. Slots are the operands, then the results of the steps. */
typedef struct {
    int first, second; /* slots that it reads; second is -1 for a step of one */
    Order usual;       /* of the result, as the plan has it */
    Order chosen;
} Layout;

/* Writes the chosen order of every result, and says whether any is another than the usual one; nothing is written if
   not. For each `worth` nanoseconds of the whole contraction one step is looked at, those that take longest. */
bool layouts_choose(Memory *memory, const double *extents, int labels, const Order *operands, int operand_count,
                    Layout *steps, int step_count, double worth);

#endif
