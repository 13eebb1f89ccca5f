/* x[[0, 2]], x[:, y], x[mask] of several axes, and writing there: what lists and lines of I64 and Bool name along one place
 * of an index, beside integers and slices.
 *
 * Offsets of what is named are put down first, a thousand at most, so every index is looked at before anything is read or
 * written. What is long, broadcasts otherwise or is out of range is left to Python.
 */
#include "calls/call.h"

#include "core/element.h"
#include "core/moved_bytes.h"

#include <string.h>

enum { MOST_PICKED = 1000, MOST_READ = 1 << 14, MOST_WRITTEN = 1 << 17 }; /* of an index; elements */
static const Index A_PICK = -3, A_MASK = -4;                              /* in keys, where an axis has its extent */

typedef struct {
    npy_intp extents[MAX_RANK],
        strides[MAX_RANK]; /* of the result, bytes in the source; the picked axis has no stride */
    int rank, place;       /* the picked axis; -1 before there is one */
    Index base, count;     /* bytes to the first element; of what is picked */
    bool ended;            /* after the picks came something else */
    Index offsets[MOST_PICKED];
    Index total, most; /* elements, and as many as there may be */
} Picked;

static bool add_axis(Picked *picked, npy_intp extent, npy_intp stride) {
    if (picked->rank == MAX_RANK || __builtin_mul_overflow(picked->total, extent, &picked->total)) return false;
    picked->extents[picked->rank] = extent;
    picked->strides[picked->rank++] = stride;
    return picked->total <= picked->most;
}

/* The picked axis begins, or goes on with so many positions as it has. */
static bool begin_picks(Picked *picked, Index count, Key *key) {
    if (picked->ended || count <= 0 || count > MOST_PICKED) return false;
    key_add(key, A_PICK);
    if (picked->place >= 0) return picked->count == count;
    picked->place = picked->rank;
    picked->count = count;
    key_add(key, count);
    memset(picked->offsets, 0, (size_t)count * sizeof *picked->offsets);
    return add_axis(picked, count, 0);
}

static inline bool pick(Picked *picked, Index k, Index position, npy_intp extent, npy_intp stride) {
    if (position < 0) position += extent;
    if (position < 0 || position >= extent) return false;
    picked->offsets[k] += position * stride;
    return true;
}

static bool pick_truths(Picked *picked, const char *truths, npy_intp step, npy_intp extent, npy_intp stride, Key *key) {
    Index count = 0;
    for (npy_intp i = 0; i < extent; i++) count += truths[i * step] != 0;
    if (!begin_picks(picked, count, key)) return false;
    for (npy_intp i = 0, k = 0; i < extent; i++)
        if (truths[i * step]) picked->offsets[k++] += i * stride;
    return true;
}

static bool pick_line(Picked *picked, PyObject *line, npy_intp extent, npy_intp stride, Key *key) {
    PyArrayObject *array = (PyArrayObject *)line;
    if (PyArray_NDIM(array) != 1) return false;
    const Index count = PyArray_DIM(array, 0), step = PyArray_STRIDE(array, 0);
    const char *data = array_data(line);
    const int type = array_element_type(line);
    if (type == BOOL) return count == extent && pick_truths(picked, data, step, extent, stride, key);
    if (type != I64 || !begin_picks(picked, count, key)) return false;
    for (Index k = 0; k < count; k++)
        if (!pick(picked, k, *(const int64_t *)(const void *)(data + k * step), extent, stride)) return false;
    return true;
}

static bool pick_list(Picked *picked, PyObject *list, npy_intp extent, npy_intp stride, Key *key) {
    const Py_ssize_t count = PyList_GET_SIZE(list);
    if (count == 0) return false;
    if (PyBool_Check(PyList_GET_ITEM(list, 0))) {
        char truths[MOST_PICKED];
        if (count != extent || count > MOST_PICKED) return false;
        for (Py_ssize_t k = 0; k < count; k++) {
            if (!PyBool_Check(PyList_GET_ITEM(list, k))) return false;
            truths[k] = PyList_GET_ITEM(list, k) == Py_True;
        }
        return pick_truths(picked, truths, 1, extent, stride, key);
    }
    if (!begin_picks(picked, count, key)) return false;
    for (Py_ssize_t k = 0; k < count; k++) {
        Index position;
        if (!exact_index(PyList_GET_ITEM(list, k), &position) || !pick(picked, k, position, extent, stride))
            return false;
    }
    return true;
}

static bool keep_slice(Picked *picked, PyObject *item, npy_intp extent, npy_intp stride, Key *key) {
    PySliceObject *slice = (PySliceObject *)item;
    Py_ssize_t start, stop, step;
    if (!is_bound(slice->start) || !is_bound(slice->stop) || !is_bound(slice->step)) return false;
    if (PySlice_Unpack(item, &start, &stop, &step) < 0) {
        PyErr_Clear();
        return false;
    }
    const Py_ssize_t count = PySlice_AdjustIndices(extent, &start, &stop, step);
    if (count == 0) return false;
    picked->ended = picked->place >= 0;
    picked->base += start * stride;
    key_add(key, count);
    return add_axis(picked, count, count > 1 ? step * stride : 0); /* a step beside one element may be of any size */
}

/* One item of an index, for one axis. An integer beside picks would be one of them, so only those of lines count. */
static bool read_item(const Call *self, Picked *picked, PyObject *item, npy_intp extent, npy_intp stride, Key *key) {
    PyObject *form, *array;
    if (PySlice_Check(item)) return keep_slice(picked, item, extent, stride, key);
    if (call_parts(self, item, &form, &array)) return pick_line(picked, array, extent, stride, key);
    if (PyList_CheckExact(item)) return call_untraced(self) && pick_list(picked, item, extent, stride, key);
    if (Py_IS_TYPE(item, array_type)) return call_untraced(self) && pick_line(picked, item, extent, stride, key);
    return false;
}

/* Reads an index of lists, lines and slices; false, without an exception, for any other. */
static bool read_index(const Call *self, PyObject *array, PyObject *index, Index most, Picked *picked, Key *key) {
    PyArrayObject *source = (PyArrayObject *)array;
    PyObject *const one[] = {index}, *const *items = one;
    Py_ssize_t count = 1;
    const int rank = PyArray_NDIM(source);
    if (PyTuple_CheckExact(index)) {
        items = &PyTuple_GET_ITEM(index, 0);
        count = PyTuple_GET_SIZE(index);
    }
    if (count > rank || array_element_type(array) < 0) return false;
    picked->rank = 0;
    picked->place = -1;
    picked->base = 0;
    picked->total = 1;
    picked->most = most;
    picked->ended = false;
    for (int axis = 0; axis < rank; axis++) {
        const npy_intp extent = PyArray_DIM(source, rank - 1 - axis), stride = PyArray_STRIDE(source, rank - 1 - axis);
        if (axis < count) {
            if (!read_item(self, picked, items[axis], extent, stride, key)) return false;
        } else {
            picked->ended = true;
            key_add(key, extent);
            if (extent == 0 || !add_axis(picked, extent, stride)) return false;
        }
    }
    return picked->place >= 0;
}

/* A mask of all axes: the offsets of what is true, in row-major order. */
static bool read_mask(const Call *self, PyObject *array, PyObject *index, Index most, Picked *picked, Key *key) {
    PyObject *form, *mask;
    const int rank = PyArray_NDIM((PyArrayObject *)array);
    if (rank < 2 || !call_parts(self, index, &form, &mask) || array_element_type(array) < 0 ||
        array_element_type(mask) != BOOL || PyArray_NDIM((PyArrayObject *)mask) != rank)
        return false;
    npy_intp places[MAX_RANK] = {0};
    Index size = 1;
    for (int axis = 0; axis < rank; axis++) {
        const npy_intp extent = PyArray_DIM((PyArrayObject *)mask, axis);
        if (extent != PyArray_DIM((PyArrayObject *)array, axis) || __builtin_mul_overflow(size, extent, &size) ||
            size > most)
            return false;
    }
    const npy_intp *extents = PyArray_DIMS((PyArrayObject *)array), *steps = PyArray_STRIDES((PyArrayObject *)array),
                   *walked = PyArray_STRIDES((PyArrayObject *)mask);
    const char *truth = array_data(mask);
    Index found = 0, offset = 0;
    for (Index k = 0; k < size; k++) {
        if (*truth) {
            if (found == MOST_PICKED) return false;
            picked->offsets[found++] = offset;
        }
        for (int axis = 0; axis < rank; axis++) { /* the tensor's last axis is the fastest, the array's first */
            truth += walked[axis];
            offset += steps[axis];
            if (++places[axis] < extents[axis]) break;
            truth -= extents[axis] * walked[axis];
            offset -= extents[axis] * steps[axis];
            places[axis] = 0;
        }
    }
    if (found == 0) return false;
    key_add(key, A_MASK);
    key_add(key, found);
    picked->base = 0;
    picked->rank = 1;
    picked->place = 0;
    picked->extents[0] = picked->count = picked->total = found;
    picked->strides[0] = 0;
    return true;
}

/* Reads the elements of the axes up to one, the first of which is the fastest of the result; its end. */
static char *read_axes(const Picked *picked, int axis, const char *source, char *result, size_t bytes) {
    if (axis < 0) {
        memcpy(result, source, bytes);
        return result + bytes;
    }
    const npy_intp extent = picked->extents[axis], stride = picked->strides[axis];
    const Index *offsets = axis == picked->place ? picked->offsets : NULL;
    if (axis > 0) {
        for (npy_intp i = 0; i < extent; i++)
            result = read_axes(picked, axis - 1, source + (offsets ? offsets[i] : i * stride), result, bytes);
        return result;
    }
    if (!offsets && stride == (npy_intp)bytes) {
        move_bytes(result, source, (size_t)extent * bytes);
        return result + (size_t)extent * bytes;
    }
#define LINE(size)                                                                                                     \
    for (npy_intp i = 0; i < extent; i++) memcpy(result + i * size, source + (offsets ? offsets[i] : i * stride), size);
    OF_ELEMENT_BYTES(LINE)
#undef LINE
    return result + (size_t)extent * bytes;
}

/* Writes there: elements in the order of the axes, or one again and again, where a step is 0. */
static const char *write_axes(const Picked *picked, int axis, char *target, const char *value, size_t bytes,
                              size_t step) {
    const npy_intp extent = picked->extents[axis], stride = picked->strides[axis];
    const Index *offsets = axis == picked->place ? picked->offsets : NULL;
    if (axis > 0) {
        for (npy_intp i = 0; i < extent; i++)
            value = write_axes(picked, axis - 1, target + (offsets ? offsets[i] : i * stride), value, bytes, step);
        return value;
    }
    if (!offsets && stride == (npy_intp)bytes) {
        if (step == 0) call_fill(target, (size_t)extent, value, bytes);
        else move_bytes(target, value, (size_t)extent * bytes);
        return value + (size_t)extent * step;
    }
#define LINE(size)                                                                                                     \
    for (npy_intp i = 0; i < extent; i++)                                                                              \
        memcpy(target + (offsets ? offsets[i] : i * stride), value + (size_t)i * step, size);
    OF_ELEMENT_BYTES(LINE)
#undef LINE
    return value + (size_t)extent * step;
}

PyObject *call_picked(const Call *self, PyObject *const *arguments, size_t flagged_count, PyObject *form,
                      PyObject *array) {
    Picked picked;
    Key key;
    key_begin(&key, KEY_PICKED, form);
    if (!read_mask(self, array, arguments[1], MOST_READ, &picked, &key)) {
        key_begin(&key, KEY_PICKED, form);
        if (!read_index(self, array, arguments[1], MOST_READ, &picked, &key)) return NULL;
    }
    PyObject *found = call_find(self, &key);
    if (!found) {
        Py_INCREF(form);
        PyObject *result = call_learned(self, &key, form, call_function(self, arguments, flagged_count, NULL));
        Py_DECREF(form);
        return result;
    }
    ArrayForm made = {.type = (ElementType)array_element_type(array), .rank = picked.rank, .size = picked.total};
    const size_t bytes = (size_t)ELEMENT_BYTES[made.type];
    for (int axis = 0; axis < made.rank; axis++) made.shape[axis] = picked.extents[made.rank - 1 - axis];
    made.bytes = (size_t)made.size * bytes;
    Py_INCREF(array);
    PyObject *result = array_new(&made);
    if (result) (void)read_axes(&picked, picked.rank - 1, array_data(array) + picked.base, array_data(result), bytes);
    Py_DECREF(array);
    return call_wrap(self, self->tensor, found, result);
}

/* Whether a tensor has just these elements, in order, and shares none with the array written. */
static bool is_value(const Picked *picked, PyObject *written, PyObject *array, ElementType type) {
    PyArrayObject *value = (PyArrayObject *)array;
    if (array_element_type(array) != (int)type || PyArray_NDIM(value) != picked->rank || !array_is_gapless(array))
        return false;
    for (int axis = 0; axis < picked->rank; axis++)
        if (PyArray_DIM(value, picked->rank - 1 - axis) != picked->extents[axis]) return false;
    Index low, end, from, to;
    array_bounds(written, &low, &end);
    array_bounds(array, &from, &to);
    return array_data(written) + low >= array_data(array) + to || array_data(array) + from >= array_data(written) + end;
}

bool call_put(const Call *self, PyObject *array, PyObject *index, PyObject *value) {
    Picked picked;
    Key key; /* looked up by nobody: what is written has no form */
    key_begin(&key, KEY_PICKED, array);
    if (!read_mask(self, array, index, MOST_WRITTEN, &picked, &key)) {
        key_begin(&key, KEY_PICKED, array);
        if (!read_index(self, array, index, MOST_WRITTEN, &picked, &key)) return false;
    }
    const ElementType type = (ElementType)array_element_type(array);
    const size_t bytes = (size_t)ELEMENT_BYTES[type];
    char *target = array_data(array) + picked.base;
    Element element;
    PyObject *form, *elements;
    if (call_element_of(value, type, &element)) {
        (void)write_axes(&picked, picked.rank - 1, target, (const char *)&element, bytes, 0);
        return true;
    }
    if (!call_parts(self, value, &form, &elements) || !is_value(&picked, array, elements, type)) return false;
    (void)write_axes(&picked, picked.rank - 1, target, array_data(elements), bytes, bytes);
    return true;
}
