/* New tensors of numbers at equal distances, where one thread makes them in some ten microseconds. */
#include "calls/made.h"
#include "lines/spaced.h"

#include <float.h>
#include <math.h>

enum { MOST_SPACED = 1 << 18 }; /* bytes */

/* A number, Python's or NumPy's, that doubles hold as it is; quotients of differences of ints among them are rounded to no
 * whole number. */
static bool read_end(PyObject *number, double *value, bool *whole) {
    Index exact;
    if (PyFloat_CheckExact(number)) {
        *value = PyFloat_AS_DOUBLE(number);
        *whole = false;
        return isfinite(*value);
    }
    if (!exact_index(number, &exact)) {
        PyObject *made = scalar_number(number);
        const bool read = made && PyFloat_CheckExact(made) && read_end(made, value, whole);
        Py_XDECREF(made);
        return read;
    }
    if (magnitude(exact) > (Index)1 << 50) return false;
    *value = (double)exact;
    return true;
}

static bool fits_type(double value, ElementType type) {
    return type == F64 || type == I64 || fabs(value) < (type == F32 ? FLT_MAX : (double)INT32_MAX);
}

static void write_float(ElementType type, double value, char *target) {
    if (type == F32) *(float *)(void *)target = (float)value;
    else *(double *)(void *)target = value;
}

/* The tensor of element k, start + k * step, of so many elements; or what the function makes of the arguments. */
static PyObject *spaced(const Call *self, ElementType type, double count, double start, double step, bool ends,
                        double last, PyObject *const *arguments, size_t flagged_count) {
    Made made;
    made_begin(self, &made, type);
    if (!(count * ELEMENT_BYTES[type] <= MOST_SPACED) || !made_axis(&made, (Index)count))
        return call_function(self, arguments, flagged_count, NULL);
    made_end(&made);
    PyObject *form = call_find(self, &made.key);
    if (!form)
        return call_learned(self, &made.key, PyTuple_GET_ITEM(self->dtypes, type),
                            call_function(self, arguments, flagged_count, NULL));
    PyObject *array = array_new(&made.array);
    if (array) spaced_fill(type, 0, made.array.size, start, step, array_data(array));
    if (array && ends) { /* as they were given, -0.0 too */
        write_float(type, start, array_data(array));
        write_float(type, last, array_data(array) + made.array.bytes - ELEMENT_BYTES[type]);
    }
    return made_wrapped(self, form, array, arguments, flagged_count);
}

/* arange(start, stop, step, inclusive, dtype, placement) */
CALL(call_arange) {
    const Call *self = (Call *)object;
    bool whole = true;
    double start = 0.0, stop, step;
    if (PyVectorcall_NARGS(flagged_count) != 6 || names || arguments[3] != Py_False ||
        arguments[5] != self->placement || !read_end(arguments[2], &step, &whole) || step == 0.0)
        return call_function(self, arguments, flagged_count, names);
    const bool from_zero = arguments[1] == Py_None;
    if (!read_end(arguments[from_zero ? 0 : 1], &stop, &whole) ||
        (!from_zero && !read_end(arguments[0], &start, &whole)))
        return call_function(self, arguments, flagged_count, NULL);
    const int type = arguments[4] == Py_None ? (whole ? I64 : F64) : made_type(self, arguments[4]);
    const double count = fmax(0.0, ceil((stop - start) / step)), last = start + count * step;
    const bool offered = type == F64 || type == F32 || (whole && (type == I64 || type == I32));
    if (!offered || !fits_type(start, (ElementType)type) || !fits_type(last, (ElementType)type))
        return call_function(self, arguments, flagged_count, NULL);
    return spaced(self, (ElementType)type, count, start, step, false, 0.0, arguments, flagged_count);
}

/* linspace(start, stop, num, endpoint, dtype, placement) */
CALL(call_linspace) {
    const Call *self = (Call *)object;
    bool whole = true;
    double start, stop;
    Index count;
    if (PyVectorcall_NARGS(flagged_count) != 6 || names || !PyBool_Check(arguments[3]) ||
        arguments[5] != self->placement || !read_end(arguments[0], &start, &whole) ||
        !read_end(arguments[1], &stop, &whole) || !exact_index(arguments[2], &count) || count < 1)
        return call_function(self, arguments, flagged_count, names);
    const int type = arguments[4] == Py_None ? F64 : made_type(self, arguments[4]);
    const Index steps = count - (arguments[3] == Py_True && count > 1);
    const double step = (stop - start) / (double)steps;
    if ((type != F64 && type != F32) || !isfinite(step) || !fits_type(start, (ElementType)type) ||
        !fits_type(stop, (ElementType)type))
        return call_function(self, arguments, flagged_count, NULL);
    const double last = steps < count && count > 1 ? stop : (double)(count - 1) * step + start;
    return spaced(self, (ElementType)type, (double)count, start, step, true, count == 1 ? start : last, arguments,
                  flagged_count);
}
