/* Kernels along the lines of one axis (lines.h): what they are made from, and how threads share them. */
#include "lines/lines.h"

#include "core/arguments.h"
#include "core/caching_allocator.h"
#include "core/kernel.h"
#include "core/threads.h"
#include "core/topics.h"
#include "reduction/reduce.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
    UNIT_ELEMENTS = 1 << 12, /* of lines that a thread takes together */
    WORTH_A_THREAD = 1 << 15,
    SOFTMAX_BYTES = 1 << 20, /* of a block of columns, which is read twice and written twice */
    LEAST_COLUMNS = 128,
};
static const double NANOSECONDS = 0.5; /* an element */

static const char *const NAMES[LINE_OPERATIONS] = {"argmax", "argmin", "cumsum", "cumprod", "softmax", "log_softmax"};
static const char *const FOLD_NAMES[SHORT_FOLDS] = {"sum",     "max",  "min", "mean", "spread",
                                                    "squares", "prod", "any", "all"};

typedef struct {
    ArrayForm result;
    Along along;
    Across across;
    FoldShort fold;
    ExtremesOfPieces extremes;
    PlaceInOtherOrder place;
    Index outer, length, inner;
    Index columns, lines; /* of a unit: of columns, or lines that lie together */
    Index result_length;  /* of a line of the result */
    int source_bytes, result_bytes;
    size_t scratch_bytes;
    double divisor;
    bool root;
    int rank; /* of an operand of which one place is looked for */
    Index extents[MAX_RANK];
} LinesPlan;

typedef struct {
    const LinesPlan *plan;
    const char *source;
    char *result;
    void *extremes;
    atomic_bool out_of_memory;
} Job;

static void take_units(void *context, Index begin, Index end) {
    Job *job = context;
    const LinesPlan *plan = job->plan;
    _Alignas(64) char little[LITTLE_WORKSPACE];
    char *scratch = workspace_acquire(little, plan->scratch_bytes);
    if (scratch == NULL) {
        atomic_store(&job->out_of_memory, true);
        return;
    }
    if (plan->inner == 1) {
        const Index first = begin * plan->lines, count = smaller(end * plan->lines, plan->outer) - first;
        const char *source = job->source + first * plan->length * plan->source_bytes;
        char *result = job->result + first * plan->result_length * plan->result_bytes;
        if (plan->fold != NULL) plan->fold(count, plan->length, source, result, plan->divisor, plan->root);
        else plan->along(count, plan->length, source, result, scratch);
    } else {
        const Index blocks = pieces(plan->inner, plan->columns);
        for (Index unit = begin; unit < end; unit++) {
            const Index outer = unit / blocks, first = unit % blocks * plan->columns;
            const Index from = outer * plan->length * plan->inner + first;
            const Index to = outer * plan->result_length * plan->inner + first;
            plan->across(plan->length, smaller(plan->inner - first, plan->columns), plan->inner,
                         job->source + from * plan->source_bytes, job->result + to * plan->result_bytes, scratch);
        }
    }
    workspace_release(scratch, plan->scratch_bytes);
}

static bool run(const void *lines, const char *const *operands, char *result) {
    const LinesPlan *plan = lines;
    Job job = {.plan = plan, .source = operands[0], .result = result};
    if (plan->result.size == 0) return true;
    const bool side_by_side = plan->inner == 1;
    const Index units =
        side_by_side ? pieces(plan->outer, plan->lines) : plan->outer * pieces(plan->inner, plan->columns);
    const Index elements = plan->length * (side_by_side ? plan->lines : plan->columns);
    parallel_for(units, 1 + WORTH_A_THREAD / elements, take_units, &job);
    return !atomic_load(&job.out_of_memory);
}

static void take_pieces(void *context, Index begin, Index end) {
    const Job *job = context;
    job->plan->extremes(begin, end, job->plan->length, job->source, job->extremes);
}

/* The place of an extreme among all elements. */
static bool run_everywhere(const void *lines, const char *const *operands, char *result) {
    const LinesPlan *plan = lines;
    const Index count = pieces(plan->length, MOST_IN_LINE);
    const size_t bytes = (size_t)count * sizeof(double);
    Job job = {.plan = plan, .source = operands[0], .extremes = scratch_acquire(bytes)};
    if (job.extremes == NULL) return false;
    parallel_for(count, 1 + WORTH_A_THREAD / MOST_IN_LINE, take_pieces, &job);
    *(int64_t *)(void *)result = plan->place(plan->length, operands[0], job.extremes, plan->rank, plan->extents);
    scratch_release(job.extremes, bytes);
    return true;
}

static PyObject *kernel_of(LinesPlan *plan, const char *name, Compute *compute, ElementType type, Index elements) {
    const Operand operand = {type, compact_reach(elements), false};
    PyObject *kernel = kernel_new(name, kernel_call, plan, free);
    kernel = kernel_computes(kernel, compute, &plan->result, NANOSECONDS * (double)elements);
    return kernel_with_operands(kernel, &operand, 1);
}

/* Cuts the work; false, with an exception set, where the lines do not fit the result. */
static bool cut_lines(LinesPlan *plan, PyObject *lines, ElementType type, Index *elements) {
    Index numbers[3];
    const int count = indices_read(numbers, 3, lines);
    Reach reach = NO_AXES;
    if (count < 0) return false;
    if (count != 3 || numbers[0] < 1 || numbers[1] < 1 || numbers[2] < 1) {
        PyErr_Format(PyExc_ValueError, "lines are three extents above 0, found %R", lines);
        return false;
    }
    for (int k = 0; k < 3; k++)
        if (!reach_read(&reach, numbers[k], 1)) return false;
    plan->outer = numbers[0], plan->length = numbers[1], plan->inner = numbers[2];
    *elements = plan->outer * plan->length * plan->inner;
    if (plan->result.size != plan->outer * plan->result_length * plan->inner) {
        PyErr_SetString(PyExc_ValueError, "the lines do not fit the result");
        return false;
    }
    plan->source_bytes = ELEMENT_BYTES[type];
    plan->result_bytes = ELEMENT_BYTES[plan->result.type];
    plan->lines = plan->length < UNIT_ELEMENTS ? UNIT_ELEMENTS / plan->length : 1;
    plan->columns = MOST_LINE_COLUMNS;
    return true;
}

/* bind_lines(operation, type, (outer, length, inner), shape, type of the result); None where there are no such loops */
static PyObject *bind_lines(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (!arguments_count("bind_lines", count, 5, "a name, a type, lines, a shape and the result's type")) return NULL;
    const int operation = name_read(arguments[0], NAMES, LINE_OPERATIONS), type = element_type_read(arguments[1]);
    if (type < 0) return NULL;
    const LineKernels *kernels = SIMD_CHOICE(line_kernels);
    if (operation < 0 || kernels->along[operation][type] == NULL) Py_RETURN_NONE;
    LinesPlan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) return PyErr_NoMemory();
    Index elements;
    const bool finds = operation == ARGMAX || operation == ARGMIN;
    plan->along = kernels->along[operation][type];
    plan->across = kernels->across[operation][type];
    if (array_form_read(&plan->result, arguments[3], arguments[4]) < 0) goto failed;
    plan->result_length = 1;
    if (!finds) {
        Index numbers[3];
        if (indices_read(numbers, 3, arguments[2]) < 0) goto failed;
        plan->result_length = numbers[1];
    }
    if (!cut_lines(plan, arguments[2], (ElementType)type, &elements)) goto failed;
    const ElementType result = plan->result.type;
    const bool widens = (type == I32 || type == BOOL) && result == I64; /* sums and products */
    if (finds ? result != I64 : result != (ElementType)type && !widens) {
        PyErr_Format(PyExc_ValueError, "bind_lines: the result of %R is of another type", arguments[0]);
        goto failed;
    }
    const bool softens = operation == SOFTMAX || operation == LOG_SOFTMAX;
    if (softens && plan->inner > 1) {
        plan->columns = rounded_up(1 + SOFTMAX_BYTES / (plan->length * (Index)sizeof(double)), LEAST_COLUMNS);
        if (plan->columns > MOST_LINE_COLUMNS) plan->columns = MOST_LINE_COLUMNS;
    }
    const size_t line_bytes = (size_t)plan->length * (size_t)plan->source_bytes;
    plan->scratch_bytes = LINE_SCRATCH;
    if (operation == LOG_SOFTMAX && plan->inner == 1 && line_bytes > LINE_SCRATCH) plan->scratch_bytes = line_bytes;
    if (plan->inner == 1 && plan->length > SHORT_LINE && operation != LOG_SOFTMAX) plan->scratch_bytes = 0;
    return kernel_of(plan, NAMES[operation], run, (ElementType)type, elements);
failed:
    free(plan);
    return NULL;
}

/* bind_short_lines(fold, type, (lines, length, 1), shape, type of the result, divisor, root); None without such loops */
static PyObject *bind_short_lines(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *name, *type_name, *lines, *shape, *result_type;
    double divisor;
    int root;
    if (!PyArg_ParseTuple(arguments, "OOOOOdp:bind_short_lines", &name, &type_name, &lines, &shape, &result_type,
                          &divisor, &root))
        return NULL;
    const int fold = name_read(name, FOLD_NAMES, SHORT_FOLDS), type = element_type_read(type_name);
    if (type < 0) return NULL;
    if (fold < 0 || SIMD_CHOICE(line_kernels)->folds[fold][type] == NULL) Py_RETURN_NONE;
    LinesPlan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) return PyErr_NoMemory();
    Index elements;
    plan->fold = SIMD_CHOICE(line_kernels)->folds[fold][type];
    plan->result_length = 1;
    plan->divisor = divisor;
    plan->root = root;
    if (array_form_read(&plan->result, shape, result_type) < 0 ||
        !cut_lines(plan, lines, (ElementType)type, &elements)) {
        free(plan);
        return NULL;
    }
    ElementType made = fold == LINE_ANY || fold == LINE_ALL ? BOOL : (ElementType)type;
    if (fold == LINE_SUM && type == I32) made = I64;
    if (plan->inner != 1 || plan->result.type != made) {
        free(plan);
        return PyErr_Format(PyExc_ValueError,
                            "bind_short_lines: lines lie side by side, and have results of their type");
    }
    return kernel_of(plan, FOLD_NAMES[fold], run, (ElementType)type, elements);
}

/* bind_place(operation, type, extents, shape): the place of an extreme, counted with the first axis fastest */
static PyObject *bind_place(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (!arguments_count("bind_place", count, 4, "a name, a type, extents and a shape")) return NULL;
    const int operation = name_read(arguments[0], NAMES, CUMSUM), type = element_type_read(arguments[1]);
    if (type < 0) return NULL;
    if (operation < 0 || SIMD_CHOICE(line_kernels)->places[operation][type] == NULL) Py_RETURN_NONE;
    LinesPlan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) return PyErr_NoMemory();
    PyObject *whole = PyUnicode_FromString("I64");
    Reach reach = NO_AXES;
    plan->extremes = SIMD_CHOICE(line_kernels)->extremes[operation][type];
    plan->place = SIMD_CHOICE(line_kernels)->places[operation][type];
    plan->rank = indices_read(plan->extents, MAX_RANK, arguments[2]);
    bool good = whole != NULL && plan->rank >= 0 && array_form_read(&plan->result, arguments[3], whole) == 0;
    Py_XDECREF(whole);
    plan->length = 1;
    for (int axis = 0; good && axis < plan->rank; axis++) {
        good = reach_read(&reach, plan->extents[axis], 1);
        if (good) plan->length *= plan->extents[axis];
    }
    if (good && (plan->length < 1 || plan->result.size != 1)) {
        PyErr_SetString(PyExc_ValueError, "bind_place: one place among at least one element");
        good = false;
    }
    if (!good) {
        free(plan);
        return NULL;
    }
    return kernel_of(plan, NAMES[operation], run_everywhere, (ElementType)type, plan->length);
}

PyMethodDef lines_functions[] = {
    {"bind_lines", (PyCFunction)(void (*)(void))bind_lines, METH_FASTCALL, "A kernel along the lines of an axis."},
    {"bind_short_lines", bind_short_lines, METH_VARARGS, "A kernel that folds short lines."},
    {"bind_place", (PyCFunction)(void (*)(void))bind_place, METH_FASTCALL, "The place of an extreme among all."},
    {NULL, NULL, 0, NULL},
};
