/* A sequence in the making: what sequence_plan.c and sequence_fork.c know of its slots and steps. */
#ifndef TENSOR_CPU_SEQUENCE_DRAFT_H
#define TENSOR_CPU_SEQUENCE_DRAFT_H

#include "sequence/sequence.h"

typedef struct {
    Index begin, end;
} Interval;

typedef struct {
    Sequence *sequence;
    int *root;              /* by slot: the slot whose address it has */
    int *readers;           /* by root: how many steps read it, and results of the sequence it is */
    int *last_read;         /* by root: when the last step that reads it runs; INT_MAX for results */
    bool *needs_object;     /* by slot */
    bool *is_computed_from; /* by root: a step reads its address */
    Step *maker;            /* by slot: of all steps, those of SAME_ADDRESS too */
    int *order;             /* the number of the step that runs first, second ... */
    Interval *used, *outer; /* of the arena, in order; of the arena around that of a branch */
    int used_count, outer_count;
    size_t outer_bytes;
} Draft;

/* Whether an operand of a step is the one before it, too. */
static inline bool reads_again(const Step *step, int place) { return place > 0 && step->read[place] == step->read[0]; }

/* Fills in everything but operands, steps as they were read, results and what is raised; false with an exception set. */
bool sequence_plan(Sequence *sequence);

/* Chooses places for what is large, once all else is planned; false with an exception set. */
bool sequence_place(Sequence *sequence);

/* Sets a ValueError; false. */
bool sequence_refuse(const char *what, int number);

/* Where two branches pay that run side by side, lets them follow one another in the order; their steps say which is
 * which. The order was that of the steps, and readers are known. False, with an exception set, when memory is short. */
bool sequence_fork(Draft *draft);

#endif
