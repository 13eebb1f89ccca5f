/* Reading groups of axes from Python, and their offset tables. */
#include "groups.h"
#include "arrays.h"

#include <stdlib.h>

int group_read(Group *group, PyObject *axes) {
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
        group_add(group, (GroupAxis){numbers[0], {numbers[1], numbers[2], numbers[3]}});
    }
    return 0;
}

Index *group_table(const Group *group, Role role) {
    Index *table = malloc((size_t)group->size * sizeof *table);
    if (table == NULL) return NULL;
    Walk walk;
    walk_start(&walk, group, 0);
    for (Index i = 0; i < group->size; i++, walk_step(&walk, group)) table[i] = walk.offset[role];
    return table;
}
