/* Slicing: labels that are fixed to one value at a time, so that results fit. A tree costs as often as there are slices. */
#ifndef SEARCH_SLICES_H
#define SEARCH_SLICES_H

#include "clock.h"
#include "tree.h"

typedef struct {
    Word *labels;
    Log weight; /* log of the number of slices */
} Slices;

typedef struct {
    double largest; /* log2 of the elements that may be live at the peak; INFINITY without a limit */
    Log size;       /* what a result may have, so that the peak is kept too: it is moved while searching */
    Clock *clock;   /* when it is over, slices are chosen in a hurry, and none is tried without; may be NULL */
} Limit;

Slices slices_take(Memory *memory, const Network *network);
void slices_copy(const Network *network, Slices *to, const Slices *from);
void slices_clear(const Network *network, Slices *slices);

/* Slices labels of the largest results, each time what costs least for each bit, until none is above the size. The
   costs are compared with noise of that many bits. When the clock is over, which may be NULL, costs are not counted anew
   after every label. False where nothing is left to slice. */
bool slices_add(Memory *memory, const Network *network, const Aim *aim, Log size, double noise, Random *random,
                Clock *clock, Tree *tree, Slices *slices);

/* Slices until the peak is kept as well; false where that is impossible. */
bool slices_fit(Memory *memory, const Network *network, const Aim *aim, const Limit *limit, Random *random, Tree *tree,
                Slices *slices);

/* Takes labels out again, the heaviest first, as long as the limit is kept. */
void slices_drop(Memory *memory, const Network *network, const Aim *aim, const Limit *limit, Tree *tree,
                 Slices *slices);

bool slices_keep(Memory *memory, const Network *network, const Limit *limit, Tree *tree, const Slices *slices);

/* One label more, and one less, of a tree that is filled in: only what has it is counted anew. */
void slices_cut(const Network *network, const Aim *aim, Tree *tree, Slices *slices, int position);
void slices_take_out(Memory *memory, const Network *network, const Aim *aim, Tree *tree, Slices *slices, int position);

static inline const Word *sliced_labels(const Slices *slices) { return slices->weight ? slices->labels : NULL; }

#endif
