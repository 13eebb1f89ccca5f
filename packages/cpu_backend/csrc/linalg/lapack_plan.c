/* Reads what bind_lapack() is told, and says how much memory one matrix wants. */
#include "linalg/lapack.h"
#include "core/arguments.h"

#include <stdlib.h>

static const int RESULT_COUNTS[LAPACK_ROUTINES] = {[CHOLESKY] = 1, [SOLVE] = 1, [INV] = 1,      [DET] = 1,    [QR] = 2,
                                                   [EIGH] = 2,     [SVD] = 3,   [EIGVALSH] = 1, [SVDVALS] = 1};
/* Floating-point operations over rows * columns * shorter, roughly. */
static const double WORK[LAPACK_ROUTINES] = {[CHOLESKY] = 0.4, [SOLVE] = 0.7,    [INV] = 2.0,
                                             [DET] = 0.7,      [QR] = 3.0,       [EIGH] = 9.0,
                                             [SVD] = 20.0,     [EIGVALSH] = 2.0, [SVDVALS] = 4.0};
double lapack_work(const LapackPlan *plan) {
    return WORK[plan->routine] * (double)plan->rows * (double)plan->columns * (double)plan->shorter;
}

/* The next part of so many bytes. */
static void *take(char *memory, size_t *used, size_t bytes) {
    char *part = memory == NULL ? NULL : memory + *used;
    *used += (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    return part;
}

size_t lapack_scratch(const LapackPlan *plan, char *memory, Scratch *scratch) {
    const Routine routine = plan->routine;
    const bool copies = !plan->overwrite && (routine == SOLVE || routine == DET || routine == SVD ||
                                             routine == EIGVALSH || routine == SVDVALS);
    const size_t real = lapack_real_bytes(plan), number = plan->pairs ? 2 * real : real;
    const size_t results = plan->narrow ? (size_t)(plan->shared ? plan->count : 1) : 0; /* others are written at once */
    size_t used = 0;
    scratch->a = take(memory, &used, copies ? number * (size_t)(plan->rows * plan->columns) : 0);
    for (int i = 0; i < plan->result_count; i++)
        scratch->out[i] = take(memory, &used, real * (size_t)plan->block[i] * results);
    scratch->tau = take(memory, &used, routine == QR ? number * (size_t)plan->shorter : 0);
    scratch->work = take(memory, &used, number * (size_t)plan->work_size);
    scratch->reals = take(memory, &used, real * (size_t)plan->reals_size);
    scratch->room = take(memory, &used, sizeof(double) * (size_t)plan->room_size);
    scratch->integers = take(memory, &used, sizeof(BlasInt) * (size_t)plan->integers_size);
    return used;
}

/* Elements of each result that belong to one matrix. */
static void elements_of_results(const LapackPlan *plan, Index *elements) {
    const Index m = plan->rows, n = plan->columns, k = plan->shorter;
    switch (plan->routine) {
    case SOLVE: elements[0] = m * plan->right; break;
    case DET: elements[0] = 1; break;
    case EIGVALSH:
    case SVDVALS: elements[0] = k; break;
    case QR:
        elements[0] = m * k;
        elements[1] = k * n;
        break;
    case EIGH:
        elements[0] = m;
        elements[1] = m * m;
        break;
    case SVD:
        elements[0] = m * k;
        elements[1] = k;
        elements[2] = k * n;
        break;
    default: elements[0] = m * n;
    }
}

/* The second result of svd, the first of eigh, and values alone are real whatever the matrices are. */
static ElementType type_of_result(const LapackPlan *plan, int number) {
    const Routine routine = plan->routine;
    const bool is_real = (routine == SVD && number == 1) || (routine == EIGH && number == 0) || routine == EIGVALSH ||
                         routine == SVDVALS;
    return !is_real || !plan->pairs ? plan->type : plan->type == C32 ? F32 : F64;
}

static bool results_read(LapackPlan *plan, PyObject *forms) {
    Index elements[MOST_RESULTS];
    elements_of_results(plan, elements);
    if (PyTuple_GET_SIZE(forms) != plan->result_count) {
        PyErr_Format(PyExc_ValueError, "%s has %d results", ROUTINE_NAMES[plan->routine], plan->result_count);
        return false;
    }
    for (int i = 0; i < plan->result_count; i++) {
        PyObject *shape, *type_name;
        if (!PyTuple_Check(PyTuple_GET_ITEM(forms, i))) {
            PyErr_Format(PyExc_TypeError, "a form is a shape and a type, found %R", PyTuple_GET_ITEM(forms, i));
            return false;
        }
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(forms, i), "O!U", &PyTuple_Type, &shape, &type_name)) return false;
        if (array_form_read(&plan->results[i], shape, type_name) < 0) return false;
        const ElementType type = type_of_result(plan, i);
        if (plan->results[i].type != type || plan->results[i].size != elements[i] * plan->count) {
            PyErr_Format(PyExc_ValueError, "result %d of shape %R does not fit the operands", i, shape);
            return false;
        }
        plan->block[i] = elements[i] * (type == C32 || type == C64 ? 2 : 1);
    }
    return true;
}

static int routine_read(PyObject *name) {
    const int routine = name_read(name, ROUTINE_NAMES, LAPACK_ROUTINES);
    if (routine < 0) PyErr_Format(PyExc_ValueError, "there is no routine %R", name);
    return routine;
}

/* Whether a call takes more than some 20 microseconds: a matrix with nothing to compute takes about half of one. */
static bool is_long(const LapackPlan *plan) {
    const double size = (double)plan->rows * (double)plan->columns;
    const double work = WORK[plan->routine] * size * (double)plan->shorter + size * (double)plan->right + 1e3;
    return work * (double)plan->count >= WORTH_A_LOOP;
}

static bool plan_read(LapackPlan *plan, PyObject *arguments, PyObject *named) {
    static const char *const members[] = {"routine",  "dtype",     "rows",      "columns", "right",
                                          "batch",    "a_strides", "b_strides", "results", "check",
                                          "fallback", "overwrite", "in_floats", NULL};
    PyObject *name, *type_name, *batch, *a, *b, *forms;
    long long rows, columns, right;
    int check, overwrite = false, in_floats = false;
    if (!PyArg_ParseTupleAndKeywords(arguments, named, "OOLLLOOOO!pO|pp:bind_lapack", ARGUMENT_NAMES(members), &name,
                                     &type_name, &rows, &columns, &right, &batch, &a, &b, &PyTuple_Type, &forms, &check,
                                     &plan->fallback, &overwrite, &in_floats)) {
        plan->fallback = NULL;
        return false;
    }
    Py_INCREF(plan->fallback);
    const int routine = routine_read(name), type = routine < 0 ? -1 : element_type_read(type_name);
    plan->batch_rank = type < 0 ? -1 : indices_read(plan->batch, MAX_RANK, batch);
    if (plan->batch_rank < 0) return false;
    plan->routine = (Routine)routine;
    plan->type = (ElementType)type;
    plan->pairs = plan->type == C32 || plan->type == C64;
    plan->computed = in_floats ? plan->type : plan->pairs ? C64 : F64;
    plan->narrow = (plan->type == F32 || plan->type == C32) && !in_floats;
    plan->check = check;
    plan->overwrite = overwrite;
    plan->rows = rows;
    plan->columns = columns;
    plan->shorter = rows < columns ? rows : columns;
    plan->right = right;
    plan->operand_count = plan->routine == SOLVE ? 2 : 1;
    plan->result_count = RESULT_COUNTS[routine];
    plan->count = 1;
    for (int axis = 0; axis < plan->batch_rank; axis++)
        if (plan->batch[axis] < 1 || __builtin_mul_overflow(plan->count, plan->batch[axis], &plan->count)) {
            PyErr_Format(PyExc_ValueError, "%R is no shape of a batch", batch);
            return false;
        }
    if (plan->type > C64 || plan->shorter < 1 || (plan->routine == SOLVE ? right < 1 : right != 0)) {
        PyErr_SetString(PyExc_ValueError, "matrices of floating or complex numbers, none of them empty");
        return false;
    }
    if (rows != columns && routine != QR && routine != SVD && routine != SVDVALS) {
        PyErr_Format(PyExc_ValueError, "%S takes square matrices, found %lld x %lld", name, rows, columns);
        return false;
    }
    if (!matrices_are_addressable(rows, columns, plan->count) || !matrices_are_addressable(rows, right, plan->count))
        return false;
    plan->is_long = is_long(plan);
    const int rank = plan->batch_rank;
    if (!matrix_stack_read(&plan->a, a, rank, plan->batch, rows, columns)) return false;
    if (plan->operand_count == 2 && !matrix_stack_read(&plan->b, b, rank, plan->batch, rows, right)) return false;
    plan->shared = plan->batch_rank > 0 && PyTuple_GET_SIZE(a) == 2;
    if (plan->shared && plan->routine != SOLVE) {
        PyErr_Format(PyExc_ValueError, "%S: strides %R for %d batch axes", name, a, plan->batch_rank);
        return false;
    }
    if (plan->operand_count == 2 && PyTuple_GET_SIZE(b) != plan->batch_rank + 2) {
        PyErr_Format(PyExc_ValueError, "%S: strides %R for %d batch axes", name, b, plan->batch_rank);
        return false;
    }
    if (plan->routine == DET && llabs(plan->a.column_stride) < llabs(plan->a.row_stride)) {
        Index stride = plan->a.row_stride; /* a matrix and its transpose have one determinant */
        plan->a.row_stride = plan->a.column_stride;
        plan->a.column_stride = stride;
    }
    const MatrixStack *last = plan->operand_count == 2 ? &plan->b : &plan->a;
    if (overwrite && (plan->type == F32 || plan->type == C32 || plan->batch_rank > 0 || plan->routine == DET ||
                      (plan->routine == QR && rows < columns) || plan->a.row_stride != 1 ||
                      plan->a.column_stride != rows || last->row_stride != 1 || last->column_stride != rows)) {
        PyErr_Format(PyExc_ValueError, "%S overwrites one compact matrix of doubles, as tall as its results", name);
        return false;
    }
    return results_read(plan, forms);
}

/* With the memory that its routine wants. */
static void complete(LapackPlan *plan) {
    Scratch unused;
    routine_query(plan);
    plan->scratch_bytes = lapack_scratch(plan, NULL, &unused) + sizeof(double); /* never none */
}

/* The same in double precision. */
static LapackPlan *widened(const LapackPlan *plan, bool shared) {
    LapackPlan *wide = malloc(sizeof *wide);
    if (wide == NULL) return NULL;
    *wide = *plan;
    Py_INCREF(wide->fallback);
    wide->computed = plan->type == F32 ? F64 : C64;
    wide->narrow = true;
    wide->shared = shared;
    wide->wide = wide->alone = NULL;
    wide->reduction = NULL;
    wide->diagonals = NULL;
    wide->room_size = 0;
    complete(wide);
    return wide;
}

LapackPlan *lapack_plan(PyObject *arguments, PyObject *named) {
    LapackPlan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) return (LapackPlan *)PyErr_NoMemory();
    if (!plan_read(plan, arguments, named)) {
        lapack_plan_free(plan);
        return NULL;
    }
    complete(plan);
    if (!lapack_in_floats(plan)) return plan;
    plan->wide = widened(plan, plan->shared);
    if (plan->wide != NULL && plan->shared) plan->alone = widened(plan, false);
    if (plan->wide != NULL && (plan->alone != NULL || !plan->shared)) return plan;
    lapack_plan_free(plan);
    return (LapackPlan *)PyErr_NoMemory();
}

void lapack_plan_free(void *plan) {
    LapackPlan *held = plan;
    if (held == NULL) return;
    lapack_plan_free(held->wide);
    lapack_plan_free(held->alone);
    Py_XDECREF(held->fallback);
    free(held);
}
