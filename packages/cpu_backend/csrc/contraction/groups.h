/* Groups of axes of a contraction: how far apart the elements of both operands and of the result lie along them.
 *
 * Python decides which axes form a group (tensor_runtime.backends.shared.axes); here a group is either walked, element by element,
 * or written down as a table of offsets. An axis that an array lacks has stride 0 there. Axes are outermost first.
 *
 * A table takes 8 bytes for each element of its group, for as long as the kernel lives, so groups of more than
 * LONGEST_TABLE elements get none: 8 MiB. A group takes 2 KiB whatever its rank.
 */
#ifndef TENSOR_CPU_GROUPS_H
#define TENSOR_CPU_GROUPS_H

#include "core/cpu.h"
#include "core/kernel.h"
#include "core/strided_layout.h"
#include "core/strided_walk.h"

#define PY_SSIZE_T_CLEAN
#include <Python.h>

enum { LONGEST_TABLE = 1 << 20 }; /* entries */

typedef enum { FIRST, SECOND, RESULT, ROLES } Role;
_Static_assert((int)ROLES <= (int)MOST_WALKED, "a walk has an offset for each role");

typedef struct { /* a record of strided_walk.h */
    Index extent;
    Index stride[ROLES];
} GroupAxis;

typedef struct {
    int rank;
    Index size; /* elements */
    GroupAxis axes[MAX_RANK];
    Reach reach[ROLES]; /* of the axes that were read */
} Group;

/* Fills group from a tuple of (extent, stride in the first operand, in the second, in the result), outermost first,
 * every extent at least 1; -1 with an exception set, also where a number of elements or bytes is beyond Index. */
int group_read(Group *group, PyObject *axes);

/* Whether an element of each of so many groups makes one of the result, which has so many; else a ValueError is set. */
bool groups_make_result(const Group *const *groups, int count, Index elements);

/* Appends an axis to a group of fewer than MAX_RANK; -1 with an exception set, as group_read(). */
int group_extend(Group *group, GroupAxis axis);
Group group_empty(void);

/* How far several groups, as they were read, lead together in the array of a role. */
Reach groups_reach(const Group *const *groups, int count, Role role);

/* The kernel, which may be NULL, after noting that several groups, as they were read, lead through its two arguments of
 * this type, of which the first has the role `first`, and that its plan holds tables of so many entries. */
PyObject *kernel_with_groups(PyObject *kernel, ElementType type, const Group *const *groups, int count, Role first,
                             Index entries);

/* Whether no two elements of the first two groups are one place of the result; else a ValueError is set. */
bool groups_lie_apart(const Group *const *groups);

/* Writes the offsets of `count` elements of the group, from the element of number `first` on, in row-major order, in
 * the array of this role. */
void group_offsets(Index *offsets, const Group *group, Role role, Index first, Index count);

/* A new table of the offsets of every element of the group in the array of this role; NULL with an exception set. */
Index *group_table(const Group *group, Role role);

/* Whether results of this form are written past the caches, which they leave before anybody reads them. */
static inline bool results_stream(const ArrayForm *result) { return (size_t)result->bytes >= cpu_streamed_bytes(); }

/* The size may not grow beyond what group_read() would accept. */
static inline void group_add(Group *group, GroupAxis axis) {
    group->axes[group->rank++] = axis;
    group->size *= axis.extent;
}

/* Whether the elements of the group follow one another in the array of this role. */
static inline bool group_is_run(const Group *group, Role role) {
    Index size = 1;
    for (int axis = group->rank - 1; axis >= 0; size *= group->axes[axis--].extent)
        if (group->axes[axis].stride[role] != size) return false;
    return true;
}

/* Walks over the elements of a group, in row-major order: begins at the element of this number. The offsets of the walk
 * are those of the roles. */
static inline void group_walk_start(StridedWalk *walk, const Group *group, Index number) {
    strided_walk_start(walk, group->rank, (const Index *)group->axes, ROLES, number);
}
static inline void group_walk_step(StridedWalk *walk, const Group *group) {
    strided_walk_step(walk, group->rank, (const Index *)group->axes, ROLES);
}

#endif
