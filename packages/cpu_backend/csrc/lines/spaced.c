/* Numbers at equal distances, each from its place alone: start + k * step in double, rounded twice as NumPy does. */
#include "core/arguments.h"
#include "core/kernel.h"
#include "core/threads.h"
#include "core/topics.h"
#include "lines/spaced.h"

enum { WORTH_A_THREAD = 1 << 15, WORTH_RELEASING_THE_GIL = 1 << 15 }; /* elements */
enum { COUNTED = 1 << 20 }; /* elements whose places are made of an int: what converts one is slow for 64 bits */

typedef struct {
    ElementType type;
    void *result;
    double start, step;
} Spaced;

#define FLOATS(name, T)                                                                                                \
    static void name(T *restrict d, int count, double first, double start, double step) {                              \
        for (int k = 0; k < count; k++) d[k] = (T)((first + k) * step + start);                                        \
    }
FLOATS(floats_f32, float)
FLOATS(floats_f64, double)

#define INTEGERS(name, T)                                                                                              \
    static void name(T *restrict d, int count, int64_t first, int64_t step) {                                          \
        for (int k = 0; k < count; k++, first += step) d[k] = (T)first;                                                \
    }
INTEGERS(integers_i32, int32_t)
INTEGERS(integers_i64, int64_t)

void spaced_fill(ElementType type, Index begin, Index end, double start, double step, void *array) {
    for (Index k = begin; k < end; k += COUNTED) {
        const int count = (int)smaller(end - k, COUNTED);
        const double first = (double)k;
        switch (type) {
        case F32: floats_f32((float *)array + k, count, first, start, step); break;
        case F64: floats_f64((double *)array + k, count, first, start, step); break;
        case I32: integers_i32((int32_t *)array + k, count, (int64_t)(start + first * step), (int64_t)step); break;
        default: integers_i64((int64_t *)array + k, count, (int64_t)(start + first * step), (int64_t)step);
        }
    }
}

static void fill_part(void *context, Index begin, Index end) {
    const Spaced *spaced = context;
    spaced_fill(spaced->type, begin, end, spaced->start, spaced->step, spaced->result);
}

/* fill_spaced(array, start, step): of F32 or F64, without gaps */
static PyObject *fill_spaced(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (!arguments_count("fill_spaced", count, 3, "an array and two numbers")) return NULL;
    if (!is_array(arguments[0]) || !array_is_writable(arguments[0]) || !array_is_gapless(arguments[0]))
        return PyErr_Format(PyExc_TypeError, "fill_spaced: an array without gaps, which is written");
    Spaced spaced = {.result = array_data(arguments[0])};
    spaced.start = PyFloat_AsDouble(arguments[1]);
    spaced.step = PyFloat_AsDouble(arguments[2]);
    if (PyErr_Occurred()) return NULL;
    const int type = array_element_type(arguments[0]);
    if (type != F32 && type != F64) return PyErr_Format(PyExc_ValueError, "fill_spaced: an array of real floats");
    const Index size = array_size(arguments[0]);
    spaced.type = (ElementType)type;
    if (size <= WORTH_RELEASING_THE_GIL) {
        parallel_for(size, WORTH_A_THREAD, fill_part, &spaced);
    } else {
        Py_BEGIN_ALLOW_THREADS parallel_for(size, WORTH_A_THREAD, fill_part, &spaced);
        Py_END_ALLOW_THREADS
    }
    Py_RETURN_NONE;
}

PyMethodDef spaced_functions[] = {
    {"fill_spaced", (PyCFunction)(void (*)(void))fill_spaced, METH_FASTCALL, "Numbers at equal distances."},
    {NULL, NULL, 0, NULL},
};
