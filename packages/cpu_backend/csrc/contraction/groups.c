/* Reads groups of axes from Python, and writes down where their elements lie (groups.h). */
#include "contraction/groups.h"
#include "core/arguments.h"

#include <stdlib.h>

Group group_empty(void) { return (Group){.size = 1, .reach = {NO_AXES, NO_AXES, NO_AXES}}; }

Reach groups_reach(const Group *const *groups, int count, Role role) {
    Reach all = NO_AXES;
    for (int i = 0; i < count; i++) {
        all.low += groups[i]->reach[role].low;
        all.high += groups[i]->reach[role].high;
    }
    return all;
}

PyObject *kernel_with_groups(PyObject *kernel, ElementType type, const Group *const *groups, int count, Role first,
                             Index entries) {
    if (kernel == NULL) return NULL; /* the groups may have gone with its plan */
    const Role second = first == FIRST ? SECOND : FIRST;
    const Operand operands[] = {{type, groups_reach(groups, count, first), false},
                                {type, groups_reach(groups, count, second), false}};
    return kernel_with_tables(kernel_with_operands(kernel, operands, 2), entries);
}

int group_extend(Group *group, GroupAxis axis) {
    for (int role = 0; role < ROLES; role++)
        if (!reach_read(&group->reach[role], axis.extent, axis.stride[role])) return -1;
    group_add(group, axis);
    return 0;
}

int group_read(Group *group, PyObject *axes) {
    *group = group_empty();
    const int length = tuple_length(axes, MAX_RANK, "axes");
    if (length < 0) return -1;
    for (int place = 0; place < length; place++) {
        Index numbers[1 + ROLES];
        int count = indices_read(numbers, 1 + ROLES, PyTuple_GET_ITEM(axes, place));
        if (count < 0) return -1;
        if (count != 1 + ROLES || numbers[0] < 1) {
            PyErr_Format(PyExc_ValueError, "expected an extent above 0 and three strides, found %R",
                         PyTuple_GET_ITEM(axes, place));
            return -1;
        }
        GroupAxis axis = {numbers[0], {numbers[1], numbers[2], numbers[3]}};
        if (group_extend(group, axis) < 0) return -1;
    }
    return 0;
}

bool groups_make_result(const Group *const *groups, int count, Index elements) {
    Index made = 1;
    bool beyond = false;
    Index last = 0; /* the reach of a group is within an Index, and so is the sum of a few */
    for (int i = 0; i < count; i++) {
        beyond |= __builtin_mul_overflow(made, groups[i]->size, &made);
        for (int axis = 0; axis < groups[i]->rank; axis++) {
            const GroupAxis *along = &groups[i]->axes[axis];
            beyond |= along->stride[RESULT] < 0;
            last += (along->extent - 1) * along->stride[RESULT];
        }
    }
    if (!beyond && made == elements && last == elements - 1) return true;
    PyErr_Format(PyExc_ValueError, "the axes of the result do not lead to its %lld elements", (long long)elements);
    return false;
}

/* Each axis steps over all that those with shorter steps reach together. */
bool groups_lie_apart(const Group *const *groups) {
    const GroupAxis *axes[2 * MAX_RANK]; /* by the length of their steps */
    int rank = 0;
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < groups[i]->rank; k++) {
            const GroupAxis *axis = &groups[i]->axes[k];
            if (axis->extent == 1) continue;
            int place = rank++;
            for (; place > 0 && axes[place - 1]->stride[RESULT] > axis->stride[RESULT]; place--)
                axes[place] = axes[place - 1];
            axes[place] = axis;
        }
    Index reach = 0; /* that of a group is within an Index, and so is the sum of a few */
    for (int i = 0; i < rank; i++) {
        if (axes[i]->stride[RESULT] <= reach) {
            PyErr_SetString(PyExc_ValueError, "the axes of the result lead to one element several times");
            return false;
        }
        reach += (axes[i]->extent - 1) * axes[i]->stride[RESULT];
    }
    return true;
}

void group_offsets(Index *offsets, const Group *group, Role role, Index first, Index count) {
    StridedWalk walk;
    Index axes[2 * MAX_RANK]; /* as this role alone sees them */
    for (int axis = 0; axis < group->rank; axis++) {
        axes[2 * axis] = group->axes[axis].extent;
        axes[2 * axis + 1] = group->axes[axis].stride[role];
    }
    strided_walk_start(&walk, group->rank, axes, 1, first);
    for (Index i = 0; i < count; i++) {
        offsets[i] = walk.offset[0];
        strided_walk_step(&walk, group->rank, axes, 1);
    }
}

Index *group_table(const Group *group, Role role) {
    if (group->size > LONGEST_TABLE) {
        PyErr_Format(PyExc_ValueError, "a group of %lld elements is too long for a table", (long long)group->size);
        return NULL;
    }
    Index *table = malloc((size_t)group->size * sizeof *table);
    if (table == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    group_offsets(table, group, role, 0, group->size);
    return table;
}
