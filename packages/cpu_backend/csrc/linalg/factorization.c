/* Kernels that factor every matrix of a stack: bind, call, and whose threads work.
 *
 * When a matrix is refused, because an element is not finite, a pivot of a system is zero, or LAPACK's iteration did
 * not end, the whole call goes to a Python kernel, which finds out where and says it.
 */
#include "linalg/factorization.h"
#include "core/arguments.h"
#include "core/caching_allocator.h"
#include "core/kernel.h"
#include "core/strided_walk.h"
#include "core/topics.h"
#include "copy/matrix_copy.h"

#include <stdatomic.h>
#include <stdlib.h>

/* Floating-point operations over rows * columns * the shorter of them, roughly; and the side of a square matrix from
 * which the library's threads are worth it. */
typedef struct {
    int results;
    double work, threads_from;
} Facts;
static const Facts FACTS[LANE_ROUTINES] = {
    [LU_FACTOR] = {2, 0.7, 700},   [SLOGDET] = {2, 0.7, 700},     [LU_COMPLETE] = {3, 3, 1e9},
    [LDL] = {3, 0.5, 1000},        [QR_PIVOTED] = {3, 4, 1000},   [QR_COMPLETE] = {2, 4, 1000},
    [SCHUR] = {2, 25, 1500},       [HESSENBERG] = {2, 5, 1000},   [EIG] = {2, 25, 1500},
    [EIGVALS] = {1, 10, 1500},     [EIGH_RANGE] = {2, 2, 1000},   [SOLVE_BANDED] = {1, 2, 1e9},
    [SOLVEH_BANDED] = {1, 1, 1e9}, [SOLVE_TOEPLITZ] = {1, 3, 1e9}};

typedef enum { FINE, REFUSED, NO_MEMORY } Outcome;

typedef struct {
    const FactorizationPlan *plan;
    const char *a, *b;
    char *results[MOST_PARTS];
    atomic_int outcome;
} Call;

static bool is_system(const FactorizationPlan *plan) {
    return plan->routine == SOLVE_BANDED || plan->routine == SOLVEH_BANDED || plan->routine == SOLVE_TOEPLITZ;
}

static ElementType real_of(ElementType type) { return type == C32 ? F32 : type == C64 ? F64 : type; }
static ElementType complex_of(ElementType type) { return type == F32 ? C32 : type == F64 ? C64 : type; }

/* In which a result is computed. */
static ElementType computed_as(const FactorizationPlan *plan, int number) {
    const ElementType type = plan->results[number].type;
    if (type == I64) return I64;
    return type == F32 || type == F64 ? real_of(plan->computed) : complex_of(plan->computed);
}

/* Lays the parts out behind one another from memory on, at multiples of 64 bytes from it; returns the bytes of all. */
static size_t scratch_layout(const FactorizationPlan *plan, char *memory, FactorizationScratch *scratch) {
    const Index number = ELEMENT_BYTES[plan->computed], real = ELEMENT_BYTES[real_of(plan->computed)];
    Index used = 0;
    const Index sizes[] = {plan->copy_size * number, plan->extra_size * number, plan->work_size * number,
                           plan->reals_size * real, plan->integers_size * (Index)sizeof(BlasInt)};
    Index places[5], outs[MOST_PARTS];
    for (int i = 0; i < 5; i++) {
        places[i] = used;
        used += rounded_up(sizes[i], CACHE_LINE);
    }
    for (int i = 0; i < plan->result_count; i++) {
        outs[i] = used;
        if (plan->rounded[i]) used += rounded_up(plan->block[i] * ELEMENT_BYTES[computed_as(plan, i)], CACHE_LINE);
    }
    if (memory != NULL) {
        *scratch = (FactorizationScratch){.a = memory + places[0],
                                          .extra = memory + places[1],
                                          .work = memory + places[2],
                                          .reals = memory + places[3],
                                          .integers = (BlasInt *)(memory + places[4])};
        for (int i = 0; i < plan->result_count; i++) scratch->out[i] = memory + outs[i];
    }
    return (size_t)used + CACHE_LINE; /* never none */
}

static char *result_of(const Call *call, int part, Index number) {
    const FactorizationPlan *plan = call->plan;
    return call->results[part] + ELEMENT_BYTES[plan->results[part].type] * plan->block[part] * number;
}

static bool run_one(const Call *call, FactorizationScratch *scratch, Index number) {
    const FactorizationPlan *plan = call->plan;
    const Index bytes = ELEMENT_BYTES[plan->type];
    scratch->source_a = call->a + bytes * strided_offset(plan->a.rank, plan->a.axes, number);
    if (call->b != NULL) scratch->source_b = call->b + bytes * strided_offset(plan->b.rank, plan->b.axes, number);
    for (int i = 0; i < plan->result_count; i++)
        if (!plan->rounded[i]) scratch->out[i] = result_of(call, i, number);
    if (!factorization_run(plan, scratch)) return false;
    for (int i = 0; i < plan->result_count; i++) {
        const Index parts = plan->results[i].type == C32 ? 2 : 1;
        if (plan->rounded[i])
            matrix_round(scratch->out[i], plan->block[i] * parts, (float *)result_of(call, i, number));
    }
    return true;
}

static void run_matrices(void *context, Index begin, Index end) {
    Call *call = context;
    FactorizationScratch scratch;
    char *memory = scratch_acquire(call->plan->scratch_bytes);
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

/* Of one matrix, in operations of real numbers. */
static double work_of(const FactorizationPlan *plan) {
    const double m = (double)plan->rows, n = (double)plan->columns, order = (double)plan->order;
    const double right = (double)plan->right, band = (double)(plan->first + plan->last + 1);
    const double each = plan->computed == C32 || plan->computed == C64 ? 4.0 : 1.0, work = FACTS[plan->routine].work;
    if (plan->routine == SOLVE_BANDED || plan->routine == SOLVEH_BANDED)
        return each * work * order * band * (band + right);
    if (plan->routine == SOLVE_TOEPLITZ) return each * work * order * order * (1.0 + right);
    return each * work * m * n * (m < n ? m : n);
}

static void run_all(Call *call) {
    const FactorizationPlan *plan = call->plan;
    const double side = FACTS[plan->routine].threads_from, work = work_of(plan);
    const bool is_large = work >= FACTS[plan->routine].work * side * side * side;
    const MatrixLoop loop = {plan->count, work, is_large, false};
    matrix_loop_run(&loop, run_matrices, call);
}

static PyObject *answer(const FactorizationPlan *plan, PyObject **results) {
    if (plan->result_count == 1) return Py_NewRef(results[0]);
    PyObject *tuple = PyTuple_New(plan->result_count);
    for (int i = 0; tuple != NULL && i < plan->result_count; i++) PyTuple_SET_ITEM(tuple, i, Py_NewRef(results[i]));
    return tuple;
}

static PyObject *call_kernel(PyObject *self, PyObject *const *operands, size_t flagged_count, PyObject *names) {
    const FactorizationPlan *plan = kernel_plan(self);
    Call call = {.plan = plan, .outcome = FINE};
    PyObject *results[MOST_PARTS] = {NULL, NULL, NULL}, *given = NULL;
    if (!kernel_takes_arrays(self, flagged_count, names, operands, plan->operand_count)) return NULL;
    call.a = array_data(operands[0]);
    if (plan->operand_count == 2) call.b = array_data(operands[1]);
    for (int i = 0; i < plan->result_count; i++) {
        results[i] = array_new(&plan->results[i]);
        if (results[i] == NULL) goto end;
        call.results[i] = array_data(results[i]);
    }
    if (plan->is_long) {
        Py_BEGIN_ALLOW_THREADS;
        run_all(&call);
        Py_END_ALLOW_THREADS;
    } else {
        run_all(&call);
    }
    const int outcome = atomic_load(&call.outcome);
    if (outcome == FINE) given = answer(plan, results);
    else if (outcome == NO_MEMORY) PyErr_NoMemory();
    else given = PyObject_Vectorcall(plan->fallback, operands, flagged_count, NULL);
end:
    for (int i = 0; i < plan->result_count; i++) Py_XDECREF(results[i]);
    return given;
}

static void release(void *plan) {
    Py_XDECREF(((FactorizationPlan *)plan)->fallback);
    free(plan);
}

/* What each result is, and how many elements of it belong to one matrix. */
static void expect_results(const FactorizationPlan *plan, ElementType *types, Index *elements) {
    const Index m = plan->rows, n = plan->columns, k = smaller(m, n), wanted = plan->last - plan->first + 1;
    for (int i = 0; i < MOST_PARTS; i++) {
        types[i] = plan->type;
        elements[i] = m * n;
    }
    switch (plan->routine) {
    case LU_COMPLETE:
        types[2] = I64;
        elements[2] = n;
        __attribute__((fallthrough));
    case LU_FACTOR:
        types[1] = I64;
        elements[1] = m;
        break;
    case LDL:
        types[2] = I64;
        elements[2] = n;
        break;
    case QR_PIVOTED:
        types[2] = I64;
        elements[0] = m * k;
        elements[1] = k * n;
        elements[2] = n;
        break;
    case QR_COMPLETE: elements[0] = m * m; break;
    case SLOGDET:
        types[1] = real_of(plan->type);
        elements[0] = elements[1] = 1;
        break;
    case EIG:
    case EIGVALS:
        types[0] = types[1] = complex_of(plan->type);
        elements[0] = n;
        break;
    case EIGH_RANGE:
        types[0] = real_of(plan->type);
        elements[0] = wanted;
        elements[1] = n * wanted;
        break;
    case SOLVE_BANDED:
    case SOLVEH_BANDED:
    case SOLVE_TOEPLITZ: elements[0] = plan->order * plan->right; break;
    default: break;
    }
}

static bool results_read(FactorizationPlan *plan, PyObject *forms) {
    Index elements[MOST_PARTS];
    ElementType types[MOST_PARTS];
    expect_results(plan, types, elements);
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
        Index size;
        if (plan->results[i].type != types[i] || __builtin_mul_overflow(elements[i], plan->count, &size) ||
            plan->results[i].size != size) {
            PyErr_Format(PyExc_ValueError, "result %d of shape %R does not fit the operands", i, shape);
            return false;
        }
        plan->block[i] = elements[i];
        plan->rounded[i] = types[i] != I64 && computed_as(plan, i) != types[i];
    }
    return true;
}

/* Whether the extents make sense for the routine. */
static bool is_possible(const FactorizationPlan *plan) {
    const Routine routine = plan->routine;
    const BlasInt m = plan->rows, n = plan->columns;
    if (plan->type > C64 || m < 1 || n < 1 || plan->first < 0 || plan->last < 0) return false;
    if (plan->computed != plan->type && !(plan->type == F32 && plan->computed == F64) &&
        !(plan->type == C32 && plan->computed == C64))
        return false;
    if (is_system(plan)) {
        if (plan->order < 1 || plan->right < 1) return false;
        if (routine == SOLVE_TOEPLITZ) return n == 1 && m % 2 == 1 && plan->order == m / 2 + 1;
        if (routine == SOLVEH_BANDED && plan->first > 0 && plan->last > 0) return false;
        return n == plan->order && plan->first < m && plan->last < m && m == plan->first + plan->last + 1;
    }
    if (plan->order != 0 || plan->right != 0) return false;
    if (routine == EIGH_RANGE && !(1 <= plan->first && plan->first <= plan->last && plan->last <= n)) return false;
    if (routine == QR_COMPLETE) return m >= n;
    return m == n || routine == LU_FACTOR || routine == LU_COMPLETE || routine == QR_PIVOTED;
}

static bool plan_read(FactorizationPlan *plan, PyObject *arguments, PyObject *named) {
    static const char *const members[] = {"routine",   "dtype",     "computed", "sides", "right",    "span", "batch",
                                          "a_strides", "b_strides", "results",  "check", "fallback", NULL};
    PyObject *name, *type_name, *computed_name, *batch, *a, *b, *forms;
    long long rows, columns, order, right, first, last;
    int check;
    if (!PyArg_ParseTupleAndKeywords(arguments, named, "OOO(LL)(LL)(LL)OOOO!pO:bind_factorization",
                                     ARGUMENT_NAMES(members), &name, &type_name, &computed_name, &rows, &columns,
                                     &order, &right, &first, &last, &batch, &a, &b, &PyTuple_Type, &forms, &check,
                                     &plan->fallback)) {
        plan->fallback = NULL;
        return false;
    }
    Py_INCREF(plan->fallback);
    const int routine = name_read(name, ROUTINE_NAMES, LANE_ROUTINES);
    if (routine < FIRST_FACTORIZATION) {
        PyErr_Format(PyExc_ValueError, "there is no factorization %R", name);
        return false;
    }
    const int type = element_type_read(type_name), computed = type < 0 ? -1 : element_type_read(computed_name);
    plan->batch_rank = computed < 0 ? -1 : indices_read(plan->batch, MAX_RANK, batch);
    if (plan->batch_rank < 0) return false;
    plan->routine = (Routine)routine;
    plan->type = (ElementType)type;
    plan->computed = (ElementType)computed;
    plan->check = check;
    plan->rows = rows;
    plan->columns = columns;
    plan->order = order;
    plan->right = right;
    plan->first = first;
    plan->last = last;
    plan->operand_count = is_system(plan) ? 2 : 1;
    plan->result_count = FACTS[routine].results;
    plan->count = 1;
    for (int axis = 0; axis < plan->batch_rank; axis++)
        if (plan->batch[axis] < 1 || __builtin_mul_overflow(plan->count, plan->batch[axis], &plan->count)) {
            PyErr_Format(PyExc_ValueError, "%R is no shape of a batch", batch);
            return false;
        }
    if (!matrices_are_addressable(rows, columns, plan->count) || !matrices_are_addressable(order, right, plan->count) ||
        !matrices_are_addressable(rows, rows, plan->count))
        return false;
    if (!is_possible(plan)) {
        PyErr_Format(PyExc_ValueError, "%S of matrices of %lld x %lld is not possible", name, rows, columns);
        return false;
    }
    if (!matrix_stack_read(&plan->a, a, plan->batch_rank, plan->batch, rows, columns)) return false;
    if (is_system(plan) && !matrix_stack_read(&plan->b, b, plan->batch_rank, plan->batch, order, right)) return false;
    if (plan->a.rank != plan->batch_rank || (is_system(plan) && plan->b.rank != plan->batch_rank)) {
        PyErr_Format(PyExc_ValueError, "%S: strides %R for %d batch axes", name, a, plan->batch_rank);
        return false;
    }
    plan->is_long = (work_of(plan) + (double)rows * (double)columns + 1e3) * (double)plan->count >= WORTH_A_LOOP;
    return results_read(plan, forms);
}

static PyObject *bind_factorization(PyObject *module, PyObject *arguments, PyObject *named) {
    (void)module;
    if (blas_table() == NULL) return PyErr_Format(PyExc_RuntimeError, "no BLAS library has been opened");
    FactorizationPlan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) return PyErr_NoMemory();
    if (!plan_read(plan, arguments, named)) {
        release(plan);
        return NULL;
    }
    factorization_query(plan);
    plan->scratch_bytes = scratch_layout(plan, NULL, NULL);
    const Operand operands[] = {{plan->type, plan->a.reach, false}, {plan->type, plan->b.reach, false}};
    PyObject *kernel = kernel_new(ROUTINE_NAMES[plan->routine], call_kernel, plan, release);
    return kernel_with_operands(kernel, operands, plan->operand_count);
}

PyMethodDef factorization_functions[] = {
    {"bind_factorization", (PyCFunction)(void (*)(void))bind_factorization, METH_VARARGS | METH_KEYWORDS,
     "A kernel that factors every matrix of a stack."},
    {NULL, NULL, 0, NULL},
};
