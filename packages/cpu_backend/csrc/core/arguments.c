/* Reads the arguments of binders (arguments.h). */
#include "core/arguments.h"

static const char *const TYPE_NAMES[ELEMENT_TYPES] = {"F32", "F64", "C32", "C64", "I32", "I64", "Bool"};

bool arguments_count(const char *binder, Py_ssize_t count, Py_ssize_t expected, const char *what) {
    if (count == expected) return true;
    PyErr_Format(PyExc_TypeError, "%s takes %s; found %zd arguments", binder, what, count);
    return false;
}

int name_read(PyObject *name, const char *const *names, int count) {
    if (!PyUnicode_Check(name)) return -1;
    for (int place = 0; place < count; place++)
        if (PyUnicode_CompareWithASCIIString(name, names[place]) == 0) return place;
    return -1;
}

const char *element_type_name(ElementType type) { return TYPE_NAMES[type]; }

int element_type_read(PyObject *type_name) {
    int type = name_read(type_name, TYPE_NAMES, ELEMENT_TYPES);
    if (type < 0) PyErr_Format(PyExc_ValueError, "%R is no name of an element type", type_name);
    return type;
}

int tuple_length(PyObject *tuple, int room, const char *of) {
    if (!PyTuple_Check(tuple)) {
        PyErr_Format(PyExc_TypeError, "expected a tuple of %s, found %R", of, tuple);
        return -1;
    }
    if (PyTuple_GET_SIZE(tuple) <= room) return (int)PyTuple_GET_SIZE(tuple);
    PyErr_Format(PyExc_ValueError, "expected a tuple of at most %d %s, found %R", room, of, tuple);
    return -1;
}

int indices_read(Index *indices, int room, PyObject *tuple) {
    const int count = tuple_length(tuple, room, "integers");
    for (int i = 0; i < count; i++) {
        indices[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, i));
        if (indices[i] == -1 && PyErr_Occurred()) return -1;
    }
    return count;
}

bool members_read(const Member *members, int count, PyObject *object) {
    for (int i = 0; i < count; i++) {
        PyObject *number = PyObject_GetAttrString(object, members[i].name);
        if (number == NULL && PyErr_ExceptionMatches(PyExc_AttributeError))
            PyErr_Format(PyExc_TypeError, "expected a struct with a member %s, found %R", members[i].name, object);
        if (number == NULL) return false;
        *members[i].value = PyLong_AsLongLong(number);
        Py_DECREF(number);
        if (*members[i].value == -1 && PyErr_Occurred()) return false;
    }
    return true;
}

int array_form_read(ArrayForm *form, PyObject *shape, PyObject *type_name) {
    Index extents[MAX_RANK];
    int type = element_type_read(type_name);
    int rank = type < 0 ? -1 : indices_read(extents, MAX_RANK, shape);
    if (rank < 0) return -1;
    form->type = (ElementType)type;
    form->rank = rank;
    form->size = 1;
    bool empty = false, too_large = false; /* extents of 0 are left out of the product, as NumPy does */
    for (int axis = 0; axis < rank; axis++) {
        if (extents[axis] < 0) {
            PyErr_Format(PyExc_ValueError, "extents must not be negative, found %R", shape);
            return -1;
        }
        form->shape[axis] = (npy_intp)extents[axis];
        if (extents[axis] == 0) empty = true;
        else too_large |= __builtin_mul_overflow(form->size, extents[axis], &form->size);
    }
    Index bytes;
    if (too_large || __builtin_mul_overflow(form->size, ELEMENT_BYTES[type], &bytes)) {
        PyErr_Format(PyExc_OverflowError, "an array of shape %R is larger than any memory", shape);
        return -1;
    }
    if (empty) form->size = bytes = 0;
    form->bytes = (size_t)bytes;
    return 0;
}

bool layout_read(StridedLayout *layout, const ArrayForm *form, PyObject *strides, ElementType type) {
    Index extents[MAX_RANK], read[MAX_RANK];
    const int found = indices_read(read, MAX_RANK, strides);
    if (found < 0) return false;
    if (found != form->rank) {
        PyErr_Format(PyExc_ValueError, "expected %d strides, found %d", form->rank, found);
        return false;
    }
    for (int axis = 0; axis < found; axis++) extents[axis] = form->shape[axis];
    if (strided_layout(layout, found, extents, read, ELEMENT_BYTES[type])) return true;
    PyErr_Format(PyExc_OverflowError, "strides %R reach beyond any memory", strides);
    return false;
}

bool reach_read(Reach *reach, Index extent, Index stride) {
    if (reach_extend(reach, extent, stride)) return true;
    PyErr_SetString(PyExc_OverflowError, "axes of more elements than can be addressed");
    return false;
}
