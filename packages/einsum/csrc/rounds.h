/* Rounds: chains that search side by side, and compare what they have at fixed counts, so that the result is the same
   whatever the number of threads. */
#ifndef SEARCH_ROUNDS_H
#define SEARCH_ROUNDS_H

#include "chain.h"

enum { CHAINS = 8 };

typedef enum { MAKE, START, ANNEAL, LIMIT, FINISH } Task;

/* How a tree stands to the limit; what comes later is better, whatever it costs. */
typedef enum { NOTHING, WITHOUT_LIMIT, EXCEEDS, KEEPS } Standing;

typedef struct Rounds {
    const Network *network;
    Clock *clock;
    double largest; /* log2 of the elements allowed at the peak, or INFINITY */
    Aim aim;
    uint64_t seed;
    int threads, wanted, active; /* chains that there are to be, and that have something to do */
    Chain chains[CHAINS];
    int made;
    jmp_buf out; /* where chains go between tasks when memory runs out */
    bool failed; /* it did */
    int64_t work;
    int anneals;
    /* the best of all chains */
    Tree best;
    Slices best_slices;
    double best_cost;
    Standing standing;
    void (*note)(void *data, struct Rounds *rounds); /* called when the best one has changed */
    void *data;
    /* what the tasks at hand do */
    int64_t end_work; /* INT64_MAX where only time counts */
    double until, parts_left;
    Task task;
    Leash leash;
    double seconds; /* of each task; INFINITY where only work counts */
    double hot[CHAINS], cold[CHAINS];
    int64_t done[CHAINS];
} Rounds;

bool rounds_make(Rounds *rounds, Memory *memory, const Network *network, const Aim *aim, uint64_t seed);
void rounds_free(Rounds *rounds);

/* One search: starts, annealing from hot to cold, and from the best tree again. It takes as much work, or time. */
void rounds_run(Rounds *rounds, int64_t work, double seconds);

#endif
