/* view[index] = value: a number, or elements of the same dtype and shape, at integers and slices; what lists and lines
 * name is written by call_put().
 *
 * What one thread writes in some ten microseconds; what is long, broadcasts or converts is left to Python, and so are many
 * elements that lie in another order than those that are read.
 */
#include "calls/call.h"

#include "core/element.h"
#include "core/moved_bytes.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MOST_WRITTEN = 1 << 17, MOST_IN_ANY_ORDER = 1 << 12 }; /* elements */

/* The same of a scalar of NumPy; not inlined, since what numbers of Python take is less. */
static __attribute__((noinline)) bool scalar_element_of(PyObject *number, ElementType type, void *element) {
    PyObject *made = is_number(number) ? NULL : scalar_number(number);
    const bool fits = made && call_element_of(made, type, element);
    Py_XDECREF(made);
    return fits;
}

bool call_element_of(PyObject *number, ElementType type, void *written) {
    Element *element = written;
    Index whole;
    double real, imaginary = 0.0;
    if (PyBool_Check(number)) {
        element->truth = number == Py_True;
        return type == BOOL;
    }
    if (type == BOOL) return scalar_element_of(number, type, written);
    if (type == I32 || type == I64) {
        if (!exact_int(number, &whole)) return scalar_element_of(number, type, written);
        if (type == I64) element->i64 = whole;
        else element->i32 = (int32_t)whole;
        return type == I64 || whole == (int32_t)whole;
    }
    if (PyFloat_CheckExact(number)) {
        real = PyFloat_AS_DOUBLE(number);
    } else if (PyComplex_CheckExact(number) && (type == C32 || type == C64)) {
        real = PyComplex_RealAsDouble(number);
        imaginary = PyComplex_ImagAsDouble(number);
    } else {
        const int exact_bits = type == F32 || type == C32 ? 24 : 53;
        if (!exact_int(number, &whole)) return scalar_element_of(number, type, written);
        if (magnitude(whole) > (Index)1 << exact_bits) return false;
        real = (double)whole;
    }
    if (type == F32 || type == C32) {
        if ((isfinite(real) && fabs(real) > FLT_MAX) || (isfinite(imaginary) && fabs(imaginary) > FLT_MAX))
            return false;
        element->c32[0] = (float)real, element->c32[1] = (float)imaginary;
    } else {
        element->c64[0] = real, element->c64[1] = imaginary;
    }
    return true;
}

static Index few(const Indexed *indexed) {
    Index size = 1;
    for (int axis = 0; axis < indexed->rank; axis++)
        if (__builtin_mul_overflow(size, indexed->shape[axis], &size)) return MOST_WRITTEN + 1;
    return size;
}

static void fill_line(char *target, npy_intp extent, npy_intp stride, const Element *element, size_t bytes) {
    if (stride == (npy_intp)bytes) {
        call_fill(target, (size_t)extent, element, bytes);
        return;
    }
#define LINE(size)                                                                                                     \
    for (npy_intp i = 0; i < extent; i++) memcpy(target + i * stride, element, size);
    OF_ELEMENT_BYTES(LINE)
#undef LINE
}

static void copy_line(char *restrict target, npy_intp extent, npy_intp stride, const char *restrict source,
                      npy_intp step, size_t bytes) {
    if (stride == (npy_intp)bytes && step == stride) {
        move_bytes(target, source, (size_t)extent * bytes);
        return;
    }
#define LINE(size)                                                                                                     \
    for (npy_intp i = 0; i < extent; i++) memcpy(target + i * stride, source + i * step, size);
    OF_ELEMENT_BYTES(LINE)
#undef LINE
}

/* The first axis is the fastest. */
static void fill(char *target, const Indexed *indexed, int axes, const Element *element, size_t bytes) {
    if (axes <= 1) {
        fill_line(target, axes ? indexed->shape[0] : 1, axes ? indexed->strides[0] : (npy_intp)bytes, element, bytes);
        return;
    }
    const npy_intp extent = indexed->shape[axes - 1], stride = indexed->strides[axes - 1];
    for (npy_intp i = 0; i < extent; i++) fill(target + i * stride, indexed, axes - 1, element, bytes);
}

static void copy(char *target, const Indexed *indexed, int axes, const char *source, const npy_intp *steps,
                 size_t bytes) {
    if (axes <= 1) {
        copy_line(target, axes ? indexed->shape[0] : 1, axes ? indexed->strides[0] : (npy_intp)bytes, source,
                  axes ? steps[0] : (npy_intp)bytes, bytes);
        return;
    }
    const npy_intp extent = indexed->shape[axes - 1], stride = indexed->strides[axes - 1];
    for (npy_intp i = 0; i < extent; i++)
        copy(target + i * stride, indexed, axes - 1, source + i * steps[axes - 1], steps, bytes);
}

/* Whether the axis that goes first is the fastest of several, of both arrays. */
static bool in_order(const Indexed *indexed, const npy_intp *steps) {
    for (int axis = 1; axis < indexed->rank; axis++)
        if (magnitude(indexed->strides[axis]) < magnitude(indexed->strides[0]) ||
            magnitude(steps[axis]) < magnitude(steps[0]))
            return false;
    return true;
}

/* Elements of an array of this type and shape that shares no byte with the array written. */
static bool copy_array(char *target, const Indexed *indexed, PyObject *written, PyObject *array, ElementType type) {
    PyArrayObject *source = (PyArrayObject *)array;
    const int rank = indexed->rank;
    if (array_element_type(array) != (int)type || PyArray_NDIM(source) != rank) return false;
    npy_intp steps[MAX_RANK];
    for (int axis = 0; axis < rank; axis++) {
        if (PyArray_DIM(source, rank - 1 - axis) != indexed->shape[axis]) return false;
        steps[axis] = PyArray_STRIDE(source, rank - 1 - axis);
    }
    Index low, end, from, to;
    array_bounds(written, &low, &end);
    array_bounds(array, &from, &to);
    if (array_data(written) + low < array_data(array) + to && array_data(array) + from < array_data(written) + end)
        return false;
    if (few(indexed) > MOST_IN_ANY_ORDER && !in_order(indexed, steps)) return false;
    copy(target, indexed, rank, array_data(array), steps, (size_t)ELEMENT_BYTES[type]);
    return true;
}

/* setitem(view, index, value) */
CALL(call_setitem) {
    const Call *self = (Call *)object;
    PyObject *form, *array, *value_form, *value;
    if (PyVectorcall_NARGS(flagged_count) != 3 || names || !Py_IS_TYPE(arguments[0], self->writable) ||
        !call_parts(self, arguments[0], &form, &array) || !array_is_writable(array))
        return call_function(self, arguments, flagged_count, names);
    const int type = array_element_type(array);
    Key key;
    Indexed indexed;
    Element element;
    key_begin(&key, KEY_INDEX, form);
    if (type < 0) return call_function(self, arguments, flagged_count, names);
    if (!call_read_index(arguments[1], (PyArrayObject *)array, &indexed, &key)) {
        if (call_put(self, array, arguments[1], arguments[2])) Py_RETURN_NONE;
        return call_function(self, arguments, flagged_count, names);
    }
    if (few(&indexed) > MOST_WRITTEN) return call_function(self, arguments, flagged_count, names);
    char *target = array_data(array) + indexed.offset_bytes;
    if (call_element_of(arguments[2], (ElementType)type, &element)) {
        fill(target, &indexed, indexed.rank, &element, (size_t)ELEMENT_BYTES[type]);
        Py_RETURN_NONE;
    }
    if (call_parts(self, arguments[2], &value_form, &value) &&
        copy_array(target, &indexed, array, value, (ElementType)type))
        Py_RETURN_NONE;
    return call_function(self, arguments, flagged_count, names);
}
