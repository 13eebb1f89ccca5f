/* Sequences: kernels that run one after another in one call, as the steps of a contraction do, without going back to
 * Python in between.
 *
 * A slot holds an operand of the sequence, or the result of a step. Steps that compute from addresses (kernel.h) follow
 * one another in *stretches*: no Python object is made, results that only such steps read lie in one arena, whose places
 * are used again once nobody reads them any more, or in buffers of the caching allocator where they are large, at places
 * that are chosen beforehand; and the GIL is let go once for all of them where they are thought to take long. Every
 * other kernel is called with arrays. A result is dropped as soon as the last step that reads it is done. Signals are
 * looked at after every stretch, which ends after a millisecond or so.
 *
 * Two branches of steps that are too short to be shared among threads may run side by side (sequence_fork.c).
 *
 * sequence_kernel.c reads the steps, sequence_plan.c and sequence_places.c plan where and when, sequence.c runs them.
 */
#ifndef TENSOR_CPU_SEQUENCE_H
#define TENSOR_CPU_SEQUENCE_H

#include "core/kernel.h"

typedef enum {
    SAME_ADDRESS, /* a view that only addresses are read of: no step at all */
    IN_ARENA,
    IN_BUFFER, /* of its own */
    IN_ARRAY,  /* made for a step that computes */
    IN_OBJECT  /* what a kernel that was called gave */
} Home;

typedef struct {
    PyObject *kernel;
    Compute *compute; /* NULL for a kernel that is called */
    const void *plan; /* what it computes by */
    const ArrayForm *form;
    int number;                              /* of the step, as it was given */
    int read[MOST_READ], read_count, result; /* slots */
    Home home;                               /* of the result */
    Index place;                             /* in the arena, or of what is large in the region; -1 for none */
    int owner;                               /* of what has to be given back, -1 for none */
    int branch;                              /* of a fork, 1 or 2; 0 for none */
    bool is_address_read;                    /* the result's, by steps that compute; or written, where this one does */
    int dropped[MOST_READ + 1], dropped_count; /* owners */
} Step;

typedef struct {            /* steps that compute, of which at most the first makes an array; or one that is called */
    int begin, middle, end; /* from the middle on the steps of another branch, which run side by side with the first */
    bool lets_go;           /* of the GIL */
} Stretch;

typedef struct {
    int step, place; /* which operand of which step */
    int operand;     /* of the sequence */
} Reading;

typedef struct {
    int operand_count, slot_count, step_count, kept_count, stretch_count, owner_count, reading_count, result_count;
    bool is_single; /* the result is no tuple */
    Step *steps;    /* without those of SAME_ADDRESS */
    Stretch *stretches;
    size_t *owner_bytes; /* of buffers; 0 for objects */
    int *owners;         /* by slot, for what are objects */
    Reading *readings;
    int *results; /* slots */
    size_t arena_bytes, space_bytes;
    size_t region_bytes;  /* of the places of large results (sequence_places.c); 0 where none have one */
    size_t largest_bytes; /* of these results */
    ArrayForm made;   /* the form of the only result, where a step makes that as an array: who calls may give one, */
    int made_slot;    /* and its slot; -1 where no step does */
    PyObject *failed; /* from the number of a step and what it raised to what is raised */
} Sequence;

/* The space of a call: the address of every slot, what every owner holds, the arena; aligned to 64 bytes. */
static inline size_t sequence_addresses(const Sequence *sequence) {
    return (size_t)sequence->slot_count * sizeof(char *);
}

/* The call of the kernels, for kernel_new(). */
PyObject *sequence_call(PyObject *self, PyObject *const *arguments, size_t flagged_count, PyObject *names);

#endif
