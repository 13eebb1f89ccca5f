/* New tensors of few random numbers (random/draws.h): the same bits as by the kernels, without a step of Python. */
#include "calls/made.h"
#include "random/draws.h"

/* A seed or stream; false, without an exception, for anything but an int of 64 bits. */
static bool read_word(PyObject *object, uint64_t *word) {
    if (!PyLong_CheckExact(object)) return false;
    *word = PyLong_AsUnsignedLongLong(object);
    if (!PyErr_Occurred()) return true;
    PyErr_Clear();
    return false;
}

/* The tensor of a draw, of which what is drawn is set; seed, stream, dtype and placement end the arguments. */
static PyObject *drawn(const Call *self, Draw *draw, PyObject *const *arguments, size_t flagged_count) {
    PyObject *const *last = arguments + PyVectorcall_NARGS(flagged_count) - 4;
    const int type = made_type(self, last[2]);
    const bool whole = type == I32 || type == I64;
    Made made;
    if (whole != (draw->domain == INTEGERS) || type == BOOL || !read_word(last[0], &draw->seed) ||
        !read_word(last[1], &draw->stream) || !made_read(self, arguments[0], type, last[3], &made))
        return call_function(self, arguments, flagged_count, NULL);
    draw->count = type == C32 || type == C64 ? 2 * made.array.size : made.array.size;
    if (draw->count > DRAWN_AT_ONCE) return call_function(self, arguments, flagged_count, NULL);
    PyObject *form = call_find(self, &made.key);
    if (!form)
        return call_learned(self, &made.key, PyTuple_GET_ITEM(self->dtypes, type),
                            call_function(self, arguments, flagged_count, NULL));
    PyObject *array = array_new(&made.array);
    if (array) {
        draw->result = array_data(array);
        draw_here(draw, (ElementType)type);
    }
    return made_wrapped(self, form, array, arguments, flagged_count);
}

static PyObject *floats(const Call *self, Distribution domain, PyObject *const *arguments, size_t flagged_count,
                        PyObject *names) {
    if (PyVectorcall_NARGS(flagged_count) != 5 || names) return call_function(self, arguments, flagged_count, names);
    Draw draw = {.domain = domain};
    return drawn(self, &draw, arguments, flagged_count);
}

/* uniform(shape, seed, stream, dtype, placement) */
CALL(call_uniform) { return floats((Call *)object, UNIFORM, arguments, flagged_count, names); }

/* normal(shape, seed, stream, dtype, placement) */
CALL(call_normal) { return floats((Call *)object, NORMAL, arguments, flagged_count, names); }

/* integers(shape, low, high, seed, stream, dtype, placement) */
CALL(call_integers) {
    const Call *self = (Call *)object;
    Index low, high;
    if (PyVectorcall_NARGS(flagged_count) != 7 || names || !exact_index(arguments[1], &low) ||
        !exact_index(arguments[2], &high) || low >= high ||
        (made_type(self, arguments[5]) == I32 && (low < INT32_MIN || high > (Index)INT32_MAX + 1)))
        return call_function(self, arguments, flagged_count, names);
    Draw draw = {.domain = INTEGERS, .low = (uint64_t)low, .number = (uint64_t)high - (uint64_t)low};
    return drawn(self, &draw, arguments, flagged_count);
}
