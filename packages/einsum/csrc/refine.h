/* Among trees of few terms that cost nearly the same: the one whose contractions take the least time by the orders of
   their labels, which costs by sets of labels do not see. */
#ifndef SEARCH_REFINE_H
#define SEARCH_REFINE_H

#include "subtree.h"

/* Trees that cost up to so many times as much as the best one are looked at. */
extern const double REFINED_SLACK;

/* Whether the tree became another one. The tables have the best trees of all subsets of its terms, found with that slack;
   the description has the labels of terms and output in order. Looking takes a share of the time of contracting at most. */
bool refine_tree(Memory *memory, const Description *from, Subtrees *subtrees, double share, Tree *tree);

#endif
