/* Trees of contractions. Nodes 0 to n-1 are terms, n to 2n-2 contractions in any order; `top` is the last. */
#ifndef SEARCH_TREE_H
#define SEARCH_TREE_H

#include "network.h"

typedef struct {
    int terms, words, top;
    int *left, *right;
    Word *legs; /* open labels of every node, without those that are sliced */
    Log *cost;  /* of every contraction */
    Log *size;  /* of every node; kept only where the aim looks at sizes */
} Tree;

/* How large a tensor may be, log2 of its elements, that is moved in the cache; and by how many bits others are slower. */
typedef struct {
    double bits, uncached;
} Cache;

/* What a tree takes in all, exactly but for rounding; log2 of numbers. */
typedef struct {
    double products, elements; /* of all slices together; elements moved, those beyond the cache several times */
    double size, peak;         /* of one slice; the peak has the whole result besides where there are slices */
} Measure;

Tree tree_take(Memory *memory, const Network *network);
void tree_copy(Tree *to, const Tree *from);

/* Legs, sizes and costs from the children; `sliced` is a set of labels left out, or NULL. */
void tree_fill(Memory *memory, const Network *network, const Aim *aim, const Word *sliced, Tree *tree);
void tree_reprice(const Network *network, const Aim *aim, Tree *tree); /* sizes and costs from the legs */

/* Contractions, operands before results; order has terms - 1 places. */
void tree_order(Memory *memory, const Tree *tree, int *order);

double tree_cost(const Tree *tree); /* log2 of the sum of costs, in units of cost */
Log tree_size(const Tree *tree);    /* of the largest result */

/* Log2 of the elements live at the peak, nearly: weights are rounded. */
double tree_peak(Memory *memory, const Network *network, const Word *sliced, const Tree *tree);

/* Counts exactly; swaps children so that the one that needs more room comes first. Without a cache, every element takes
   as long to move. */
Measure tree_measure(Memory *memory, const Network *network, const Word *sliced, const Cache *cache, Tree *tree);

static inline bool is_term(const Tree *tree, int node) { return node < tree->terms; }

#endif
