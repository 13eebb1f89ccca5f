/* Python's side of strided copies: the kernels "copy" and "copy_into", and copy_method(), which tells how a copy would
 * be made. permute.c does the work.
 *
 * copy_into copies through a temporary when the byte ranges of its two arrays intersect, so that it behaves as if the
 * source had been copied first.
 */
#include "core/arrays.h"
#include "core/kernel.h"
#include "copy/permute_plan.h"
#include "core/caching_allocator.h"
#include "core/topics.h"

#include <stdlib.h>

typedef struct {
    CopyPlan *plan;
    ArrayForm result;
} CopyKernelPlan;

typedef struct {
    CopyPlan *plan, *plan_out, *plan_in; /* at once; source to compact temporary; from there to the target */
    Index source_low, source_end, target_low, target_end; /* bytes touched, from the first logical element */
    size_t bytes;
} CopyIntoPlan;

static void run(const CopyPlan *plan, const void *source, void *target) {
    if (!copy_takes_long(plan)) {
        copy_run(plan, source, target);
        return;
    }
    Py_BEGIN_ALLOW_THREADS copy_run(plan, source, target);
    Py_END_ALLOW_THREADS
}

static PyObject *call_copy(PyObject *self, PyObject *const *arguments, size_t flagged_count, PyObject *names) {
    const CopyKernelPlan *plan = kernel_plan(self);
    if (!kernel_takes(self, flagged_count, names, 1) || !are_arrays(arguments, 1)) return NULL;
    PyObject *result = array_new(&plan->result);
    if (result != NULL) run(plan->plan, array_data(arguments[0]), array_data(result));
    return result;
}

static PyObject *call_copy_into(PyObject *self, PyObject *const *arguments, size_t flagged_count, PyObject *names) {
    const CopyIntoPlan *plan = kernel_plan(self);
    if (!kernel_takes(self, flagged_count, names, 2) || !are_arrays(arguments, 2)) return NULL;
    char *target = array_data(arguments[0]), *source = array_data(arguments[1]);
    uintptr_t to = (uintptr_t)target, from = (uintptr_t)source;
    if (to + (uintptr_t)plan->target_end <= from + (uintptr_t)plan->source_low ||
        from + (uintptr_t)plan->source_end <= to + (uintptr_t)plan->target_low) {
        run(plan->plan, source, target);
        Py_RETURN_NONE;
    }
    void *temporary = scratch_acquire(plan->bytes);
    if (temporary == NULL) return PyErr_NoMemory();
    run(plan->plan_out, source, temporary);
    run(plan->plan_in, temporary, target);
    scratch_release(temporary, plan->bytes);
    Py_RETURN_NONE;
}

static void free_copy(void *memory) {
    CopyKernelPlan *plan = memory;
    copy_plan_free(plan->plan);
    free(plan);
}

static void free_copy_into(void *memory) {
    CopyIntoPlan *plan = memory;
    copy_plan_free(plan->plan);
    copy_plan_free(plan->plan_out);
    copy_plan_free(plan->plan_in);
    free(plan);
}

static void compact(Index *strides, int rank, const Index *extents) {
    Index stride = 1;
    for (int axis = rank - 1; axis >= 0; axis--) {
        strides[axis] = stride;
        stride *= extents[axis];
    }
}

/* Reads the strides of an array with these extents; false with an exception set when there can be no such array. */
static bool read_strides(Index *strides, PyObject *tuple, int rank, const Index *extents, int element) {
    int found = indices_read(strides, MAX_RANK, tuple);
    if (found < 0) return false;
    if (found != rank) PyErr_Format(PyExc_ValueError, "expected %d strides, found %d", rank, found);
    else if (copy_is_addressable(rank, extents, strides, element)) return true;
    else PyErr_Format(PyExc_ValueError, "an extent is negative, or strides %R reach beyond any memory", tuple);
    return false;
}

/* copy(extents, strides, dtype): a kernel from an array with these strides to a new one without gaps. */
static PyObject *bind_copy(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (count != 3) return PyErr_Format(PyExc_TypeError, "copy takes extents, strides and an element type");
    Index extents[MAX_RANK], strides[MAX_RANK], target[MAX_RANK];
    ArrayForm form;
    if (array_form_read(&form, arguments[0], arguments[2]) < 0) return NULL;
    for (int axis = 0; axis < form.rank; axis++) extents[axis] = form.shape[axis];
    if (!read_strides(strides, arguments[1], form.rank, extents, ELEMENT_BYTES[form.type])) return NULL;
    compact(target, form.rank, extents);
    CopyKernelPlan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) return PyErr_NoMemory();
    plan->result = form;
    plan->plan = copy_plan(form.rank, extents, strides, target, ELEMENT_BYTES[form.type]);
    if (plan->plan == NULL) {
        free_copy(plan);
        return PyErr_NoMemory();
    }
    return kernel_new("copy", call_copy, plan, free_copy);
}

/* Bytes that a layout touches, from its first logical element: low <= byte < end. */
static void touched(int rank, const Index *extents, const Index *strides, Index element, Index *low, Index *end) {
    *low = 0;
    *end = element;
    for (int axis = 0; axis < rank; axis++) {
        Index reach = (extents[axis] - 1) * strides[axis] * element;
        *(reach < 0 ? low : end) += reach;
    }
}

/* copy_into(extents, target_strides, source_strides, dtype): a kernel of two arrays, target and source. */
static PyObject *bind_copy_into(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (count != 4) return PyErr_Format(PyExc_TypeError, "copy_into takes extents, strides, strides, element type");
    ArrayForm form;
    Index extents[MAX_RANK], target[MAX_RANK], source[MAX_RANK], between[MAX_RANK];
    if (array_form_read(&form, arguments[0], arguments[3]) < 0) return NULL;
    int rank = form.rank, element = ELEMENT_BYTES[form.type];
    for (int axis = 0; axis < rank; axis++) extents[axis] = form.shape[axis];
    if (!read_strides(target, arguments[1], rank, extents, element)) return NULL;
    if (!read_strides(source, arguments[2], rank, extents, element)) return NULL;
    compact(between, rank, extents);
    CopyIntoPlan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) return PyErr_NoMemory();
    plan->plan = copy_plan(rank, extents, source, target, element);
    plan->plan_out = copy_plan(rank, extents, source, between, element);
    plan->plan_in = copy_plan(rank, extents, between, target, element);
    plan->bytes = form.bytes;
    if (form.size > 0) {
        touched(rank, extents, source, element, &plan->source_low, &plan->source_end);
        touched(rank, extents, target, element, &plan->target_low, &plan->target_end);
    }
    if (plan->plan == NULL || plan->plan_out == NULL || plan->plan_in == NULL) {
        free_copy_into(plan);
        return PyErr_NoMemory();
    }
    return kernel_new("copy_into", call_copy_into, plan, free_copy_into);
}

/* copy_method(extents, target_strides, source_strides, element_bytes): how such a copy is made: the name of the method,
 * and the extents of the loops around the tile, innermost first. */
static PyObject *method(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (count != 4) return PyErr_Format(PyExc_TypeError, "copy_method takes extents, strides, strides, element bytes");
    Index extents[MAX_RANK], target[MAX_RANK], source[MAX_RANK];
    int rank = indices_read(extents, MAX_RANK, arguments[0]);
    if (rank < 0) return NULL;
    long element = PyLong_AsLong(arguments[3]);
    if (element == -1 && PyErr_Occurred()) return NULL;
    if (element != 1 && element != 2 && element != 4 && element != 8 && element != 16)
        return PyErr_Format(PyExc_ValueError, "elements have 1, 2, 4, 8 or 16 bytes, not %ld", element);
    if (!read_strides(target, arguments[1], rank, extents, (int)element)) return NULL;
    if (!read_strides(source, arguments[2], rank, extents, (int)element)) return NULL;
    CopyPlan *plan = copy_plan(rank, extents, source, target, (int)element);
    if (plan == NULL) return PyErr_NoMemory();
    PyObject *loops = PyTuple_New(plan->rank);
    for (int axis = 0; loops != NULL && axis < plan->rank; axis++) {
        PyObject *extent = PyLong_FromLongLong(plan->loops[axis].extent);
        if (extent == NULL) Py_CLEAR(loops);
        else PyTuple_SET_ITEM(loops, axis, extent);
    }
    PyObject *found = loops ? Py_BuildValue("(sN)", copy_method(plan), loops) : NULL;
    copy_plan_free(plan);
    return found;
}

PyMethodDef permute_functions[] = {
    {"bind_copy", (PyCFunction)(void (*)(void))bind_copy, METH_FASTCALL, "A kernel that copies to a compact array."},
    {"bind_copy_into", (PyCFunction)(void (*)(void))bind_copy_into, METH_FASTCALL, "A kernel that writes to a view."},
    {"copy_method", (PyCFunction)(void (*)(void))method, METH_FASTCALL, "How a copy would be made."},
    {NULL, NULL, 0, NULL},
};
