/* Bands: a network cut along straight lines by slices, so that each part is swept by itself. */
#ifndef SEARCH_BANDS_H
#define SEARCH_BANDS_H

#include "slices.h"

/* Cuts the network, and each part again, until no more than the size lives at once when a part is swept; slices what
   crosses, and sweeps one part after the other. With `halves` parts are cut in the middle of their best direction, else along
   the direction, and in as many parts, as takes the fewest slices. Fills in the children of the tree, unless the slices alone
   weigh as much as `dearest`, and returns its work in rotations, roughly. */
int64_t banded_tree(Memory *memory, const Network *network, Log size, double dearest, bool halves, Random *random,
                    Tree *tree, Slices *slices);

#endif
