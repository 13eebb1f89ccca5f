/* Kernels that loop over LAPACK: cholesky, solve, inv, det, qr, eigh, svd of stacks of matrices of any size, and eigh and
 * svd without vectors.
 *
 * Each matrix is copied once, into the column-major block of a result (where LAPACK then factors it in place) or into
 * scratch memory; elements are checked to be finite on the way. Stacks are shared among our threads, while the library
 * itself runs single-threaded. For a stack of fewer matrices than threads the library is lent threads if its matrices
 * are large, and else the calling thread computes alone: see matrix_loop.c. When LAPACK refuses a matrix, or an element
 * is not finite, the whole call goes to NumPy's kernel, which finds out where and says it, so that both raise the same
 * errors.
 */
#include "linalg/lapack.h"
#include "core/arguments.h"
#include "core/blas_threads.h"
#include "core/kernel.h"
#include "copy/matrix_copy.h"
#include "core/caching_allocator.h"
#include "core/strided_walk.h"
#include "core/threads.h"
#include "core/topics.h"

#include <stdatomic.h>
#include <stdlib.h>

static const int RESULT_COUNTS[LAPACK_ROUTINES] = {[CHOLESKY] = 1, [SOLVE] = 1, [INV] = 1,      [DET] = 1,    [QR] = 2,
                                                   [EIGH] = 2,     [SVD] = 3,   [EIGVALSH] = 1, [SVDVALS] = 1};
/* Floating-point operations over rows * columns * shorter, roughly. */
static const double WORK[LAPACK_ROUTINES] = {[CHOLESKY] = 0.4, [SOLVE] = 0.7,    [INV] = 2.0,
                                             [DET] = 0.7,      [QR] = 3.0,       [EIGH] = 9.0,
                                             [SVD] = 20.0,     [EIGVALSH] = 2.0, [SVDVALS] = 4.0};
/* Sides of a square matrix from which the library's threads are worth it. Those that decompose by vectors wait for one
 * another so often that beside other work two of them take fifty times as long as one. */
static const double WORTH_ITS_THREADS[LAPACK_ROUTINES] = {[CHOLESKY] = 700, [SOLVE] = 700,     [INV] = 700,
                                                          [DET] = 700,      [QR] = 1000,       [EIGH] = 1000,
                                                          [SVD] = 800,      [EIGVALSH] = 1000, [SVDVALS] = 800};

typedef enum { FINE, REFUSED, NO_MEMORY } Outcome;

typedef struct {
    const LapackPlan *plan;
    const char *a, *b;
    char *results[MOST_RESULTS];
    atomic_int outcome;
} Call;

/* Lays the parts out behind one another from memory on, at multiples of 64 bytes from it; returns the bytes of all. */
static size_t scratch_layout(const LapackPlan *plan, double *memory, Scratch *scratch) {
    Index width = plan->pairs ? 2 : 1, used = 0;
    const Routine routine = plan->routine;
    const bool copies =
        routine == SOLVE || routine == DET || routine == SVD || routine == EIGVALSH || routine == SVDVALS;
    Index a = used;
    used += copies ? (width * plan->rows * plan->columns + 7) / 8 * 8 : 0;
    Index out[MOST_RESULTS];
    for (int i = 0; i < plan->result_count; i++) {
        out[i] = used;
        used += plan->narrow ? (plan->block[i] * (plan->shared ? plan->count : 1) + 7) / 8 * 8 : 0;
    }
    Index tau = used;
    used += routine == QR ? (width * plan->shorter + 7) / 8 * 8 : 0;
    Index work = used;
    used += (width * plan->work_size + 7) / 8 * 8;
    Index reals = used;
    used += (plan->reals_size + 7) / 8 * 8;
    Index integers = used;
    used += plan->integers_size;
    if (memory != NULL) {
        *scratch = (Scratch){.a = memory + a,
                             .tau = memory + tau,
                             .work = memory + work,
                             .reals = memory + reals,
                             .integers = (BlasInt *)(memory + integers)};
        for (int i = 0; i < plan->result_count; i++) scratch->out[i] = memory + out[i];
    }
    return sizeof(double) * (size_t)used;
}

static bool load(const LapackPlan *plan, const MatrixStack *stack, const char *first, Index number, BlasInt columns,
                 double *block) {
    const char *source = first + ELEMENT_BYTES[plan->type] * strided_offset(stack->rank, stack->axes, number);
    bool finite = matrix_load(plan->type, source, plan->rows, columns, stack->row_stride, stack->column_stride, block);
    return finite || !plan->check;
}

/* Where routine_is_doubtful(): once more from the operands. */
static bool run_carefully(Call *call, const Scratch *scratch, Index number) {
    const LapackPlan *plan = call->plan;
    const size_t numbers = (size_t)((plan->pairs ? 2 : 1) * plan->rows * plan->rows);
    const size_t bytes = sizeof(double) * numbers + sizeof(int64_t) * (size_t)plan->rows;
    double *a = scratch_acquire(bytes);
    if (a == NULL) {
        atomic_store(&call->outcome, NO_MEMORY);
        return true;
    }
    (void)load(plan, &plan->a, call->a, number, plan->columns, a);
    if (plan->routine == SOLVE)
        for (Index one = 0; one < (plan->shared ? plan->count : 1); one++)
            (void)load(plan, &plan->b, call->b, plan->shared ? one : number, plan->right,
                       scratch->out[0] + plan->block[0] * one);
    const bool fine = routine_run_carefully(plan, scratch, a, (int64_t *)(a + numbers));
    scratch_release(a, bytes);
    return fine;
}

static bool run_one(Call *call, Scratch *scratch, Index number) {
    const LapackPlan *plan = call->plan;
    if (!plan->narrow)
        for (int i = 0; i < plan->result_count; i++)
            scratch->out[i] = (double *)call->results[i] + plan->block[i] * number;
    if (!load(plan, &plan->a, call->a, number, plan->columns, routine_input(plan, scratch))) return false;
    if (plan->routine == SOLVE && !load(plan, &plan->b, call->b, number, plan->right, scratch->out[0])) return false;
    bool fine = routine_run(plan, scratch);
    if (routine_is_doubtful(plan, scratch, fine)) fine = run_carefully(call, scratch, number);
    if (!fine) return false;
    if (plan->narrow)
        for (int i = 0; i < plan->result_count; i++)
            matrix_round(scratch->out[i], plan->block[i], (float *)call->results[i] + plan->block[i] * number);
    return true;
}

static void run_matrices(void *context, Index begin, Index end) {
    Call *call = context;
    Scratch scratch;
    void *memory = scratch_acquire(call->plan->scratch_bytes);
    if (memory == NULL) {
        atomic_store(&call->outcome, NO_MEMORY);
        return;
    }
    scratch_layout(call->plan, memory, &scratch);
    for (Index number = begin; number < end && atomic_load_explicit(&call->outcome, memory_order_relaxed) == FINE;
         number++)
        if (!run_one(call, &scratch, number)) atomic_store(&call->outcome, REFUSED);
    scratch_release(memory, call->plan->scratch_bytes);
}

/* One matrix for all right-hand sides: factored once, and all columns solved for at once. */
static void run_shared(Call *call) {
    const LapackPlan *plan = call->plan;
    Scratch scratch;
    void *memory = scratch_acquire(plan->scratch_bytes);
    if (memory == NULL) {
        atomic_store(&call->outcome, NO_MEMORY);
        return;
    }
    scratch_layout(plan, memory, &scratch);
    double *columns = plan->narrow ? scratch.out[0] : (double *)call->results[0];
    bool fine = load(plan, &plan->a, call->a, 0, plan->columns, scratch.a);
    for (Index number = 0; fine && number < plan->count; number++)
        fine = load(plan, &plan->b, call->b, number, plan->right, columns + plan->block[0] * number);
    if (fine) {
        scratch.out[0] = columns;
        fine = routine_factor(plan, &scratch);
        if (routine_is_doubtful(plan, &scratch, fine)) fine = run_carefully(call, &scratch, 0);
        else fine = fine && routine_substitute(plan, &scratch, plan->right * plan->count, columns);
    }
    if (!fine) atomic_store(&call->outcome, REFUSED);
    else if (plan->narrow) matrix_round(columns, plan->block[0] * plan->count, (float *)call->results[0]);
    scratch_release(memory, plan->scratch_bytes);
}

static bool is_large(const LapackPlan *plan) {
    const double side = WORTH_ITS_THREADS[plan->routine];
    const double right =
        plan->routine == SOLVE ? (double)plan->right * (plan->shared ? (double)plan->count : 1.0) : 0.0;
    const double size = (double)plan->rows * (double)plan->columns * ((double)plan->shorter + right);
    return size * (plan->pairs ? 4.0 : 1.0) >= side * side * side;
}

static void run_whole(void *context, Index begin, Index end) {
    (void)begin, (void)end;
    run_shared(context);
}

static void run_all(Call *call) {
    const LapackPlan *plan = call->plan;
    const double size = (double)plan->rows * (double)plan->columns * (double)plan->shorter;
    const MatrixLoop loop = {plan->count, WORK[plan->routine] * size, is_large(plan), plan->shared};
    matrix_loop_run(&loop, plan->shared ? run_whole : run_matrices, call);
}

static PyObject *call_kernel(PyObject *self, PyObject *const *operands, size_t flagged_count, PyObject *names) {
    const LapackPlan *plan = kernel_plan(self);
    Call call = {.plan = plan, .outcome = FINE};
    PyObject *results[MOST_RESULTS] = {NULL, NULL, NULL};
    if (!kernel_takes_arrays(self, flagged_count, names, operands, plan->operand_count)) return NULL;
    call.a = array_data(operands[0]);
    if (plan->operand_count == 2) call.b = array_data(operands[1]);
    bool made = true;
    for (int i = 0; made && i < plan->result_count; i++) {
        results[i] = array_new(&plan->results[i]);
        made = results[i] != NULL;
        if (made) call.results[i] = array_data(results[i]);
    }
    if (made && plan->is_long) {
        Py_BEGIN_ALLOW_THREADS;
        run_all(&call);
        Py_END_ALLOW_THREADS;
    } else if (made) {
        run_all(&call);
    }
    int outcome = atomic_load(&call.outcome);
    PyObject *answer = NULL;
    if (made && outcome == FINE) {
        if (plan->result_count == 1) return results[0];
        answer = PyTuple_New(plan->result_count);
        for (int i = 0; answer != NULL && i < plan->result_count; i++)
            PyTuple_SET_ITEM(answer, i, Py_NewRef(results[i]));
    }
    for (int i = 0; i < plan->result_count; i++) Py_XDECREF(results[i]);
    if (made && outcome == NO_MEMORY) return PyErr_NoMemory();
    if (made && outcome == REFUSED) return PyObject_Vectorcall(plan->fallback, operands, flagged_count, NULL);
    return answer;
}

static void release(void *plan) {
    Py_XDECREF(((LapackPlan *)plan)->fallback);
    free(plan);
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
    static const char *const members[] = {"routine",   "dtype",     "rows",    "columns", "right",    "batch",
                                          "a_strides", "b_strides", "results", "check",   "fallback", NULL};
    PyObject *name, *type_name, *batch, *a, *b, *forms;
    long long rows, columns, right;
    int check;
    if (!PyArg_ParseTupleAndKeywords(arguments, named, "OOLLLOOOO!pO:bind_lapack", ARGUMENT_NAMES(members), &name,
                                     &type_name, &rows, &columns, &right, &batch, &a, &b, &PyTuple_Type, &forms, &check,
                                     &plan->fallback)) {
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
    plan->narrow = plan->type == F32 || plan->type == C32;
    plan->check = check;
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
    return results_read(plan, forms);
}

static PyObject *bind_lapack(PyObject *module, PyObject *arguments, PyObject *named) {
    (void)module;
    if (blas_table() == NULL) return PyErr_Format(PyExc_RuntimeError, "no BLAS library has been opened");
    LapackPlan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) return PyErr_NoMemory();
    if (!plan_read(plan, arguments, named)) {
        release(plan);
        return NULL;
    }
    routine_query(plan);
    plan->scratch_bytes = scratch_layout(plan, NULL, NULL) + sizeof(double); /* never none */
    const Operand operands[] = {{plan->type, plan->a.reach, false}, {plan->type, plan->b.reach, false}};
    PyObject *kernel = kernel_new(ROUTINE_NAMES[plan->routine], call_kernel, plan, release);
    return kernel_with_operands(kernel, operands, plan->operand_count);
}

PyMethodDef lapack_functions[] = {
    {"bind_lapack", (PyCFunction)(void (*)(void))bind_lapack, METH_VARARGS | METH_KEYWORDS,
     "A kernel that calls LAPACK for every matrix of a stack."},
    {NULL, NULL, 0, NULL},
};
