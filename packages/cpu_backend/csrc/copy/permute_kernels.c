/* Python's side of strided copies: the kernels "copy" and "copy_into", and copy_method(), which tells how a copy would
 * be made. permute.c does the work.
 *
 * copy_into copies through a temporary when the byte ranges of its two arrays intersect, so that it behaves as if the
 * source had been copied first.
 */
#include "core/arguments.h"
#include "core/kernel.h"
#include "copy/permute_plan.h"
#include "core/caching_allocator.h"
#include "core/topics.h"

#include <stdlib.h>

typedef struct {
    CopyPlan *copy;
    ArrayForm result;
} CopyKernelPlan;

typedef struct {
    CopyPlan *copy, *copy_out, *copy_in; /* at once; source to compact temporary; from there to the target */
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

static bool compute_copy(const void *plan, const char *const *operands, char *result) {
    copy_run(((const CopyKernelPlan *)plan)->copy, operands[0], result);
    return true;
}

static PyObject *call_copy_into(PyObject *self, PyObject *const *arguments, size_t flagged_count, PyObject *names) {
    const CopyIntoPlan *plan = kernel_plan(self);
    if (!kernel_takes_arrays(self, flagged_count, names, arguments, 2)) return NULL;
    if (!array_is_writable(arguments[0])) return PyErr_Format(PyExc_ValueError, "copy_into: the target is read-only");
    char *target = array_data(arguments[0]), *source = array_data(arguments[1]);
    uintptr_t to = (uintptr_t)target, from = (uintptr_t)source;
    if (to + (uintptr_t)plan->target_end <= from + (uintptr_t)plan->source_low ||
        from + (uintptr_t)plan->source_end <= to + (uintptr_t)plan->target_low) {
        run(plan->copy, source, target);
        Py_RETURN_NONE;
    }
    void *temporary = scratch_acquire(plan->bytes);
    if (temporary == NULL) return PyErr_NoMemory();
    run(plan->copy_out, source, temporary);
    run(plan->copy_in, temporary, target);
    scratch_release(temporary, plan->bytes);
    Py_RETURN_NONE;
}

static void free_copy(void *memory) {
    CopyKernelPlan *plan = memory;
    copy_plan_free(plan->copy);
    free(plan);
}

static void free_copy_into(void *memory) {
    CopyIntoPlan *plan = memory;
    copy_plan_free(plan->copy);
    copy_plan_free(plan->copy_out);
    copy_plan_free(plan->copy_in);
    free(plan);
}

/* bind_copy(extents, strides, dtype): a kernel from an array with these strides to a new one without gaps; with one more
 * argument, the shape that the new one gets instead of the extents. */
static PyObject *bind_copy(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    ArrayForm form, result;
    StridedLayout source;
    if (!arguments_count("bind_copy", count == 4 ? 3 : count, 3, "extents, strides and an element type") ||
        array_form_read(&form, arguments[0], arguments[2]) < 0 ||
        array_form_read(&result, arguments[count == 4 ? 3 : 0], arguments[2]) < 0 ||
        !layout_read(&source, &form, arguments[1], form.type))
        return NULL;
    if (result.size != form.size)
        return PyErr_Format(PyExc_ValueError, "bind_copy: the shape has %lld elements, the extents %lld",
                            (long long)result.size, (long long)form.size);
    const StridedLayout target = compact_layout(&source);
    CopyKernelPlan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) return PyErr_NoMemory();
    plan->result = result;
    plan->copy = copy_plan(&source, &target);
    if (plan->copy == NULL) {
        free_copy(plan);
        return PyErr_NoMemory();
    }
    const Operand operand = {form.type, source.reach, false};
    const double nanoseconds = WORTH_NO_GIL / LONG_COPY * (double)form.bytes;
    PyObject *kernel = kernel_new("copy", kernel_call, plan, free_copy);
    return kernel_with_operands(kernel_computes(kernel, compute_copy, &plan->result, nanoseconds), &operand, 1);
}

/* The arguments (extents, target strides, source strides, dtype) of a binder. */
static bool views_read(const char *binder, PyObject *const *arguments, Py_ssize_t count, ArrayForm *form,
                       StridedLayout *target, StridedLayout *source) {
    return arguments_count(binder, count, 4, "extents, strides, strides and an element type") &&
           array_form_read(form, arguments[0], arguments[3]) == 0 &&
           layout_read(target, form, arguments[1], form->type) && layout_read(source, form, arguments[2], form->type);
}

/* bind_copy_into(extents, target strides, source strides, dtype): a kernel of two arrays, target and source. */
static PyObject *bind_copy_into(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    ArrayForm form;
    StridedLayout target, source;
    if (!views_read("bind_copy_into", arguments, count, &form, &target, &source)) return NULL;
    const StridedLayout between = compact_layout(&source);
    CopyIntoPlan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) return PyErr_NoMemory();
    plan->copy = copy_plan(&source, &target);
    plan->copy_out = copy_plan(&source, &between);
    plan->copy_in = copy_plan(&between, &target);
    plan->bytes = form.bytes;
    plan->source_low = layout_low(&source);
    plan->source_end = layout_end(&source);
    plan->target_low = layout_low(&target);
    plan->target_end = layout_end(&target);
    if (plan->copy == NULL || plan->copy_out == NULL || plan->copy_in == NULL) {
        free_copy_into(plan);
        return PyErr_NoMemory();
    }
    const Operand operands[] = {{form.type, target.reach, true}, {form.type, source.reach, false}};
    return kernel_with_operands(kernel_new("copy_into", call_copy_into, plan, free_copy_into), operands, 2);
}

/* copy_method(extents, target strides, source strides, dtype): how such a copy is made: the name of the method, and the
 * extents of the loops around the tile, innermost first. */
static PyObject *method(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    ArrayForm form;
    StridedLayout target, source;
    if (!views_read("copy_method", arguments, count, &form, &target, &source)) return NULL;
    CopyPlan *plan = copy_plan(&source, &target);
    if (plan == NULL) return PyErr_NoMemory();
    PyObject *loops = PyTuple_New(plan->rank);
    for (int axis = 0; loops != NULL && axis < plan->rank; axis++) {
        PyObject *extent = PyLong_FromLongLong(plan->loops[plan->rank - 1 - axis].extent);
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
