/* Lines in order, by NumPy's methods for numbers, on a copy. They tell equal floats apart in no order of their own, which
 * shows in zeros of both signs alone: those are given the order that they had in the source. */
#include "core/arguments.h"
#include "core/kernel.h"
#include "core/moved_bytes.h"
#include "core/topics.h"
#include "lines/lines.h"

#include <stdlib.h>

enum { WORTH_RELEASING_THE_GIL = 1 << 14 }; /* elements */

typedef void (*Settle)(Index length, Index stride, void *sorted, const void *source);

typedef struct {
    ArrayForm result;
    Settle settle; /* NULL for integers */
    int axis;
    Index outer, length, inner;
} SortingPlan;

/* Elements so many places apart. */
#define SETTLE(name, T)                                                                                                \
    static void name(Index length, Index stride, void *of_sorted, const void *of_source) {                             \
        T *sorted = of_sorted;                                                                                         \
        const T *source = of_source;                                                                                   \
        Index first = 0;                                                                                               \
        for (Index left = length; left > 0;) { /* how many are below 0 */                                              \
            const Index half = left / 2;                                                                               \
            const bool below = sorted[(first + half) * stride] < 0;                                                    \
            first += below ? half + 1 : 0;                                                                             \
            left = below ? left - half - 1 : half;                                                                     \
        }                                                                                                              \
        Index end = first;                                                                                             \
        while (end < length && sorted[end * stride] == 0) end++;                                                       \
        for (Index i = 0; first < end && i < length; i++) /* another thread may write the source meanwhile */          \
            if (source[i * stride] == 0) sorted[first++ * stride] = source[i * stride];                                \
    }
SETTLE(settle_f32, float)
SETTLE(settle_f64, double)

static void settle_lines(const SortingPlan *plan, char *sorted, const char *source) {
    const Index bytes = ELEMENT_BYTES[plan->result.type];
    for (Index line = 0; line < plan->outer * plan->inner; line++) {
        const Index first = line / plan->inner * plan->length * plan->inner + line % plan->inner;
        plan->settle(plan->length, plan->inner, sorted + first * bytes, source + first * bytes);
    }
}

static PyObject *call(PyObject *self, PyObject *const *arguments, size_t flagged_count, PyObject *names) {
    const SortingPlan *plan = kernel_plan(self);
    if (!kernel_takes_arrays(self, flagged_count, names, arguments, 1)) return NULL;
    PyObject *result = array_new(&plan->result);
    if (result == NULL) return NULL;
    const char *source = array_data(arguments[0]);
    char *sorted = array_data(result);
    const bool alone = plan->result.size <= WORTH_RELEASING_THE_GIL;
    PyThreadState *state = alone ? NULL : PyEval_SaveThread();
    move_bytes(sorted, source, plan->result.bytes);
    if (state) PyEval_RestoreThread(state);
    if (array_sort(result, plan->axis) < 0) {
        Py_DECREF(result);
        return NULL;
    }
    state = alone ? NULL : PyEval_SaveThread();
    if (plan->settle != NULL) settle_lines(plan, sorted, source);
    if (state) PyEval_RestoreThread(state);
    return result;
}

/* bind_sort(type, axis of the array, shape): of an array without gaps */
static PyObject *bind_sort(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (!arguments_count("bind_sort", count, 3, "a type, an axis and a shape")) return NULL;
    const int type = element_type_read(arguments[0]);
    const Index axis = type < 0 ? -1 : PyLong_AsLongLong(arguments[1]);
    if (type < 0 || PyErr_Occurred()) return NULL;
    SortingPlan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) return PyErr_NoMemory();
    if (array_form_read(&plan->result, arguments[2], arguments[0]) < 0) {
        free(plan);
        return NULL;
    }
    const bool is_float = type == F32 || type == F64;
    if ((!is_float && type != I32 && type != I64) || axis < 0 || axis >= plan->result.rank || plan->result.size == 0) {
        free(plan);
        return PyErr_Format(PyExc_ValueError, "bind_sort: another type, no such axis, or no elements");
    }
    plan->settle = type == F32 ? settle_f32 : type == F64 ? settle_f64 : NULL;
    plan->axis = (int)axis;
    plan->outer = plan->inner = 1;
    plan->length = plan->result.shape[axis];
    for (int k = 0; k < plan->result.rank; k++)
        if (k != axis) *(k < axis ? &plan->outer : &plan->inner) *= plan->result.shape[k];
    const Operand operand = {(ElementType)type, compact_reach(plan->result.size), false};
    return kernel_with_operands(kernel_new("sort", call, plan, free), &operand, 1);
}

/* settle_zeros(sorted, source): gives the zeros of a sorted vector of floats the order that they had in its source, of
 * the same elements; both without gaps. */
static PyObject *settle_zeros(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (!arguments_count("settle_zeros", count, 2, "a sorted array and its source")) return NULL;
    if (!is_array(arguments[0]) || !is_array(arguments[1]) || !array_is_writable(arguments[0]) ||
        !array_is_gapless(arguments[0]) || !array_is_gapless(arguments[1]))
        return PyErr_Format(PyExc_TypeError, "settle_zeros: two arrays without gaps, the first of which is written");
    const int type = array_element_type(arguments[0]);
    const Index length = array_size(arguments[0]);
    if ((type != F32 && type != F64) || array_element_type(arguments[1]) != type || array_size(arguments[1]) != length)
        return PyErr_Format(PyExc_ValueError, "settle_zeros: arrays of the same floats");
    (type == F32 ? settle_f32 : settle_f64)(length, 1, array_data(arguments[0]), array_data(arguments[1]));
    Py_RETURN_NONE;
}

PyMethodDef sorting_functions[] = {
    {"bind_sort", (PyCFunction)(void (*)(void))bind_sort, METH_FASTCALL, "Lines in order."},
    {"settle_zeros", (PyCFunction)(void (*)(void))settle_zeros, METH_FASTCALL, "Zeros in the order of a source."},
    {NULL, NULL, 0, NULL},
};
