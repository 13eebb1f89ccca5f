/* Checks extents and strides (strided_layout.h). */
#include "core/strided_layout.h"

bool reach_extend(Reach *reach, Index extent, Index stride) {
    Index size, length;
    if (extent < 0) return false;
    if (extent == 0 || reach->size == 0) {
        *reach = (Reach){0, 0, 0};
        return true;
    }
    if (extent == 1) return true;
    if (__builtin_mul_overflow(reach->size, extent, &size) || size > FARTHEST) return false;
    if (__builtin_mul_overflow(extent, stride, &length) || length < -FARTHEST || length > FARTHEST) return false;
    const Index last = length - stride;
    if (reach->high - reach->low + magnitude(length) > FARTHEST) return false;
    reach->size = size;
    if (last < 0) reach->low += last;
    else reach->high += last;
    return true;
}

bool strided_layout(StridedLayout *layout, int rank, const Index *extents, const Index *strides, int item_bytes) {
    layout->rank = rank;
    layout->item_bytes = item_bytes;
    layout->reach = NO_AXES;
    bool empty = false;
    for (int axis = 0; axis < rank; axis++) {
        layout->extents[axis] = extents[axis];
        layout->strides[axis] = strides[axis];
        if (extents[axis] < 0) return false;
        empty |= extents[axis] == 0;
    }
    if (empty) layout->reach.size = 0; /* whatever the other extents are */
    for (int axis = 0; axis < rank; axis++)
        if (!reach_extend(&layout->reach, extents[axis], strides[axis])) return false;
    return true;
}

StridedLayout compact_layout(const StridedLayout *layout) {
    StridedLayout compact = *layout;
    Index stride = 1;
    for (int axis = layout->rank - 1; axis >= 0; axis--) {
        compact.strides[axis] = stride;
        if (layout->reach.size > 0) stride *= layout->extents[axis];
    }
    compact.reach.low = 0;
    compact.reach.high = layout->reach.size > 0 ? layout->reach.size - 1 : 0;
    return compact;
}

bool lie_alike(const StridedLayout *a, const StridedLayout *b) {
    bool alike = a->rank == b->rank;
    for (int axis = 0; alike && axis < a->rank; axis++)
        alike = a->extents[axis] == b->extents[axis] && (a->extents[axis] == 1 || a->strides[axis] == b->strides[axis]);
    return alike;
}
