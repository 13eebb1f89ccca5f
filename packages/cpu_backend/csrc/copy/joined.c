/* Arrays one after the other along an axis of a new one: one strided copy each, into the result; or, where the axis is
 * the innermost one and each array has one element there, all of them by turns. */
#include "core/arguments.h"
#include "core/kernel.h"
#include "core/topics.h"
#include "core/threads.h"
#include "copy/permute.h"

#include <stdlib.h>

enum { MOST_JOINED = 128, ROWS = 256, WORTH_A_THREAD = 1 << 15 }; /* bytes */

typedef struct {
    ArrayForm result;
    int count;
    CopyPlan *copies[MOST_JOINED]; /* NULL for an array without elements */
    Index starts[MOST_JOINED];     /* bytes */
    Index rows;                    /* of one element of each array, which have no gaps; 0: each is copied by itself */
} JoinedPlan;

typedef struct {
    const JoinedPlan *plan;
    char *const *sources;
    char *target;
} Job;

static void release(void *memory) {
    JoinedPlan *plan = memory;
    for (int k = 0; k < plan->count; k++)
        if (plan->copies[k] != NULL) copy_plan_free(plan->copies[k]);
    free(plan);
}

static void take_turns(void *context, Index begin, Index end) {
    const Job *job = context;
    const JoinedPlan *plan = job->plan;
    const Index item = ELEMENT_BYTES[plan->result.type];
    const CopyKernels *kernels = SIMD_CHOICE(copy_kernels);
    const int width = __builtin_ctz((unsigned)item);
    const CopyTileFunction copy =
        plan->count <= MOST_INTERLEAVED ? kernels->interleave[width] : kernels->transpose[width];
    Index places[MOST_JOINED], rows[ROWS];
    for (int k = 0; k < plan->count; k++) places[k] = job->sources[k] - job->sources[0];
    for (Index row = 0; row < ROWS; row++) rows[row] = row * plan->count * item;
    for (Index row = begin * ROWS; row < smaller(end * ROWS, plan->rows); row += ROWS) {
        const CopyTile tile = {.columns = plan->count,
                               .rows = smaller(plan->rows - row, ROWS),
                               .column_source = places,
                               .row_target = rows};
        copy(&tile, job->sources[0] + row * item, job->target + row * plan->count * item, false);
    }
}

static void join(const JoinedPlan *plan, char *const *sources, char *target) {
    if (plan->rows > 0) {
        Job job = {plan, sources, target};
        const Index piece = ROWS * plan->count * ELEMENT_BYTES[plan->result.type];
        parallel_for(pieces(plan->rows, ROWS), 1 + WORTH_A_THREAD / piece, take_turns, &job);
        return;
    }
    for (int k = 0; k < plan->count; k++)
        if (plan->copies[k] != NULL) copy_run(plan->copies[k], sources[k], target + plan->starts[k]);
}

static PyObject *call(PyObject *self, PyObject *const *arguments, size_t flagged_count, PyObject *names) {
    const JoinedPlan *plan = kernel_plan(self);
    if (!kernel_takes_arrays(self, flagged_count, names, arguments, plan->count)) return NULL;
    PyObject *result = array_new(&plan->result);
    if (result == NULL) return NULL;
    char *sources[MOST_JOINED], *target = array_data(result);
    for (int k = 0; k < plan->count; k++) sources[k] = array_data(arguments[k]);
    if (plan->result.bytes < LONG_COPY) {
        join(plan, sources, target);
    } else {
        Py_BEGIN_ALLOW_THREADS join(plan, sources, target);
        Py_END_ALLOW_THREADS
    }
    return result;
}

/* Reads one array (extents, strides), of which `done` elements of the axis lie before it; false with an exception set. */
static bool read_part(JoinedPlan *plan, PyObject *pair, Index axis, Index *done, Operand *operand) {
    const ArrayForm *result = &plan->result;
    ArrayForm form = *result;
    StridedLayout source, target;
    Index extents[MAX_RANK], strides[MAX_RANK], step = 1;
    if (tuple_length(pair, 2, "extents and strides") < 0) return false;
    const int rank = PyTuple_GET_SIZE(pair) == 2 ? indices_read(extents, MAX_RANK, PyTuple_GET_ITEM(pair, 0)) : -2;
    if (rank == -1) return false;
    bool fits = rank == result->rank;
    form.size = 1;
    for (int k = rank - 1; fits && k >= 0; k--) {
        fits = extents[k] >= 0 && (k == axis ? extents[k] <= result->shape[k] - *done : extents[k] == result->shape[k]);
        form.shape[k] = extents[k];
        form.size *= fits ? extents[k] : 1;
        strides[k] = step;
        if (k == axis) plan->starts[plan->count] = *done * step * ELEMENT_BYTES[result->type];
        step *= result->shape[k] > 0 ? result->shape[k] : 1;
    }
    if (!fits) {
        PyErr_SetString(PyExc_ValueError, "bind_joined: the extents of an array do not fit the result");
        return false;
    }
    if (!layout_read(&source, &form, PyTuple_GET_ITEM(pair, 1), form.type)) return false;
    if (!strided_layout(&target, rank, extents, strides, ELEMENT_BYTES[form.type])) {
        PyErr_SetString(PyExc_OverflowError, "bind_joined: more elements than can be addressed");
        return false;
    }
    *operand = (Operand){form.type, source.reach, false};
    *done += extents[axis];
    plan->copies[plan->count] = form.size > 0 ? copy_plan(&source, &target) : NULL;
    if (form.size > 0 && plan->copies[plan->count] == NULL) {
        PyErr_NoMemory();
        return false;
    }
    plan->count++;
    return true;
}

/* Whether each array is one element of every row, and lies without gaps: then so many rows, else 0. */
static Index rows_by_turns(const JoinedPlan *plan, PyObject *parts, Index axis) {
    const ArrayForm *result = &plan->result;
    Index extents[MAX_RANK], strides[MAX_RANK];
    if (axis != result->rank - 1 || plan->count < 2 || plan->count != result->shape[axis]) return 0;
    for (int part = 0; part < plan->count; part++) {
        PyObject *pair = PyTuple_GET_ITEM(parts, part);
        indices_read(extents, MAX_RANK, PyTuple_GET_ITEM(pair, 0)); /* both were read before */
        indices_read(strides, MAX_RANK, PyTuple_GET_ITEM(pair, 1));
        Index step = 1;
        for (int k = result->rank - 2; k >= 0; step *= extents[k--])
            if (extents[k] != 1 && strides[k] != step) return 0;
        if (extents[axis] != 1) return 0;
    }
    return result->size / plan->count;
}

/* bind_joined(shape, dtype, axis, ((extents, strides), ...)), which lie one after the other along the axis; None for more
 * arrays than a kernel takes. */
static PyObject *bind_joined(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (!arguments_count("bind_joined", count, 4, "a shape, an element type, an axis and arrays")) return NULL;
    if (PyTuple_Check(arguments[3]) && PyTuple_GET_SIZE(arguments[3]) > MOST_JOINED) Py_RETURN_NONE;
    const int parts = tuple_length(arguments[3], MOST_JOINED, "arrays");
    const Index axis = parts < 0 ? -1 : PyLong_AsLongLong(arguments[2]);
    JoinedPlan *plan = PyErr_Occurred() ? NULL : calloc(1, sizeof *plan);
    if (plan == NULL) return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    Operand operands[MOST_JOINED];
    Index done = 0;
    bool good = array_form_read(&plan->result, arguments[0], arguments[1]) == 0;
    if (good && (axis < 0 || axis >= plan->result.rank)) {
        PyErr_SetString(PyExc_ValueError, "bind_joined: no such axis");
        good = false;
    }
    for (int k = 0; good && k < parts; k++)
        good = read_part(plan, PyTuple_GET_ITEM(arguments[3], k), axis, &done, &operands[k]);
    if (good && done != plan->result.shape[axis]) {
        PyErr_SetString(PyExc_ValueError, "bind_joined: the arrays do not fill the result");
        good = false;
    }
    if (!good) {
        release(plan);
        return NULL;
    }
    plan->rows = rows_by_turns(plan, arguments[3], axis);
    PyObject *kernel = kernel_makes(kernel_new("joined", call, plan, release), &plan->result, false);
    return kernel_with_operands(kernel, operands, parts);
}

PyMethodDef joined_functions[] = {
    {"bind_joined", (PyCFunction)(void (*)(void))bind_joined, METH_FASTCALL,
     "Kernel of arrays one after the other along an axis, or None."},
    {NULL, NULL, 0, NULL},
};
