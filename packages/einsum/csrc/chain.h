/* Chains: each looks for trees on its own, from its own random numbers, and keeps the best. */
#ifndef SEARCH_CHAIN_H
#define SEARCH_CHAIN_H

#include "clock.h"
#include "slices.h"
#include "starts.h"
#include "subtree.h"

typedef enum { GREEDY, SWEEP, DIRECTION, BISECTION, START_KINDS } StartKind;

typedef struct {
    const Network *network;
    Aim aim;
    Memory memory;
    jmp_buf out;
    bool failed; /* memory ran out */
    Random random;
    Subtrees subtrees;
    Limit limit;
    Tree tree, best;
    Slices slices, best_slices;
    double cost, best_cost; /* log2, in units of cost, of all slices; the best one keeps the limit */
    Tree starts[START_KINDS];
    double start_costs[START_KINDS];
    int start_counts[START_KINDS];
} Chain;

/* Takes the memory of a chain; false where there is not enough. */
bool chain_make(Chain *chain, const Network *network, const Aim *aim, uint64_t seed);
void chain_free(Chain *chain);

/* Draws trees of all kinds in turn until the leash ends, and mends the best of each. Chains begin with different kinds;
   the one with 0 draws at least the greedy tree without noise. */
void chain_start(Chain *chain, int first, Leash *leash);

/* From now on a limit counts; no tree that was found before is the best one any more, and nothing is sliced: the chain
   starts or begins before it anneals. */
void chain_limit(Chain *chain, const Limit *limit);

/* Goes on from another tree and its slices, none if NULL, which is sliced until it keeps the limit. */
void chain_begin(Chain *chain, const Tree *tree, const Slices *slices);

/* Goes on from the network cut in bands, the cheapest of a few draws, if that is cheaper than the best tree. */
void chain_bands(Chain *chain, Leash *leash);

/* Anneals `tree` between two temperatures in bits, and keeps the best tree on the way in `best`. */
void chain_anneal(Chain *chain, double hot, double cold, Leash *leash);

/* The same from a tree without slices, while what a result may have falls from its largest one to the limit, so that
   slices are chosen one by one, and the tree is annealed to those that there are. */
void chain_lower(Chain *chain, const Tree *tree, double hot, double cold, Leash *leash);

/* Mends subtrees of the best tree by dynamic programming until none becomes cheaper, and takes needless slices out. */
void chain_finish(Chain *chain, Leash *leash);

static inline bool is_limited(const Chain *chain) { return chain->limit.largest < INFINITY; }

#endif
