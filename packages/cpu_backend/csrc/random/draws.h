/* Random numbers of an array (philox.c), for calls that make it themselves. */
#ifndef TENSOR_CPU_DRAWS_H
#define TENSOR_CPU_DRAWS_H

#include "core/common.h"

enum { DRAWN_AT_ONCE = 1 << 13 }; /* words, below which neither another thread nor giving up the GIL is worth it */

typedef enum { UNIFORM, INTEGERS, NORMAL } Distribution; /* by their domains */

typedef struct {
    uint64_t seed, stream, domain;
    uint64_t low, number; /* of integers; 0 stands for 2 to the power of 64 */
    Index count;          /* words: elements, or parts of complex ones */
    void *result;
} Draw;

/* Fills the result, of elements of this type, in this thread; false where the domain does not give such elements. */
bool draw_here(Draw *draw, ElementType type);

#endif
