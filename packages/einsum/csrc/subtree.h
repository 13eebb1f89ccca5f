/* Exact optimisation of small subtrees: dynamic programming over the subsets of at most a dozen nodes. */
#ifndef SEARCH_SUBTREE_H
#define SEARCH_SUBTREE_H

#include "tree.h"

enum { MOST_LEAVES = 14 };

typedef struct {
    const Network *network;
    const Aim *aim;
    int leaves;   /* that the tables have room for */
    Word *joined; /* labels of the nodes in each subset */
    Word *legs;   /* those that stay open */
    Log *size;    /* their weight */
    double *best; /* cost of the best tree of each subset */
    int *split;   /* one half of its last contraction */
    int64_t work; /* in rotations, roughly */
} Subtrees;

Subtrees subtrees_take(Memory *memory, const Network *network, const Aim *aim, int leaves);

/* Makes the contractions right below a node the best there are; whether anything became cheaper. Nodes are opened in
   order of their cost, or at random, until there are `leaves` that stay closed. */
bool subtree_improve(Subtrees *subtrees, Tree *tree, int top, int leaves, Random *random);

#endif
