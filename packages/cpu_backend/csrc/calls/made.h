/* New tensors of native calls: what their arrays will be, and how their forms are looked up. */
#ifndef TENSOR_CPU_MADE_H
#define TENSOR_CPU_MADE_H

#include "calls/call.h"

/* A tensor to be made: the form of its array, and the key of its own form. */
typedef struct {
    ArrayForm array;
    Key key;
} Made;

static inline void made_begin(const Call *self, Made *made, ElementType type) {
    made->array.type = type;
    made->array.rank = 0;
    made->array.size = 1;
    key_begin(&made->key, KEY_MADE, PyTuple_GET_ITEM(self->dtypes, type));
}

/* One more axis of the tensor; false where there are too many of them, or of elements. */
static inline bool made_axis(Made *made, Index extent) {
    ArrayForm *array = &made->array;
    if (extent < 0 || array->rank == MAX_RANK || __builtin_mul_overflow(array->size, extent, &array->size))
        return false;
    array->shape[array->rank++] = extent;
    key_add(&made->key, extent);
    return array->size < (Index)1 << 58;
}

/* Axes go from the tensor's order to the array's. */
static inline void made_end(Made *made) {
    ArrayForm *array = &made->array;
    for (int low = 0, high = array->rank - 1; low < high; low++, high--) {
        const npy_intp extent = array->shape[low];
        array->shape[low] = array->shape[high];
        array->shape[high] = extent;
    }
    array->bytes = (size_t)array->size * (size_t)ELEMENT_BYTES[array->type];
}

/* The element type that a dtype or one of its two names asks for; -1, without an exception, for what Python has to read. */
static inline int made_type(const Call *self, PyObject *dtype) {
    static const char *const NAMES[ELEMENT_TYPES][2] = {
        [F32] = {"F32", "float32"},    [F64] = {"F64", "float64"}, [C32] = {"C32", "complex64"},
        [C64] = {"C64", "complex128"}, [I32] = {"I32", "int32"},   [I64] = {"I64", "int64"},
        [BOOL] = {"Bool", "bool"},
    };
    for (int type = 0; type < ELEMENT_TYPES; type++)
        if (PyTuple_GET_ITEM(self->dtypes, type) == dtype) return type;
    for (int type = 0; PyUnicode_CheckExact(dtype) && type < ELEMENT_TYPES; type++)
        for (int name = 0; name < 2; name++)
            if (PyUnicode_CompareWithASCIIString(dtype, NAMES[type][name]) == 0) return type;
    return -1;
}

enum { MOST_FILLED = 1 << 20 }; /* bytes that one thread fills */

/* A tensor here of this dtype and shape, which one thread fills; false, without an exception, for all others. */
static inline bool made_read(const Call *self, PyObject *shape, int type, PyObject *placement, Made *made) {
    if (type < 0 || placement != self->placement) return false;
    PyObject *const one[] = {shape}, *const *items = one;
    Py_ssize_t count = 1;
    if (PyTuple_CheckExact(shape) || PyList_CheckExact(shape)) {
        items = PySequence_Fast_ITEMS(shape);
        count = PySequence_Fast_GET_SIZE(shape);
    }
    made_begin(self, made, (ElementType)type);
    for (Py_ssize_t i = 0; i < count; i++) {
        Index extent;
        if (!exact_index(items[i], &extent) || !made_axis(made, extent)) return false;
    }
    made_end(made);
    return made->array.bytes <= MOST_FILLED;
}

/* The tensor of an array that was made, whose form is known; for want of memory, what the function says of that. */
static inline PyObject *made_wrapped(const Call *self, PyObject *form, PyObject *array, PyObject *const *arguments,
                                     size_t flagged_count) {
    if (array) return call_wrap(self, self->tensor, form, array);
    Py_DECREF(form);
    PyErr_Clear();
    return call_function(self, arguments, flagged_count, NULL);
}

#endif
