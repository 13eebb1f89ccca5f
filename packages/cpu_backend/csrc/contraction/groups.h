/* Groups of axes of a contraction: how far apart the elements of both operands and of the result lie along them.
 *
 * Python decides which axes form a group (tensor_cpu.kernels.axes); here a group is either walked, element by element,
 * or written down as a table of offsets. An axis that an array lacks has stride 0 there. Axes are outermost first.
 *
 * A table takes 8 bytes for each element of its group, for as long as the kernel lives, so groups of more than
 * LONGEST_TABLE elements get none: 8 MiB. A group takes 2 KiB whatever its rank.
 */
#ifndef TENSOR_CPU_GROUPS_H
#define TENSOR_CPU_GROUPS_H

#include "core/common.h"

#define PY_SSIZE_T_CLEAN
#include <Python.h>

enum { LONGEST_TABLE = 1 << 20 }; /* as in tensor_cpu/kernels/contraction/native.py */

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
 * every extent at least 1; -1 with an exception set, also where a number of elements or bytes is beyond Index. */
int group_read(Group *group, PyObject *axes);

/* Whether an element of each of so many groups makes one of the result, which has so many; else a ValueError is set. */
bool groups_make_result(const Group *const *groups, int count, Index elements);

/* Appends an axis to a group of fewer than MAX_RANK; -1 with an exception set, as group_read(). `reach` is how far the
 * axes before lead from the first element of each array; it is brought up to date. */
int group_extend(Group *group, GroupAxis axis, Index reach[ROLES]);

/* Whether no two elements of two groups are one place of the result; else a ValueError is set. */
bool groups_lie_apart(const Group *const groups[2]);

/* Writes the offsets of `count` elements of the group, from the element of number `first` on, in row-major order, in
 * the array of this role. */
void group_offsets(Index *offsets, const Group *group, Role role, Index first, Index count);

/* A new table of the offsets of every element of the group in the array of this role; NULL with an exception set. */
Index *group_table(const Group *group, Role role);

/* The size may not grow beyond what group_read() would accept. */
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
