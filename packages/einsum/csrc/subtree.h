/* Exact optimisation of small subtrees: dynamic programming over the subsets of at most a dozen nodes. */
#ifndef SEARCH_SUBTREE_H
#define SEARCH_SUBTREE_H

#include "tree.h"

enum { MOST_LEAVES = 14 };

/* What is put together anew: nodes that stay closed, and those above them. */
typedef struct {
    int top, leaves[MOST_LEAVES], inner[MOST_LEAVES];
    int leaf_count, inner_count;
    Log base;
    double cost; /* of the inner nodes, in units of 2^base */
} Region;

typedef struct {
    const Network *network;
    const Aim *aim;
    int leaves;    /* that the tables have room for */
    Word *joined;  /* labels of the nodes in each subset */
    Word *legs;    /* those that stay open */
    Log *size;     /* their weight */
    double *best;  /* cost of the best tree of each subset */
    int *split;    /* one half of its last contraction */
    double slack;  /* times the cost that is to be beaten: what costs more is not looked at */
    int64_t work;  /* in rotations, roughly */
    Region region; /* the last one */
} Subtrees;

Subtrees subtrees_take(Memory *memory, const Network *network, const Aim *aim, int leaves);

/* Makes the contractions right below a node the best there are; whether anything became cheaper. Nodes are opened in
   order of their cost, or at random, until there are `leaves` that stay closed. */
bool subtree_improve(Subtrees *subtrees, Tree *tree, int top, int leaves, Random *random);

/* Of the last region: products of a subset's contraction from one half and the other, what it costs in the unit of `best`,
   and the tree that the halves are of. */
Log subtree_products(const Subtrees *subtrees, int subset, int part);
double subtree_price(const Subtrees *subtrees, int subset, Log products);
void subtree_rebuild(const Subtrees *subtrees, Tree *tree);

#endif
