/* Kernels of layer_norm and rms_norm along one axis (normalization.h): how threads share the lines. Where squares leave the
 * range, all is left to a fallback, which scales. */
#include "lines/normalization.h"

#include "core/arguments.h"
#include "core/caching_allocator.h"
#include "core/kernel.h"
#include "core/threads.h"
#include "core/topics.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
    UNIT_ELEMENTS = 1 << 12, /* of lines that a thread takes together */
    WORTH_A_THREAD = 1 << 15,
    WORTH_RELEASING_THE_GIL = 1 << 14, /* elements */
    COLUMN_BYTES = 1 << 20,            /* of a block of columns, which is read three times and written once */
    LEAST_COLUMNS = 128,
};

static const char *const NAMES[NORMALIZATIONS] = {"layer_norm", "rms_norm"};

typedef struct {
    ArrayForm result;
    NormalizeAlong along;
    NormalizeAcross across;
    PyObject *fallback;
    double epsilon;
    Index outer, length, inner;
    Index columns, lines; /* of a unit: of columns, or lines that lie together */
} NormalizationPlan;

typedef struct {
    const NormalizationPlan *plan;
    const char *source;
    char *result;
    atomic_bool outside, out_of_memory;
} Job;

static void take_units(void *context, Index begin, Index end) {
    Job *job = context;
    const NormalizationPlan *plan = job->plan;
    const Index bytes = ELEMENT_BYTES[plan->result.type], blocks = pieces(plan->inner, plan->columns);
    char *scratch = scratch_acquire(LINE_SCRATCH);
    if (scratch == NULL) {
        atomic_store(&job->out_of_memory, true);
        return;
    }
    bool good = true;
    if (plan->inner == 1) {
        const Index first = begin * plan->lines, count = smaller(end * plan->lines, plan->outer) - first;
        const Index from = first * plan->length * bytes;
        good = plan->along(count, plan->length, plan->epsilon, job->source + from, job->result + from, scratch);
    } else {
        for (Index unit = begin; unit < end; unit++) {
            const Index first = unit % blocks * plan->columns, columns = smaller(plan->inner - first, plan->columns);
            const Index from = (unit / blocks * plan->length * plan->inner + first) * bytes;
            good &= plan->across(plan->length, columns, plan->inner, plan->epsilon, job->source + from,
                                 job->result + from, scratch);
        }
    }
    if (!good) atomic_store(&job->outside, true);
    scratch_release(scratch, LINE_SCRATCH);
}

static void run(Job *job) {
    const NormalizationPlan *plan = job->plan;
    const bool side_by_side = plan->inner == 1;
    const Index units =
        side_by_side ? pieces(plan->outer, plan->lines) : plan->outer * pieces(plan->inner, plan->columns);
    const Index elements = plan->length * (side_by_side ? plan->lines : plan->columns);
    parallel_for(units, 1 + WORTH_A_THREAD / elements, take_units, job);
}

static PyObject *call(PyObject *self, PyObject *const *arguments, size_t flagged_count, PyObject *names) {
    const NormalizationPlan *plan = kernel_plan(self);
    if (!kernel_takes_arrays(self, flagged_count, names, arguments, 1)) return NULL;
    PyObject *result = array_new(&plan->result);
    if (result == NULL) return NULL;
    Job job = {.plan = plan, .source = array_data(arguments[0]), .result = array_data(result)};
    if (plan->result.size <= WORTH_RELEASING_THE_GIL) {
        run(&job);
    } else {
        Py_BEGIN_ALLOW_THREADS run(&job);
        Py_END_ALLOW_THREADS
    }
    const bool memory = !atomic_load(&job.out_of_memory);
    if (memory && !atomic_load(&job.outside)) return result;
    Py_DECREF(result);
    return memory ? PyObject_Vectorcall(plan->fallback, arguments, 1, NULL) : PyErr_NoMemory();
}

static void release(void *normalization) {
    NormalizationPlan *plan = normalization;
    Py_XDECREF(plan->fallback);
    free(plan);
}

static bool cut(NormalizationPlan *plan, PyObject *lines) {
    Index numbers[3];
    Reach reach = NO_AXES;
    const int count = indices_read(numbers, 3, lines);
    if (count < 0) return false;
    bool good = count == 3;
    for (int k = 0; good && k < 3; k++) {
        good = numbers[k] > 0;
        if (good && !reach_read(&reach, numbers[k], 1)) return false;
    }
    if (!good || numbers[0] * numbers[1] * numbers[2] != plan->result.size) {
        PyErr_Format(PyExc_ValueError, "lines are three extents above 0 that fit the result, found %R", lines);
        return false;
    }
    plan->outer = numbers[0], plan->length = numbers[1], plan->inner = numbers[2];
    plan->lines = plan->length < UNIT_ELEMENTS ? UNIT_ELEMENTS / plan->length : 1;
    plan->columns = rounded_up(1 + COLUMN_BYTES / (plan->length * (Index)sizeof(double)), LEAST_COLUMNS);
    if (plan->columns > MOST_LINE_COLUMNS) plan->columns = MOST_LINE_COLUMNS;
    return true;
}

/* bind_normalization(name, type, (outer, length, inner), shape, epsilon, fallback); None where there are no such loops */
static PyObject *bind_normalization(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *name, *type_name, *lines, *shape, *fallback;
    double epsilon;
    if (!PyArg_ParseTuple(arguments, "OOOOdO:bind_normalization", &name, &type_name, &lines, &shape, &epsilon,
                          &fallback))
        return NULL;
    const int operation = name_read(name, NAMES, NORMALIZATIONS), type = element_type_read(type_name);
    if (type < 0) return NULL;
    const NormalizationKernels *kernels = SIMD_CHOICE(normalization_kernels);
    if (operation < 0 || kernels->along[operation][type] == NULL) Py_RETURN_NONE;
    if (!(epsilon >= 0) || isinf(epsilon) || !PyCallable_Check(fallback))
        return PyErr_Format(PyExc_ValueError, "bind_normalization takes a finite number of 0 or more, and a fallback");
    NormalizationPlan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) return PyErr_NoMemory();
    plan->along = kernels->along[operation][type];
    plan->across = kernels->across[operation][type];
    plan->epsilon = epsilon;
    plan->fallback = Py_NewRef(fallback);
    if (array_form_read(&plan->result, shape, type_name) < 0 || !cut(plan, lines)) {
        release(plan);
        return NULL;
    }
    const Operand operand = {(ElementType)type, compact_reach(plan->result.size), false};
    PyObject *kernel = kernel_new(NAMES[operation], call, plan, release);
    return kernel_with_operands(kernel_makes(kernel, &plan->result, false), &operand, 1);
}

PyMethodDef normalization_functions[] = {
    {"bind_normalization", bind_normalization, METH_VARARGS, "A kernel that normalises the lines of an axis."},
    {NULL, NULL, 0, NULL},
};
