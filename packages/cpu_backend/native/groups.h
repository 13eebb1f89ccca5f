/* Groups of axes of a contraction: how far apart the elements of both operands and of the result lie along them.
 *
 * Python decides which axes form a group (tensor_cpu.axes); here a group is either walked, element by element, or
 * written down as a table of offsets. An axis that an array lacks has stride 0 there. Axes are outermost first.
 */
#ifndef TENSOR_CPU_GROUPS_H
#define TENSOR_CPU_GROUPS_H

#include "common.h"

#define PY_SSIZE_T_CLEAN
#include <Python.h>

typedef enum { FIRST, SECOND, RESULT, ROLES } Role;

typedef struct {
    Index extent;
    Index stride[ROLES];
} GroupAxis;

typedef struct {
    int rank;
    Index size; /* elements */
    GroupAxis axes[MAX_RANK];
} Group;

/* A place in a group. */
typedef struct {
    Index index[MAX_RANK];
    Index offset[ROLES];
} Walk;

/* Fills group from a tuple of (extent, stride in the first operand, in the second, in the result), outermost first,
 * every extent at least 1; -1 with an exception set. */
int group_read(Group *group, PyObject *axes);

/* A new table of the offsets of every element of the group in the array of this role; NULL without memory. */
Index *group_table(const Group *group, Role role);

static inline void group_add(Group *group, GroupAxis axis) {
    group->axes[group->rank++] = axis;
    group->size *= axis.extent;
}

/* The element of this number, in row-major order. */
static inline void walk_start(Walk *walk, const Group *group, Index number) {
    for (int role = 0; role < ROLES; role++) walk->offset[role] = 0;
    for (int axis = group->rank - 1; axis >= 0; axis--) {
        const GroupAxis *along = &group->axes[axis];
        walk->index[axis] = number % along->extent;
        number /= along->extent;
        for (int role = 0; role < ROLES; role++) walk->offset[role] += walk->index[axis] * along->stride[role];
    }
}

static inline void walk_step(Walk *walk, const Group *group) {
    for (int axis = group->rank - 1; axis >= 0; axis--) {
        const GroupAxis *along = &group->axes[axis];
        if (++walk->index[axis] < along->extent) {
            for (int role = 0; role < ROLES; role++) walk->offset[role] += along->stride[role];
            return;
        }
        for (int role = 0; role < ROLES; role++) walk->offset[role] -= (along->extent - 1) * along->stride[role];
        walk->index[axis] = 0;
    }
}

#endif
