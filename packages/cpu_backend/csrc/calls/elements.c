/* Python numbers of tensors of one element. */
#include "calls/call.h"

#include <math.h>
#include <string.h>

/* The only element of a tensor that is ours while nobody records transfers, which this is one of; -1 for others. */
static int read_element(const Call *self, PyObject *const *arguments, size_t flagged_count, PyObject *names,
                        const char **element) {
    PyObject *form, *array;
    if (PyVectorcall_NARGS(flagged_count) != 1 || names || !call_parts(self, arguments[0], &form, &array) ||
        array_size(array) != 1 || !call_untraced(self))
        return -1;
    *element = array_data(array);
    return array_element_type(array);
}

static inline double read_f64(const char *element) {
    double value;
    memcpy(&value, element, sizeof value);
    return value;
}
static inline float read_f32(const char *element) {
    float value;
    memcpy(&value, element, sizeof value);
    return value;
}
static inline int64_t read_i64(const char *element) {
    int64_t value;
    memcpy(&value, element, sizeof value);
    return value;
}
static inline int32_t read_i32(const char *element) {
    int32_t value;
    memcpy(&value, element, sizeof value);
    return value;
}

static inline PyObject *number_of(ElementType type, const char *element) {
    switch (type) {
    case F32: return PyFloat_FromDouble(read_f32(element));
    case F64: return PyFloat_FromDouble(read_f64(element));
    case C32: return PyComplex_FromDoubles(read_f32(element), read_f32(element + 4));
    case C64: return PyComplex_FromDoubles(read_f64(element), read_f64(element + 8));
    case I32: return PyLong_FromLong(read_i32(element));
    case I64: return PyLong_FromLongLong(read_i64(element));
    default: return PyBool_FromLong(*element != 0);
    }
}

/* item(tensor) */
CALL(call_item) {
    const char *element;
    const int type = read_element((Call *)object, arguments, flagged_count, names, &element);
    return type < 0 ? call_function((Call *)object, arguments, flagged_count, names)
                    : number_of((ElementType)type, element);
}

/* The numbers along the axes from one on, which are the array's from its last on, in lists in one another. */
static PyObject *listed(PyArrayObject *array, int axis, ElementType type, const char *element) {
    if (axis < 0) return number_of(type, element);
    const npy_intp extent = PyArray_DIM(array, axis), stride = PyArray_STRIDE(array, axis);
    PyObject *list = PyList_New(extent);
    for (npy_intp i = 0; list && i < extent; i++) {
        PyObject *one =
            axis ? listed(array, axis - 1, type, element + i * stride) : number_of(type, element + i * stride);
        if (one) PyList_SET_ITEM(list, i, one);
        else Py_CLEAR(list);
    }
    return list;
}

/* tolist(tensor) */
CALL(call_tolist) {
    PyObject *form, *array;
    const int type =
        PyVectorcall_NARGS(flagged_count) == 1 && !names && call_parts((Call *)object, arguments[0], &form, &array)
            ? array_element_type(array)
            : -1;
    if (type < 0) return call_function((Call *)object, arguments, flagged_count, names);
    Py_INCREF(array);
    PyObject *list =
        listed((PyArrayObject *)array, PyArray_NDIM((PyArrayObject *)array) - 1, (ElementType)type, array_data(array));
    Py_DECREF(array);
    return list;
}

/* __float__(tensor) */
CALL(call_float) {
    const char *element;
    switch (read_element((Call *)object, arguments, flagged_count, names, &element)) {
    case F32: return PyFloat_FromDouble(read_f32(element));
    case F64: return PyFloat_FromDouble(read_f64(element));
    case I32: return PyFloat_FromDouble(read_i32(element));
    case I64: return PyFloat_FromDouble((double)read_i64(element));
    case BOOL: return PyFloat_FromDouble(*element != 0);
    default: return call_function((Call *)object, arguments, flagged_count, names);
    }
}

/* __int__(tensor); numbers that no 64 bits hold are left to Python, and NaN to its error */
CALL(call_int) {
    const char *element;
    double value = NAN;
    switch (read_element((Call *)object, arguments, flagged_count, names, &element)) {
    case I32: return PyLong_FromLong(read_i32(element));
    case I64: return PyLong_FromLongLong(read_i64(element));
    case BOOL: return PyLong_FromLong(*element != 0);
    case F32: value = read_f32(element); break;
    case F64: value = read_f64(element); break;
    default: break;
    }
    if (value > -1e18 && value < 1e18) return PyLong_FromLongLong((long long)value);
    return call_function((Call *)object, arguments, flagged_count, names);
}

/* __complex__(tensor) */
CALL(call_complex) {
    const char *element;
    switch (read_element((Call *)object, arguments, flagged_count, names, &element)) {
    case F32: return PyComplex_FromDoubles(read_f32(element), 0.0);
    case F64: return PyComplex_FromDoubles(read_f64(element), 0.0);
    case C32: return PyComplex_FromDoubles(read_f32(element), read_f32(element + 4));
    case C64: return PyComplex_FromDoubles(read_f64(element), read_f64(element + 8));
    default: return call_function((Call *)object, arguments, flagged_count, names);
    }
}

/* __bool__(tensor); NaN is true, as everywhere */
CALL(call_bool) {
    const char *element;
    switch (read_element((Call *)object, arguments, flagged_count, names, &element)) {
    case F32: return PyBool_FromLong(read_f32(element) != 0.0F);
    case F64: return PyBool_FromLong(read_f64(element) != 0.0);
    case C32: return PyBool_FromLong(read_f32(element) != 0.0F || read_f32(element + 4) != 0.0F);
    case C64: return PyBool_FromLong(read_f64(element) != 0.0 || read_f64(element + 8) != 0.0);
    case I32: return PyBool_FromLong(read_i32(element) != 0);
    case I64: return PyBool_FromLong(read_i64(element) != 0);
    case BOOL: return PyBool_FromLong(*element != 0);
    default: return call_function((Call *)object, arguments, flagged_count, names);
    }
}
