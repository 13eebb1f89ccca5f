/* A network on its way: terms that are left after some have been contracted. */
#ifndef SEARCH_PARTIAL_H
#define SEARCH_PARTIAL_H

#include "tree.h"

typedef struct {
    Memory *memory;
    const Network *network;
    int nodes; /* terms and contractions so far */
    bool *alive;
    Word *legs;
    Word *lasting; /* labels that stay when two terms that have them are joined */
    Log *size;
    Ints *holders; /* of each label: nodes alive that have it */
    int *left, *right;
} Partial;

enum { NEIGHBOURS = 64 }; /* holders of one label that are looked at; more would take too long */

Partial partial_take(Memory *memory, const Network *network);
void partial_legs(const Partial *partial, int a, int b, Word *legs); /* of a and b, joined */
Log partial_size(const Partial *partial, int a, int b);
int partial_join(Partial *partial, int a, int b);

/* Joins terms where nothing can be lost by it, or little; the rest is left to the search. */
void simplify(Partial *partial);

/* What is left, as a network of its own; ids has the node of each of its terms. */
Network partial_network(Memory *memory, const Partial *partial, int *ids);

#endif
