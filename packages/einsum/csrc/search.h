/* The search: simplification, rounds on what is left, and a last look at the whole network. */
#ifndef SEARCH_SEARCH_H
#define SEARCH_SEARCH_H

#include "rounds.h"

typedef struct {
    Description network;
    bool smallest;           /* the largest result is what counts */
    bool timed;              /* time is what counts */
    double element_products; /* what moving an element costs beside a product */
    Cache cache;
    /* how fast the tree found will be contracted */
    double product_rate, element_rate, step_seconds;
    /* how long to search: rotations, a part of the time of contracting, and seconds; INFINITY where another counts */
    double rotations, share, seconds;
    double most_rotations; /* of a share */
    double largest;        /* log2 of the elements allowed at the peak, or INFINITY */
    uint64_t seed;
    int threads;
    double begun;
    bool (*interrupted)(void *data);
    void *data;
} Request;

enum { MOST_HISTORY = 200, ANNEALING = START_KINDS, EXACT_TREE, METHODS };

typedef enum { EXACT, BY_ROTATIONS, BY_SHARE, BY_SECONDS, INTERRUPTED, SETTLED } Reason;

typedef struct {
    double rotations, products, size;
} Progress;

typedef struct {
    int *path; /* pairs of ids */
    int *sliced, sliced_count;
    Measure measure;
    double rotations;
    double rotation_seconds; /* how long one is said to take */
    Progress history[MOST_HISTORY];
    int history_count;
    int times[METHODS]; /* how often each method was used, and its best: log2 of products */
    double best[METHODS];
    Reason reason;
} Outcome;

/* Fills in the outcome, in memory of the caller's, which has no way out yet; false where memory ran out. */
bool search_run(Memory *memory, const Request *request, Outcome *outcome);

#endif
