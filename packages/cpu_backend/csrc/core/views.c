/* Kernels that are views: the elements of an array with other axes, from the same first element on. And whether elements
 * are in a range, which is what some kernels ask of what others made. */
#include "core/arguments.h"
#include "core/kernel.h"
#include "core/topics.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
    int rank;
    npy_intp shape[MAX_RANK], strides[MAX_RANK]; /* bytes */
} ViewPlan;

HOT PyObject *kernel_call_view(PyObject *self, PyObject *const *arguments, size_t flagged_count, PyObject *names) {
    const ViewPlan *plan = kernel_plan(self);
    if (!kernel_takes_arrays(self, flagged_count, names, arguments, 1)) return NULL;
    return array_view(arguments[0], plan->rank, plan->shape, plan->strides, 0);
}

/* bind_view(shape, strides): strides in bytes. Where they lead, the caller has found out. */
static PyObject *bind_view(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (!arguments_count("bind_view", count, 2, "a shape and strides")) return NULL;
    Index shape[MAX_RANK], strides[MAX_RANK];
    const int rank = indices_read(shape, MAX_RANK, arguments[0]);
    if (rank < 0 || indices_read(strides, MAX_RANK, arguments[1]) < 0) return NULL;
    if (PyTuple_GET_SIZE(arguments[1]) != rank)
        return PyErr_Format(PyExc_ValueError, "bind_view: as many strides as axes are accepted");
    ViewPlan *plan = malloc(sizeof *plan);
    if (!plan) return PyErr_NoMemory();
    plan->rank = rank;
    for (int axis = 0; axis < rank; axis++) plan->shape[axis] = shape[axis], plan->strides[axis] = strides[axis];
    return kernel_new("view", kernel_call_view, plan, free);
}

/* lie_inside(array, low): whether elements of F64 without gaps are all above a number, and below infinity */
static PyObject *lie_inside(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (!arguments_count("lie_inside", count, 2, "an array and a number")) return NULL;
    if (!is_array(arguments[0]) || array_element_type(arguments[0]) != F64 || !array_is_gapless(arguments[0]))
        return PyErr_Format(PyExc_TypeError, "lie_inside takes an array of F64 without gaps");
    const double low = PyFloat_AsDouble(arguments[1]);
    if (low == -1.0 && PyErr_Occurred()) return NULL;
    const double *elements = (const double *)(const void *)array_data(arguments[0]);
    const Index size = array_size(arguments[0]);
    int outside = 0;
    for (Index i = 0; i < size; i++) outside |= !(elements[i] > low && elements[i] < HUGE_VAL);
    return PyBool_FromLong(!outside);
}

PyMethodDef view_functions[] = {
    {"lie_inside", (PyCFunction)(void (*)(void))lie_inside, METH_FASTCALL, "Whether elements are in a range."},
    {"bind_view", (PyCFunction)(void (*)(void))bind_view, METH_FASTCALL, "Kernel of a view with other axes."},
    {NULL, NULL, 0, NULL},
};
