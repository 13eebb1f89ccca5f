/* Elements moved along axes, which come in at the other end: by how many places is said at each call. What lies together
 * on both sides moves as one piece; a line of pieces goes in two parts. */
#include "core/arguments.h"
#include "core/kernel.h"
#include "core/moved_bytes.h"
#include "core/threads.h"
#include "core/topics.h"
#include "copy/permute.h"

#include <stdlib.h>

typedef struct {
    Index extent, source_bytes, target_bytes; /* bytes from one index to the next */
    int place;                                /* among the shifts; -1 for an axis that stays */
} RolledAxis;

typedef struct {
    ArrayForm result;
    int rank, shifts;
    RolledAxis axes[MAX_RANK]; /* at least one; the last one has pieces without gaps in the target */
    Index extents[MAX_RANK];   /* of the axes that are rolled, in the order of the shifts */
} RolledPlan;

typedef struct {
    const RolledPlan *plan;
    const Index *cuts; /* 0 <= cut < extent, of each shift: where the first index comes to */
    const char *source;
    char *target;
} Job;

static void move(const RolledAxis *axis, const char *source, char *target, Index count) {
    const Index bytes = axis->target_bytes;
    if (axis->source_bytes == bytes) move_bytes(target, source, (size_t)(count * bytes));
    else
        for (Index k = 0; k < count; k++)
            move_bytes(target + k * bytes, source + k * axis->source_bytes, (size_t)bytes);
}

static void roll(const Job *job, int level, const char *source, char *target) {
    const RolledAxis *axis = job->plan->axes + level;
    const Index cut = axis->place < 0 ? 0 : job->cuts[axis->place], stay = axis->extent - cut;
    if (level == job->plan->rank - 1) {
        move(axis, source, target + cut * axis->target_bytes, stay);
        move(axis, source + stay * axis->source_bytes, target, cut);
        return;
    }
    for (Index k = 0; k < axis->extent; k++)
        roll(job, level + 1, source + k * axis->source_bytes,
             target + (k < stay ? k + cut : k - stay) * axis->target_bytes);
}

/* Indices of the first axis, of several. */
static void roll_range(void *context, Index begin, Index end) {
    const Job *job = context;
    const RolledAxis *axis = job->plan->axes;
    const Index cut = axis->place < 0 ? 0 : job->cuts[axis->place], stay = axis->extent - cut;
    for (Index k = begin; k < end; k++)
        roll(job, 1, job->source + k * axis->source_bytes,
             job->target + (k < stay ? k + cut : k - stay) * axis->target_bytes);
}

static void roll_all(Job *job) {
    const RolledPlan *plan = job->plan;
    if (plan->rank == 1) roll(job, 0, job->source, job->target);
    else parallel_for(plan->axes->extent, 1 + LONG_COPY / plan->axes->target_bytes, roll_range, job);
}

/* A shift of any size, as where it brings the first index; -1 with an exception set. */
static Index cut_of(PyObject *shift, Index extent) {
    int beyond;
    Index places = PyLong_AsLongLongAndOverflow(shift, &beyond);
    if (PyErr_Occurred()) return -1;
    if (beyond) {
        PyObject *divisor = PyLong_FromLongLong(extent);
        PyObject *rest = divisor ? PyNumber_Remainder(shift, divisor) : NULL;
        places = rest ? PyLong_AsLongLong(rest) : -1;
        Py_XDECREF(divisor);
        Py_XDECREF(rest);
        if (PyErr_Occurred()) return -1;
    }
    places %= extent;
    return places < 0 ? places + extent : places;
}

static PyObject *call(PyObject *self, PyObject *const *arguments, size_t flagged_count, PyObject *names) {
    const RolledPlan *plan = kernel_plan(self);
    Index cuts[MAX_RANK];
    if (!kernel_takes(self, flagged_count, names, 2) || !kernel_takes_array(self, arguments[0], 0)) return NULL;
    if (!PyTuple_Check(arguments[1]) || PyTuple_GET_SIZE(arguments[1]) != plan->shifts)
        return PyErr_Format(PyExc_TypeError, "the native kernel rolled takes a tuple of %d shifts", plan->shifts);
    for (int k = 0; k < plan->shifts; k++) {
        cuts[k] = cut_of(PyTuple_GET_ITEM(arguments[1], k), plan->extents[k]);
        if (cuts[k] < 0) return NULL;
    }
    PyObject *result = array_new(&plan->result);
    if (result == NULL) return NULL;
    Job job = {plan, cuts, array_data(arguments[0]), array_data(result)};
    if (plan->result.bytes < LONG_COPY) {
        roll_all(&job);
    } else {
        Py_BEGIN_ALLOW_THREADS roll_all(&job);
        Py_END_ALLOW_THREADS
    }
    return result;
}

/* Axes of one element are left out, but for the last one; those that stay and follow one another in both arrays are one. */
static void plan_axes(RolledPlan *plan, const Index *strides, const int *places) {
    const ArrayForm *form = &plan->result;
    const Index item = ELEMENT_BYTES[form->type];
    RolledAxis *axes = plan->axes, last = {1, item, item, -1};
    Index step = item;
    int count = 0;
    for (int axis = form->rank - 1; axis >= 0; axis--) { /* from the fastest */
        const RolledAxis one = {form->shape[axis], strides[axis] * item, step, places[axis]};
        step *= one.extent;
        if (one.extent == 1) continue;
        if (one.place < 0 && last.place < 0 && one.source_bytes == last.extent * last.source_bytes) {
            last.extent *= one.extent;
            continue;
        }
        /* What the axes before it amount to may be a piece of this one. */
        const bool piece = count == 0 && last.place < 0 && last.source_bytes == last.target_bytes &&
                           one.source_bytes == last.extent * last.source_bytes;
        if (!piece && last.extent > 1) axes[count++] = last;
        last = one;
    }
    axes[count++] = last;
    plan->rank = count;
    for (int k = 0; k < count / 2; k++) {
        const RolledAxis other = axes[k];
        axes[k] = axes[count - 1 - k];
        axes[count - 1 - k] = other;
    }
}

/* bind_rolled(shape, dtype, strides, axes): a kernel of an array with these strides and a tuple of shifts, one for each of
 * the axes, which differ. There is at least one element. */
static PyObject *bind_rolled(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    RolledPlan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) return PyErr_NoMemory();
    ArrayForm *form = &plan->result;
    StridedLayout source;
    Index rolled[MAX_RANK];
    int places[MAX_RANK];
    bool good = arguments_count("bind_rolled", count, 4, "a shape, an element type, strides and axes") &&
                array_form_read(form, arguments[0], arguments[1]) == 0 &&
                layout_read(&source, form, arguments[2], form->type);
    plan->shifts = good ? indices_read(rolled, form->rank, arguments[3]) : -1;
    good = plan->shifts >= 0;
    for (int axis = 0; good && axis < form->rank; axis++) places[axis] = -1;
    bool fits = good && form->size > 0;
    for (int k = 0; fits && k < plan->shifts; k++) {
        fits = rolled[k] >= 0 && rolled[k] < form->rank && places[rolled[k]] < 0;
        if (fits) places[rolled[k]] = k;
        if (fits) plan->extents[k] = form->shape[rolled[k]];
    }
    if (good && !fits) PyErr_SetString(PyExc_ValueError, "bind_rolled: axes that do not fit the shape");
    if (!fits) {
        free(plan);
        return NULL;
    }
    plan_axes(plan, source.strides, places);
    const Operand operand = {form->type, source.reach, false};
    PyObject *kernel = kernel_makes(kernel_new("rolled", call, plan, free), form, false);
    return kernel_with_operands(kernel, &operand, 1);
}

PyMethodDef rolled_functions[] = {
    {"bind_rolled", (PyCFunction)(void (*)(void))bind_rolled, METH_FASTCALL, "Kernel that moves elements along axes."},
    {NULL, NULL, 0, NULL},
};
