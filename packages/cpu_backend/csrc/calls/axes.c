/* Views with axes left out, put in and turned round: squeeze, expand_dims and flip. */
#include "calls/call.h"

/* Axes that are named, None for all of them, as bits; false where they are no exact ints in range, or named twice. */
static bool read_axes(PyObject *axes, int rank, uint64_t *named) {
    PyObject *const one[] = {axes}, *const *items = one;
    Py_ssize_t count = 1;
    *named = 0;
    if (rank >= MAX_RANK) return false;
    if (axes == Py_None) {
        *named = ((uint64_t)1 << rank) - 1;
        return true;
    }
    if (PyTuple_CheckExact(axes) || PyList_CheckExact(axes)) {
        items = PySequence_Fast_ITEMS(axes);
        count = PySequence_Fast_GET_SIZE(axes);
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        Index axis;
        if (!exact_index(items[i], &axis) || axis < -rank || axis >= rank) return false;
        const uint64_t bit = (uint64_t)1 << (axis < 0 ? axis + rank : axis);
        if (*named & bit) return false;
        *named |= bit;
    }
    return true;
}

/* The view, whose axes are in the tensor's order; or what the function makes, after its form was learned. */
static PyObject *viewed(const Call *self, const Key *key, PyObject *form, PyObject *array, const Indexed *indexed,
                        PyObject *const *arguments, size_t flagged_count) {
    PyObject *view = call_find(self, key);
    if (view) return call_wrap_borrowed(self, self->tensor, view, call_indexed_array(array, indexed));
    Py_INCREF(form);
    PyObject *result = call_learned(self, key, form, call_function(self, arguments, flagged_count, NULL));
    Py_DECREF(form);
    return result;
}

static void keep(Indexed *indexed, npy_intp extent, npy_intp stride) {
    indexed->shape[indexed->rank] = extent;
    indexed->strides[indexed->rank++] = stride;
}

/* The arguments (tensor, axes) of a view that has no more axes than the tensor; false, without an exception, for others. */
static inline bool begin(const Call *self, PyObject *const *arguments, size_t flagged_count, PyObject *names,
                         PyObject **form, PyObject **array, uint64_t *named, Indexed *indexed) {
    indexed->rank = 0;
    indexed->offset_bytes = 0;
    return PyVectorcall_NARGS(flagged_count) == 2 && !names && call_parts(self, arguments[0], form, array) &&
           read_axes(arguments[1], PyArray_NDIM((PyArrayObject *)*array), named);
}

/* squeeze(tensor, axis) */
HOT CALL(call_squeeze) {
    const Call *self = (Call *)object;
    PyObject *form, *array;
    uint64_t named;
    Indexed indexed;
    if (!begin(self, arguments, flagged_count, names, &form, &array, &named, &indexed))
        return call_function(self, arguments, flagged_count, names);
    PyArrayObject *source = (PyArrayObject *)array;
    const int rank = PyArray_NDIM(source);
    for (int axis = 0; axis < rank; axis++) {
        const npy_intp extent = PyArray_DIM(source, rank - 1 - axis);
        if (!(named >> axis & 1) || (extent != 1 && arguments[1] == Py_None))
            keep(&indexed, extent, PyArray_STRIDE(source, rank - 1 - axis));
        else if (extent != 1) return call_function(self, arguments, flagged_count, NULL);
    }
    Key key;
    key_begin(&key, KEY_SQUEEZED, form);
    key_add(&key, (Index)named);
    key_add(&key, arguments[1] == Py_None);
    return viewed(self, &key, form, array, &indexed, arguments, flagged_count);
}

/* expand_dims(tensor, axis) */
HOT CALL(call_expand_dims) {
    const Call *self = (Call *)object;
    PyObject *form, *array;
    uint64_t named;
    if (PyVectorcall_NARGS(flagged_count) != 2 || names || !call_parts(self, arguments[0], &form, &array))
        return call_function(self, arguments, flagged_count, names);
    PyArrayObject *source = (PyArrayObject *)array;
    const bool several = PyTuple_CheckExact(arguments[1]) || PyList_CheckExact(arguments[1]);
    const Py_ssize_t more = several ? PySequence_Fast_GET_SIZE(arguments[1]) : 1;
    if (arguments[1] == Py_None || more + PyArray_NDIM(source) >= MAX_RANK ||
        !read_axes(arguments[1], PyArray_NDIM(source) + (int)more, &named))
        return call_function(self, arguments, flagged_count, names);
    Indexed indexed;
    indexed.rank = 0;
    indexed.offset_bytes = 0;
    const int rank = PyArray_NDIM(source) + (int)more;
    for (int axis = 0, place = PyArray_NDIM(source) - 1; axis < rank; axis++) {
        if (named >> axis & 1) {
            keep(&indexed, 1, array_item_bytes(array));
        } else {
            keep(&indexed, PyArray_DIM(source, place), PyArray_STRIDE(source, place));
            place--;
        }
    }
    Key key;
    key_begin(&key, KEY_EXPANDED, form);
    key_add(&key, (Index)named);
    return viewed(self, &key, form, array, &indexed, arguments, flagged_count);
}

/* reverse(tensor, axis) */
HOT CALL(call_reverse) {
    const Call *self = (Call *)object;
    PyObject *form, *array;
    uint64_t named;
    Indexed indexed;
    if (!begin(self, arguments, flagged_count, names, &form, &array, &named, &indexed))
        return call_function(self, arguments, flagged_count, names);
    PyArrayObject *source = (PyArrayObject *)array;
    const int rank = PyArray_NDIM(source);
    for (int axis = 0; axis < rank; axis++) {
        const npy_intp extent = PyArray_DIM(source, rank - 1 - axis), stride = PyArray_STRIDE(source, rank - 1 - axis);
        const bool turned = named >> axis & 1;
        keep(&indexed, extent, turned ? -stride : stride);
        if (turned && extent > 1) indexed.offset_bytes += (extent - 1) * stride;
    }
    if (array_size(array) == 0) indexed.offset_bytes = 0;
    Key key;
    key_begin(&key, KEY_REVERSED_ALONG, form);
    key_add(&key, (Index)named);
    return viewed(self, &key, form, array, &indexed, arguments, flagged_count);
}
