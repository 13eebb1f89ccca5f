/* The one walker of strided loops: places in several arrays at once, step by step along nested axes.
 *
 * An axis is a record of numbers: its extent, at least 1, and then its stride in each of the arrays; axes are outermost
 * first. A walk may begin at any step, so that threads can share it. What walks in another way, such as blocks that are
 * cut shorter at the end of an axis, counts with the same odometer and moves its own places.
 */
#ifndef TENSOR_CPU_STRIDED_WALK_H
#define TENSOR_CPU_STRIDED_WALK_H

#include "core/common.h"

/* Sets the index to that of a step, counted with the last axis fastest. The extents are `pitch` numbers apart. */
static inline void odometer_start(Index *index, int rank, const Index *extents, int pitch, Index step) {
    for (int axis = rank - 1; axis >= 0; axis--) {
        index[axis] = step % extents[axis * pitch];
        step /= extents[axis * pitch];
    }
}

/* Moves to the next step: returns the axis whose index has grown by 1, those behind it being 0 again; -1 after the last
 * step, when all are. */
static inline int odometer_step(Index *index, int rank, const Index *extents, int pitch) {
    int axis = rank - 1;
    for (; axis >= 0 && ++index[axis] == extents[axis * pitch]; axis--) index[axis] = 0;
    return axis;
}

enum { MOST_WALKED = 3 }; /* arrays */

typedef struct {
    Index index[MAX_RANK];
    Index offset[MOST_WALKED]; /* in the unit of the strides */
} StridedWalk;

/* Begins at a step. The records of axes are 1 + arrays numbers each. */
static inline void strided_walk_start(StridedWalk *walk, int rank, const Index *axes, int arrays, Index step) {
    odometer_start(walk->index, rank, axes, 1 + arrays, step);
    for (int k = 0; k < arrays; k++) {
        walk->offset[k] = 0;
        for (int axis = 0; axis < rank; axis++)
            walk->offset[k] += walk->index[axis] * axes[axis * (1 + arrays) + 1 + k];
    }
}

/* Where one step lies in the only array that the axes are of. */
static inline Index strided_offset(int rank, const Index *axes, Index step) {
    Index offset = 0;
    for (int axis = rank - 1; axis >= 0; axis--) {
        offset += step % axes[2 * axis] * axes[2 * axis + 1];
        step /= axes[2 * axis];
    }
    return offset;
}

/* Moves to the next step; from the last one to the first. */
static inline void strided_walk_step(StridedWalk *walk, int rank, const Index *axes, int arrays) {
    for (int axis = rank - 1; axis >= 0; axis--) {
        const Index *along = axes + axis * (1 + arrays);
        if (++walk->index[axis] < along[0]) {
            for (int k = 0; k < arrays; k++) walk->offset[k] += along[1 + k];
            return;
        }
        walk->index[axis] = 0;
        for (int k = 0; k < arrays; k++) walk->offset[k] -= (along[0] - 1) * along[1 + k];
    }
}

#endif
