/* Reads groups of axes from Python, and writes down where their elements lie (groups.h). */
#include "contraction/groups.h"
#include "core/arrays.h"

#include <stdlib.h>

enum { MOST_ELEMENT_BYTES = 16 };

/* Whether one more axis leaves the number of elements, and their distances in bytes, within Index. */
static bool stays_in_range(const Group *group, const GroupAxis *axis, Index *reach) {
    const Index farthest = INT64_MAX / MOST_ELEMENT_BYTES;
    Index size;
    bool beyond = __builtin_mul_overflow(group->size, axis->extent, &size);
    for (int role = 0; role < ROLES; role++) {
        const Index stride = axis->stride[role];
        Index far;
        beyond |= stride < -farthest || stride > farthest;
        beyond = beyond || __builtin_mul_overflow(axis->extent - 1, stride < 0 ? -stride : stride, &far) ||
                 __builtin_add_overflow(reach[role], far, &reach[role]) || reach[role] > farthest;
    }
    return !beyond;
}

int group_extend(Group *group, GroupAxis axis, Index reach[ROLES]) {
    if (!stays_in_range(group, &axis, reach)) {
        PyErr_SetString(PyExc_OverflowError, "axes of more elements than can be addressed");
        return -1;
    }
    group_add(group, axis);
    return 0;
}

int group_read(Group *group, PyObject *axes) {
    Index reach[ROLES] = {0};
    group->rank = 0;
    group->size = 1;
    if (!PyTuple_Check(axes) || PyTuple_GET_SIZE(axes) > MAX_RANK) {
        PyErr_Format(PyExc_ValueError, "expected a tuple of at most %d axes, found %R", MAX_RANK, axes);
        return -1;
    }
    for (Py_ssize_t place = 0; place < PyTuple_GET_SIZE(axes); place++) {
        Index numbers[1 + ROLES];
        int count = indices_read(numbers, 1 + ROLES, PyTuple_GET_ITEM(axes, place));
        if (count < 0) return -1;
        if (count != 1 + ROLES || numbers[0] < 1) {
            PyErr_Format(PyExc_ValueError, "expected an extent above 0 and three strides, found %R",
                         PyTuple_GET_ITEM(axes, place));
            return -1;
        }
        GroupAxis axis = {numbers[0], {numbers[1], numbers[2], numbers[3]}};
        if (group_extend(group, axis, reach) < 0) return -1;
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
bool groups_lie_apart(const Group *const groups[2]) {
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
    Index at[MAX_RANK], offset = 0;
    for (int axis = group->rank - 1; axis >= 0; axis--) {
        at[axis] = first % group->axes[axis].extent;
        first /= group->axes[axis].extent;
        offset += at[axis] * group->axes[axis].stride[role];
    }
    for (Index i = 0; i < count; i++) {
        offsets[i] = offset;
        for (int axis = group->rank - 1; axis >= 0; axis--) {
            const Index stride = group->axes[axis].stride[role];
            if (++at[axis] < group->axes[axis].extent) {
                offset += stride;
                break;
            }
            offset -= (at[axis] - 1) * stride;
            at[axis] = 0;
        }
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
