/* Directions through a network: terms in the order of a combination of their distances from a few terms far apart. On
   a grid these are straight lines at any angle. Source: the high-dimensional embedding of Harel and Koren (2002). */
#ifndef SEARCH_DIRECTIONS_H
#define SEARCH_DIRECTIONS_H

#include "parts.h"

enum { PIVOTS = 4 };

typedef struct {
    double along[PIVOTS];
} Direction;

typedef struct {
    double key;
    int term;
} Keyed;

typedef struct {
    int *distances[PIVOTS]; /* in steps from term to term */
    Keyed *keyed;
    int farthest, drawn;
} Directions;

Directions directions_take(Memory *memory, const Network *network);

/* Measures a part of the terms anew, from some that are far apart in it; the parts' holders are those of `sets`. */
void directions_measure(Directions *directions, Memory *memory, Parts *parts, const Word *without, const int *terms,
                        int count);

/* The first are sums and differences of two distances, later ones are any. */
Direction direction_draw(Directions *directions, Random *random);

/* Sorts terms along a direction. */
void directions_sort(Directions *directions, const Direction *direction, int *terms, int count);

#endif
