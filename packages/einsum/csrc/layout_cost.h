/* What a contraction of two arrays costs by the orders of their labels, in nanoseconds. */
#ifndef LAYOUT_COST_H
#define LAYOUT_COST_H

#include "common.h"

enum { MOST_AXES = 64 };

typedef struct {
    const int *labels; /* the fastest first */
    int count;
} Order;

/* Strides by label in the three arrays; all zero between two calls. */
typedef struct {
    const double *extents; /* by label */
    double *strides[3];    /* by label, 0 where an array lacks it */
    bool closely; /* whether axes that lie apart, and vectors, are told from others: between trees of few terms that is
                     right more often, between orders of whole networks less often */
} Extents;

/* The two that are multiplied; their strides are noted while they are laid out. */
typedef struct {
    Order a, b;
    double first_size, second_size;
} Factors;

Factors factors_laid(const Extents *extents, Order a, Order b);
void factors_forgotten(const Extents *extents, const Factors *factors);

/* What it costs to write the product in an order; the bound, where that is less. */
double contraction_cost(const Extents *extents, const Factors *factors, Order c, double bound);

#endif
