/* How the elements of an array lie, and how far that leads: the one place where extents and strides are checked.
 *
 * Every binder brings what Python says about an operand through here before anything is computed from it. A layout
 * that has passed can be walked, cut into tiles and multiplied by the size of an element without overflow: its axes,
 * each taken at its full extent, reach no further than FARTHEST elements together.
 */
#ifndef TENSOR_CPU_STRIDED_LAYOUT_H
#define TENSOR_CPU_STRIDED_LAYOUT_H

#include "core/common.h"

/* Elements. Four times as many of the widest ones, of 16 bytes, are still within Index: a tile at the end of an axis
 * may end behind it, at most twice as far. */
static const Index FARTHEST = INT64_MAX / 64;

/* What axes amount to: how many elements, and the first and the last of them, counted from the first logical one. */
typedef struct {
    Index size;
    Index low, high; /* low <= 0 <= high; elements */
} Reach;

static const Reach NO_AXES = {1, 0, 0};

/* Of so many elements side by side. */
static inline Reach compact_reach(Index elements) { return (Reach){elements, 0, elements > 0 ? elements - 1 : 0}; }

/* Adds an axis. False, and nothing has changed, where the extent is negative or the elements would be too many or too
 * far apart. The stride of an axis of one element, or of an array without elements, is never used, and may be any. */
bool reach_extend(Reach *reach, Index extent, Index stride);

typedef struct {
    int rank;
    int item_bytes; /* of an element */
    Index extents[MAX_RANK], strides[MAX_RANK];
    Reach reach;
} StridedLayout;

/* Fills in the layout; false where there can be no such array. */
bool strided_layout(StridedLayout *layout, int rank, const Index *extents, const Index *strides, int item_bytes);

/* The layout of the same extents without gaps, the last axis fastest. */
StridedLayout compact_layout(const StridedLayout *layout);

/* Whether both have one order without gaps; strides along axes of one element do not matter. */
bool lie_alike(const StridedLayout *a, const StridedLayout *b);

/* The bytes that a layout touches, counted from its first logical element: low <= byte < end. None without elements. */
static inline Index layout_low(const StridedLayout *layout) { return layout->reach.low * layout->item_bytes; }
static inline Index layout_end(const StridedLayout *layout) {
    return layout->reach.size == 0 ? 0 : (layout->reach.high + 1) * layout->item_bytes;
}

#endif
