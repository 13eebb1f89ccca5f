/* Annealing: a tree is changed by rotations, ((A, B), C) to ((A, C), B), which are kept if they make it cheaper, and
   with a probability that falls if they do not. Source: Kalachev, Panteleev and Yung, arXiv:2108.05665 (2021). What is
   compared is the sum of the costs of the two contractions that a rotation changes, as a logarithm. */
#ifndef SEARCH_ANNEAL_H
#define SEARCH_ANNEAL_H

#include "tree.h"

/* Tries that many rotations at one temperature, in bits. Sizes are kept if the aim looks at them. */
void rotate(const Network *network, const Aim *aim, Tree *tree, double temperature, int64_t count, Random *random);

#endif
