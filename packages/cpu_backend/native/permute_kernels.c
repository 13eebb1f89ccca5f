/* Python's side of strided copies: the kernels "copy" and "copy_into". permute.c does the work.
 *
 * copy_into copies through a temporary when the byte ranges of its two arrays intersect, so that it behaves as if the
 * source had been copied first.
 */
#include "arrays.h"
#include "kernel.h"
#include "permute.h"
#include "pool.h"
#include "topics.h"

#include <stdlib.h>

typedef struct {
    CopyPlan *plan;
    ArrayForm result;
} Copying;

typedef struct {
    CopyPlan *plan, *plan_out, *plan_in; /* at once; source to compact temporary; from there to the target */
    Index source_low, source_end, target_low, target_end; /* bytes touched, from the first logical element */
    size_t bytes;
} Writing;

static void run(const CopyPlan *plan, const void *source, void *target) {
    if (!copy_takes_long(plan)) {
        copy_run(plan, source, target);
        return;
    }
    Py_BEGIN_ALLOW_THREADS
    copy_run(plan, source, target);
    Py_END_ALLOW_THREADS
}

static PyObject *call_copy(PyObject *self, PyObject *const *arguments, size_t flagged_count, PyObject *names) {
    const Copying *copying = kernel_plan(self);
    if (!kernel_takes(self, flagged_count, names, 1) || !are_arrays(arguments, 1)) return NULL;
    PyObject *result = array_new(&copying->result);
    if (result != NULL) run(copying->plan, array_data(arguments[0]), array_data(result));
    return result;
}

static PyObject *call_copy_into(PyObject *self, PyObject *const *arguments, size_t flagged_count, PyObject *names) {
    const Writing *writing = kernel_plan(self);
    if (!kernel_takes(self, flagged_count, names, 2) || !are_arrays(arguments, 2)) return NULL;
    char *target = array_data(arguments[0]), *source = array_data(arguments[1]);
    uintptr_t to = (uintptr_t)target, from = (uintptr_t)source;
    if (to + (uintptr_t)writing->target_end <= from + (uintptr_t)writing->source_low ||
        from + (uintptr_t)writing->source_end <= to + (uintptr_t)writing->target_low) {
        run(writing->plan, source, target);
        Py_RETURN_NONE;
    }
    void *temporary = pool_take(writing->bytes);
    if (temporary == NULL) return PyErr_NoMemory();
    run(writing->plan_out, source, temporary);
    run(writing->plan_in, temporary, target);
    pool_give(temporary, writing->bytes);
    Py_RETURN_NONE;
}

static void free_copying(void *plan) {
    Copying *copying = plan;
    copy_plan_free(copying->plan);
    free(copying);
}

static void free_writing(void *plan) {
    Writing *writing = plan;
    copy_plan_free(writing->plan);
    copy_plan_free(writing->plan_out);
    copy_plan_free(writing->plan_in);
    free(writing);
}

static void compact(Index *strides, int rank, const Index *extents) {
    Index stride = 1;
    for (int axis = rank - 1; axis >= 0; axis--) {
        strides[axis] = stride;
        stride *= extents[axis];
    }
}

static bool has_rank(int found, int rank) {
    if (found >= 0 && found != rank) PyErr_Format(PyExc_ValueError, "expected %d strides, found %d", rank, found);
    return found == rank;
}

/* copy(extents, strides, dtype): a kernel from an array with these strides to a new one without gaps. */
static PyObject *bind_copy(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (count != 3) return PyErr_Format(PyExc_TypeError, "copy takes extents, strides and an element type");
    Index extents[MAX_RANK], strides[MAX_RANK], target[MAX_RANK];
    Copying *copying = calloc(1, sizeof *copying);
    if (copying == NULL) return PyErr_NoMemory();
    int rank = array_form_read(&copying->result, arguments[0], arguments[2]) < 0 ? -1 : copying->result.rank;
    if (rank < 0 || !has_rank(indices_read(strides, MAX_RANK, arguments[1]), rank)) {
        free_copying(copying);
        return NULL;
    }
    for (int axis = 0; axis < rank; axis++) extents[axis] = copying->result.shape[axis];
    compact(target, rank, extents);
    copying->plan = copy_plan(rank, extents, strides, target, ELEMENT_BYTES[copying->result.type]);
    if (copying->plan == NULL) {
        free_copying(copying);
        return PyErr_NoMemory();
    }
    return kernel_new("copy", call_copy, copying, free_copying);
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
    if (!has_rank(indices_read(target, MAX_RANK, arguments[1]), rank)) return NULL;
    if (!has_rank(indices_read(source, MAX_RANK, arguments[2]), rank)) return NULL;
    for (int axis = 0; axis < rank; axis++) extents[axis] = form.shape[axis];
    compact(between, rank, extents);
    Writing *writing = calloc(1, sizeof *writing);
    if (writing == NULL) return PyErr_NoMemory();
    writing->plan = copy_plan(rank, extents, source, target, element);
    writing->plan_out = copy_plan(rank, extents, source, between, element);
    writing->plan_in = copy_plan(rank, extents, between, target, element);
    writing->bytes = form.bytes;
    if (form.size > 0) {
        touched(rank, extents, source, element, &writing->source_low, &writing->source_end);
        touched(rank, extents, target, element, &writing->target_low, &writing->target_end);
    }
    if (writing->plan == NULL || writing->plan_out == NULL || writing->plan_in == NULL) {
        free_writing(writing);
        return PyErr_NoMemory();
    }
    return kernel_new("copy_into", call_copy_into, writing, free_writing);
}

/* copy_method(extents, target_strides, source_strides, element_bytes): how such a copy is made. */
static PyObject *method(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (count != 4) return PyErr_Format(PyExc_TypeError, "copy_method takes extents, strides, strides, element bytes");
    Index extents[MAX_RANK], target[MAX_RANK], source[MAX_RANK];
    int rank = indices_read(extents, MAX_RANK, arguments[0]);
    if (rank < 0 || !has_rank(indices_read(target, MAX_RANK, arguments[1]), rank)) return NULL;
    if (!has_rank(indices_read(source, MAX_RANK, arguments[2]), rank)) return NULL;
    long element = PyLong_AsLong(arguments[3]);
    if (element == -1 && PyErr_Occurred()) return NULL;
    CopyPlan *plan = copy_plan(rank, extents, source, target, (int)element);
    if (plan == NULL) return PyErr_NoMemory();
    PyObject *name = PyUnicode_FromString(copy_method(plan));
    copy_plan_free(plan);
    return name;
}

PyMethodDef permute_functions[] = {
    {"bind_copy", (PyCFunction)(void (*)(void))bind_copy, METH_FASTCALL, "A kernel that copies to a compact array."},
    {"bind_copy_into", (PyCFunction)(void (*)(void))bind_copy_into, METH_FASTCALL, "A kernel that copies into an array."},
    {"copy_method", (PyCFunction)(void (*)(void))method, METH_FASTCALL, "How a copy would be made."},
    {NULL, NULL, 0, NULL},
};
