/* Numbers at equal distances, each from its place alone: start + k * step in double, rounded twice as NumPy does. */
#include "core/arguments.h"
#include "core/kernel.h"
#include "core/threads.h"
#include "core/topics.h"

enum { WORTH_A_THREAD = 1 << 15, WORTH_RELEASING_THE_GIL = 1 << 15 }; /* elements */

typedef struct {
    void *result;
    double start, step;
} Spaced;

#define SPACED(name, T)                                                                                                \
    static void name(void *context, Index begin, Index end) {                                                          \
        const Spaced spaced = *(const Spaced *)context;                                                                \
        T *d = spaced.result;                                                                                          \
        for (Index k = begin; k < end; k++) d[k] = (T)((double)k * spaced.step + spaced.start);                        \
    }
SPACED(spaced_f32, float)
SPACED(spaced_f64, double)

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
    const ParallelBody fill = type == F32 ? spaced_f32 : spaced_f64;
    if (size <= WORTH_RELEASING_THE_GIL) {
        parallel_for(size, WORTH_A_THREAD, fill, &spaced);
    } else {
        Py_BEGIN_ALLOW_THREADS parallel_for(size, WORTH_A_THREAD, fill, &spaced);
        Py_END_ALLOW_THREADS
    }
    Py_RETURN_NONE;
}

PyMethodDef spaced_functions[] = {
    {"fill_spaced", (PyCFunction)(void (*)(void))fill_spaced, METH_FASTCALL, "Numbers at equal distances."},
    {NULL, NULL, 0, NULL},
};
