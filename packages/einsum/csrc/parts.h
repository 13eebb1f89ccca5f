/* Parts of a network's terms, put in order by growing, and cut in two. */
#ifndef SEARCH_PARTS_H
#define SEARCH_PARTS_H

#include "starts.h"

typedef struct {
    const Network *network;
    Memory *memory;
    Random *random;
    Ints *holders;         /* of each label */
    int *outside, *inside; /* of each label: holders left, and holders taken */
    int *state;            /* of each term: in no part, in this part, at the boundary, taken */
    int *boundary, *order; /* terms at the boundary; terms as they were taken */
    Word *open, *closing;  /* labels of what was taken; labels that one more term closes */
    int64_t work;
} Parts;

Parts parts_take(Memory *memory, const Network *network, Random *random);

/* Puts a part into the order in which it grows from a corner of it. */
void parts_sweep(Parts *parts, int *terms, int count);

/* Joins one term after the other. */
void chain_tree(const Network *network, const int *terms, Tree *tree);

#endif
