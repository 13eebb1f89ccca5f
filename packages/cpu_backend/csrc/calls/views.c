/* Views: a basic index, axes reversed, another shape, and the array that shares a tensor's memory.
 *
 * Extents and strides of a view are computed from those of the array, whose axes are the tensor's reversed; nothing is
 * taken from forms, so a view never leads outside its array.
 */
#include "calls/call.h"

enum { LARGEST_STEP = 1 << 30 }; /* of a slice */

HOT static bool keep(Indexed *indexed, npy_intp extent, npy_intp stride) {
    if (indexed->rank == MAX_RANK) return false;
    indexed->shape[indexed->rank] = extent;
    indexed->strides[indexed->rank++] = stride;
    return true;
}

HOT static bool read_slice(PyObject *item, npy_intp extent, npy_intp stride, Indexed *indexed, Key *key) {
    PySliceObject *slice = (PySliceObject *)item;
    if (!is_bound(slice->start) || !is_bound(slice->stop) || !is_bound(slice->step)) return false;
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(item, &start, &stop, &step) < 0) { /* a step of 0 */
        PyErr_Clear();
        return false;
    }
    Py_ssize_t count = PySlice_AdjustIndices(extent, &start, &stop, step);
    if (step > LARGEST_STEP || step < -LARGEST_STEP) return false;
    if (count == 0) start = 0, step = 1;
    key_add(key, count);
    key_add(key, step);
    indexed->offset_bytes += start * stride;
    return keep(indexed, count, step * stride);
}

/* One item of an index, for the axis at *axis, which goes on; false, without an exception, for what is not basic. */
HOT static bool read_item(PyObject *item, PyArrayObject *array, int *axis, Indexed *indexed, Key *key) {
    if (item == Py_None) {
        key_add(key, KEY_A_NEW_AXIS);
        return keep(indexed, 1, array_item_bytes((PyObject *)array));
    }
    const int place = PyArray_NDIM(array) - 1 - (*axis)++;
    if (place < 0) return false;
    const npy_intp extent = PyArray_DIM(array, place), stride = PyArray_STRIDE(array, place);
    if (PySlice_Check(item)) return read_slice(item, extent, stride, indexed, key);
    Index position;
    if (!exact_index(item, &position)) return false;
    if (position < 0) position += extent;
    if (position < 0 || position >= extent) return false;
    indexed->offset_bytes += position * stride;
    key_add(key, KEY_AN_INT);
    return true;
}

HOT static bool keep_axes(PyArrayObject *array, int *axis, int end, Indexed *indexed, Key *key) {
    for (; *axis < end; ++*axis) {
        const int place = PyArray_NDIM(array) - 1 - *axis;
        const npy_intp extent = PyArray_DIM(array, place);
        key_add(key, extent);
        key_add(key, 1);
        if (!keep(indexed, extent, PyArray_STRIDE(array, place))) return false;
    }
    return true;
}

HOT bool call_read_index(PyObject *index, PyArrayObject *array, Indexed *indexed, Key *key) {
    indexed->rank = 0;
    indexed->offset_bytes = 0;
    PyObject *const one[] = {index}, *const *items = one;
    Py_ssize_t count = 1;
    if (PyTuple_CheckExact(index)) {
        items = &PyTuple_GET_ITEM(index, 0);
        count = PyTuple_GET_SIZE(index);
    }
    if (count > MAX_RANK) return false;
    int axis = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (items[i] != Py_Ellipsis) {
            if (!read_item(items[i], array, &axis, indexed, key)) return false;
            continue;
        }
        int named = 0;
        for (Py_ssize_t after = i + 1; after < count; after++) {
            if (items[after] == Py_Ellipsis) return false;
            named += items[after] != Py_None;
        }
        if (PyArray_NDIM(array) - named < axis || !keep_axes(array, &axis, PyArray_NDIM(array) - named, indexed, key))
            return false;
    }
    return keep_axes(array, &axis, PyArray_NDIM(array), indexed, key);
}

HOT PyObject *call_indexed_array(PyObject *array, const Indexed *indexed) {
    npy_intp shape[MAX_RANK], strides[MAX_RANK];
    for (int axis = 0; axis < indexed->rank; axis++) {
        shape[axis] = indexed->shape[indexed->rank - 1 - axis];
        strides[axis] = indexed->strides[indexed->rank - 1 - axis];
    }
    return array_view(array, indexed->rank, shape, strides, indexed->offset_bytes);
}

/* getitem(tensor, index) */
HOT CALL(call_getitem) {
    const Call *self = (Call *)object;
    PyObject *form, *array, *mask;
    if (PyVectorcall_NARGS(flagged_count) != 2 || names || !call_parts(self, arguments[0], &form, &array))
        return call_function(self, arguments, flagged_count, names);
    Key key;
    Indexed indexed;
    key_begin(&key, KEY_INDEX, form);
    if (!call_read_index(arguments[1], (PyArrayObject *)array, &indexed, &key)) {
        if (call_is_masked(self, array, arguments[1], &mask))
            return call_masked(self, arguments, flagged_count, form, array, mask);
        PyObject *found = call_taken(self, arguments, flagged_count, form, array);
        if (!found && !PyErr_Occurred()) found = call_picked(self, arguments, flagged_count, form, array);
        return found || PyErr_Occurred() ? found : call_function(self, arguments, flagged_count, names);
    }
    PyObject *view = call_find(self, &key);
    if (view) return call_wrap_borrowed(self, Py_TYPE(arguments[0]), view, call_indexed_array(array, &indexed));
    Py_INCREF(form);
    PyObject *result = call_learned(self, &key, form, call_function(self, arguments, flagged_count, names));
    Py_DECREF(form);
    return result;
}

/* reversed_axes(tensor), where it has so many axes, if that is not negative */
HOT static PyObject *reversed(PyObject *object, PyObject *const *arguments, size_t flagged_count, PyObject *names,
                              int rank) {
    const Call *self = (Call *)object;
    PyObject *form, *array;
    if (PyVectorcall_NARGS(flagged_count) != 1 || names || !call_parts(self, arguments[0], &form, &array) ||
        (rank >= 0 && PyArray_NDIM((PyArrayObject *)array) != rank))
        return call_function(self, arguments, flagged_count, names);
    Key key;
    key_begin(&key, KEY_REVERSED, form);
    PyObject *view = call_find(self, &key);
    if (view) return call_wrap_borrowed(self, self->tensor, view, array_reversed(array));
    Py_INCREF(form);
    PyObject *result = call_learned(self, &key, form, call_function(self, arguments, flagged_count, names));
    Py_DECREF(form);
    return result;
}

/* reversed_axes(tensor) */
HOT CALL(call_reversed_axes) { return reversed(object, arguments, flagged_count, names, -1); }

/* matrices_transposed(tensor): one matrix */
HOT CALL(call_matrices_transposed) { return reversed(object, arguments, flagged_count, names, 2); }

/* The order of axes that is asked for, in the tensor's axes; false where it is no permutation, or not of exact ints. */
static bool read_order(PyObject *axes, int rank, int *order, Key *key) {
    if ((!PyTuple_CheckExact(axes) && !PyList_CheckExact(axes)) || PySequence_Fast_GET_SIZE(axes) != rank) return false;
    uint64_t seen = 0;
    _Static_assert(MAX_RANK <= 64, "one bit for each axis");
    for (int i = 0; i < rank; i++) {
        Index axis;
        if (!exact_index(PySequence_Fast_ITEMS(axes)[i], &axis) || axis < -rank || axis >= rank) return false;
        if (axis < 0) axis += rank;
        if (seen >> axis & 1) return false;
        seen |= (uint64_t)1 << axis;
        order[i] = (int)axis;
        key_add(key, axis);
    }
    return true;
}

/* transposed(tensor, axes) */
HOT CALL(call_transposed) {
    const Call *self = (Call *)object;
    PyObject *form, *array;
    if (PyVectorcall_NARGS(flagged_count) != 2 || names || !call_parts(self, arguments[0], &form, &array))
        return call_function(self, arguments, flagged_count, names);
    const int rank = PyArray_NDIM((PyArrayObject *)array);
    int order[MAX_RANK];
    Key key;
    key_begin(&key, KEY_TRANSPOSED, form);
    if (!read_order(arguments[1], rank, order, &key)) return call_function(self, arguments, flagged_count, names);
    PyObject *view = call_find(self, &key);
    if (view) {
        npy_intp shape[MAX_RANK], strides[MAX_RANK];
        for (int i = 0; i < rank; i++) {
            shape[rank - 1 - i] = PyArray_DIM((PyArrayObject *)array, rank - 1 - order[i]);
            strides[rank - 1 - i] = PyArray_STRIDE((PyArrayObject *)array, rank - 1 - order[i]);
        }
        return call_wrap_borrowed(self, self->tensor, view, array_view(array, rank, shape, strides, 0));
    }
    Py_INCREF(form);
    PyObject *result = call_learned(self, &key, form, call_function(self, arguments, flagged_count, names));
    Py_DECREF(form);
    return result;
}

/* Extents as they were asked for, -1 for one that follows from the others; false where they are none. */
static bool read_extents(PyObject *const *items, Py_ssize_t count, Index size, npy_intp *shape, Key *key) {
    if (count > MAX_RANK) return false;
    Index known = 1;
    int open = -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        Index extent;
        if (!exact_index(items[i], &extent)) return false;
        key_add(key, extent);
        if (extent == -1 && open < 0) open = (int)i;
        else if (extent < 0 || __builtin_mul_overflow(known, extent, &known)) return false;
        shape[count - 1 - i] = extent;
    }
    if (open < 0) return known == size;
    if (known == 0 || size % known != 0) return false;
    shape[count - 1 - open] = size / known;
    return true;
}

/* reshape(tensor, *extents), or one tuple or list of extents; of arrays without gaps, which are views then. */
CALL(call_reshape) {
    const Call *self = (Call *)object;
    const Py_ssize_t count = PyVectorcall_NARGS(flagged_count);
    PyObject *form, *array;
    if (count < 2 || names || !call_parts(self, arguments[0], &form, &array) ||
        !PyArray_IS_C_CONTIGUOUS((PyArrayObject *)array))
        return call_function(self, arguments, flagged_count, names);
    PyObject *const *items = arguments + 1;
    Py_ssize_t given = count - 1;
    if (given == 1 && (PyTuple_CheckExact(items[0]) || PyList_CheckExact(items[0]))) {
        given = PySequence_Fast_GET_SIZE(items[0]);
        items = PySequence_Fast_ITEMS(items[0]);
    }
    npy_intp shape[MAX_RANK];
    Key key;
    key_begin(&key, KEY_RESHAPED, form);
    if (!read_extents(items, given, array_size(array), shape, &key))
        return call_function(self, arguments, flagged_count, names);
    PyObject *view = call_find(self, &key);
    if (view) return call_wrap_borrowed(self, self->tensor, view, array_view(array, (int)given, shape, NULL, 0));
    Py_INCREF(form);
    PyObject *result = call_learned(self, &key, form, call_function(self, arguments, flagged_count, names));
    Py_DECREF(form);
    return result;
}

/* Whether two indices name one element. */
static bool repeats(PyArrayObject *array) {
    if (array_size((PyObject *)array) == 0) return false;
    for (int axis = 0; axis < PyArray_NDIM(array); axis++)
        if (PyArray_STRIDE(array, axis) == 0 && PyArray_DIM(array, axis) > 1) return true;
    return false;
}

/* to_numpy(tensor) */
CALL(call_to_numpy) {
    const Call *self = (Call *)object;
    PyObject *form, *array;
    if (PyVectorcall_NARGS(flagged_count) != 1 || names || !call_parts(self, arguments[0], &form, &array))
        return call_function(self, arguments, flagged_count, names);
    PyObject *lent = array_reversed(array);
    if (lent && repeats((PyArrayObject *)lent)) array_refuse_writing(lent);
    return lent;
}
