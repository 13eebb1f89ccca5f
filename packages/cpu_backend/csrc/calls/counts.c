/* Questions about the elements of a small tensor: how many are not zero, where, and which another one has, too. */
#include "calls/made.h"
#include "core/element.h"
#include "lines/masks.h"

#include <string.h>

enum {
    MOST_COUNTED = 1 << 12,
    MOST_FOUND = 1 << 8,
    MOST_COUNTED_RANK = 8
}; /* elements; of more the kernel is faster */

#define DEFINE_COUNT(name, type, DIFFERS)                                                                              \
    static Index name(const void *elements, Index count) {                                                             \
        const type *x = elements;                                                                                      \
        Index found = 0;                                                                                               \
        for (Index i = 0; i < count; i++) found += DIFFERS;                                                            \
        return found;                                                                                                  \
    }

DEFINE_COUNT(count_f32, float, x[i] != 0.0F)
DEFINE_COUNT(count_f64, double, x[i] != 0.0)
DEFINE_COUNT(count_c32, float, x[2 * i] != 0.0F || x[2 * i + 1] != 0.0F)
DEFINE_COUNT(count_c64, double, x[2 * i] != 0.0 || x[2 * i + 1] != 0.0)
DEFINE_COUNT(count_i32, int32_t, x[i] != 0)
DEFINE_COUNT(count_i64, int64_t, x[i] != 0)
DEFINE_COUNT(count_truths, uint8_t, x[i] != 0)

static Index (*const COUNT[ELEMENT_TYPES])(const void *elements, Index count) = {
    [F32] = count_f32, [F64] = count_f64, [C32] = count_c32,     [C64] = count_c64,
    [I32] = count_i32, [I64] = count_i64, [BOOL] = count_truths,
};

/* The array of a small tensor, borrowed, and its element type; NULL, without an exception, for another one. */
static PyObject *small_array(const Call *self, PyObject *const *arguments, size_t flagged_count, PyObject *names,
                             int *type) {
    PyObject *form, *array;
    if (PyVectorcall_NARGS(flagged_count) != 1 || names || !call_parts(self, arguments[0], &form, &array) ||
        PyArray_NDIM((PyArrayObject *)array) > MOST_COUNTED_RANK)
        return NULL;
    *type = array_element_type(array);
    return *type >= 0 && array_size(array) <= MOST_COUNTED ? array : NULL;
}

/* count_nonzero(tensor) */
CALL(call_count_nonzero) {
    const Call *self = (Call *)object;
    int type;
    PyObject *array = small_array(self, arguments, flagged_count, names, &type);
    if (!array || !array_is_gapless(array)) return call_function(self, arguments, flagged_count, names);
    Made made;
    made_begin(self, &made, I64);
    made_end(&made);
    PyObject *form = call_find(self, &made.key);
    if (!form)
        return call_learned(self, &made.key, PyTuple_GET_ITEM(self->dtypes, I64),
                            call_function(self, arguments, flagged_count, NULL));
    const Index size = array_size(array);
    const int64_t count = type == BOOL ? SIMD_CHOICE(mask_kernels)->count(size, (const uint8_t *)array_data(array))
                                       : COUNT[type](array_data(array), size);
    PyObject *result = array_new(&made.array);
    if (result) memcpy(array_data(result), &count, sizeof count);
    return made_wrapped(self, form, result, arguments, flagged_count);
}

/* How many elements of an array are not zero, up to a number of them; where lines are given, their indices are written
 * there, a line for each axis of the tensor, in its row-major order: the array's first axis, the tensor's last, goes
 * fastest. */
static Index find(PyArrayObject *array, int type, Index most, int64_t *const *lines) {
    const int rank = PyArray_NDIM(array);
    const char *element = PyArray_BYTES(array);
    const Index size = array_size((PyObject *)array);
    int64_t index[MOST_COUNTED_RANK] = {0};
    Index found = 0;
    for (Index k = 0; k < size && found < most; k++) {
        if (COUNT[type](element, 1)) {
            for (int axis = 0; lines && axis < rank; axis++) lines[rank - 1 - axis][found] = index[axis];
            found++;
        }
        for (int axis = 0; axis < rank; axis++) {
            element += PyArray_STRIDE(array, axis);
            if (++index[axis] < PyArray_DIM(array, axis)) break;
            element -= PyArray_DIM(array, axis) * PyArray_STRIDE(array, axis);
            index[axis] = 0;
        }
    }
    return found;
}

/* What the function returned, after the form of one of its tensors was put to the table; it may be NULL with an exception
 * set. */
static PyObject *learned(const Call *self, const Key *key, int rank, PyObject *results) {
    if (!results || !PyTuple_CheckExact(results) || PyTuple_GET_SIZE(results) != rank) return results;
    PyObject *line =
        call_learned(self, key, PyTuple_GET_ITEM(self->dtypes, I64), Py_NewRef(PyTuple_GET_ITEM(results, 0)));
    if (!line) Py_CLEAR(results);
    Py_XDECREF(line);
    return results;
}

/* nonzero(tensor) */
CALL(call_nonzero) {
    const Call *self = (Call *)object;
    int type;
    PyObject *array = small_array(self, arguments, flagged_count, names, &type);
    const int rank = array ? PyArray_NDIM((PyArrayObject *)array) : 0;
    if (rank == 0 || array_size(array) > MOST_FOUND) return call_function(self, arguments, flagged_count, names);
    const Index count = array_is_gapless(array) ? COUNT[type](array_data(array), array_size(array))
                                                : find((PyArrayObject *)array, type, MOST_FOUND, NULL);
    Made made;
    made_begin(self, &made, I64);
    (void)made_axis(&made, count);
    made_end(&made);
    PyObject *form = call_find(self, &made.key);
    if (!form) return learned(self, &made.key, rank, call_function(self, arguments, flagged_count, NULL));
    Py_INCREF(array);
    int64_t *lines[MOST_COUNTED_RANK];
    PyObject *results = PyTuple_New(rank);
    for (int axis = 0; results && axis < rank; axis++) {
        PyObject *line = array_new(&made.array);
        if (line) lines[axis] = (int64_t *)(void *)array_data(line);
        PyObject *tensor = call_wrap(self, self->tensor, Py_NewRef(form), line);
        if (tensor) PyTuple_SET_ITEM(results, axis, tensor);
        else Py_CLEAR(results);
    }
    /* What collects garbage in between may have written more numbers that are not zero. */
    if (results) (void)find((PyArrayObject *)array, type, count, lines);
    Py_DECREF(array);
    Py_DECREF(form);
    return results;
}

enum { MOST_COMPARED = 1 << 14 }; /* pairs of elements */

#define DEFINE_OCCURS(name, type, SAME)                                                                                \
    static void name(const void *elements, Index count, const void *others, Index more, uint8_t *restrict found) {     \
        const type *x = elements, *y = others;                                                                         \
        for (Index k = 0; k < more; k++)                                                                               \
            for (Index i = 0; i < count; i++) found[i] |= SAME;                                                        \
    }

DEFINE_OCCURS(occurs_f32, float, x[i] == y[k])
DEFINE_OCCURS(occurs_f64, double, x[i] == y[k])
DEFINE_OCCURS(occurs_c32, float, (x[2 * i] == y[2 * k]) & (x[2 * i + 1] == y[2 * k + 1]))
DEFINE_OCCURS(occurs_c64, double, (x[2 * i] == y[2 * k]) & (x[2 * i + 1] == y[2 * k + 1]))
DEFINE_OCCURS(occurs_i32, int32_t, x[i] == y[k])
DEFINE_OCCURS(occurs_i64, int64_t, x[i] == y[k])
DEFINE_OCCURS(occurs_truths, uint8_t, (x[i] != 0) == (y[k] != 0))

static void (*const OCCURS[ELEMENT_TYPES])(const void *, Index, const void *, Index, uint8_t *) = {
    [F32] = occurs_f32, [F64] = occurs_f64, [C32] = occurs_c32,     [C64] = occurs_c64,
    [I32] = occurs_i32, [I64] = occurs_i64, [BOOL] = occurs_truths,
};

/* isin(tensor, elements), of one dtype, both without gaps */
CALL(call_isin) {
    const Call *self = (Call *)object;
    PyObject *form, *array, *other_form, *others;
    if (PyVectorcall_NARGS(flagged_count) != 2 || names || !call_parts(self, arguments[0], &form, &array) ||
        !call_parts(self, arguments[1], &other_form, &others) || !array_is_gapless(array) || !array_is_gapless(others))
        return call_function(self, arguments, flagged_count, names);
    const int type = array_element_type(array);
    const Index size = array_size(array), more = array_size(others);
    if (type < 0 || array_element_type(others) != type || size > MOST_COMPARED || more > MOST_COMPARED ||
        size * more > MOST_COMPARED)
        return call_function(self, arguments, flagged_count, names);
    Made made;
    made_begin(self, &made, BOOL);
    for (int axis = PyArray_NDIM((PyArrayObject *)array) - 1; axis >= 0; axis--)
        (void)made_axis(&made, PyArray_DIM((PyArrayObject *)array, axis));
    made_end(&made);
    PyObject *found = call_find(self, &made.key);
    if (!found)
        return call_learned(self, &made.key, PyTuple_GET_ITEM(self->dtypes, BOOL),
                            call_function(self, arguments, flagged_count, NULL));
    PyObject *result = array_new(&made.array);
    if (result) {
        memset(array_data(result), 0, made.array.bytes);
        OCCURS[type](array_data(array), size, array_data(others), more, (uint8_t *)array_data(result));
    }
    return made_wrapped(self, found, result, arguments, flagged_count);
}
