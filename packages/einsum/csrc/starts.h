/* Trees to start from. Each takes a tree of the network's size, fills in children only, and returns its work: how many
   rotations would have taken as long, roughly. */
#ifndef SEARCH_STARTS_H
#define SEARCH_STARTS_H

#include "partial.h"

/* Joins the pair whose result is smallest beside `alpha` times what it replaces, again and again. `noise` is the
   temperature, in bits, at which worse pairs are taken. Source: opt_einsum's greedy and cotengra's random-greedy. */
int64_t greedy_tree(Memory *memory, const Network *network, double alpha, double noise, Random *random, Tree *tree);

/* Adds one term after the other, always the one that leaves the smallest boundary. */
int64_t sweep_tree(Memory *memory, const Network *network, Random *random, Tree *tree);

/* The same in the direction through the network that is best of many. */
int64_t direction_tree(Memory *memory, const Network *network, Random *random, Tree *tree);

/* Cuts the terms in two where few labels cross, then each part. The cut lies along a sweep, and is mended by moving
   terms across while that helps (Fiduccia and Mattheyses 1982). A part has at least this share of the terms. */
int64_t bisection_tree(Memory *memory, const Network *network, double share, Random *random, Tree *tree);

#endif
