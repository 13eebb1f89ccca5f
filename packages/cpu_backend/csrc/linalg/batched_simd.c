/* Kernels for batches of small matrices: bind, call, and what to do with a last group that is not full.
 *
 * The routines (batched_simd.h) take whole groups. When the batch ends within one, its matrices are copied behind one
 * another and the last of them is repeated; or, where that takes longer, they are computed one by one. When a routine wants another look, the kernel answers with what the
 * fallback, a Python kernel for the same forms, says: a result, or the error that names the matrix.
 */
#include "linalg/batched_simd.h"
#include "core/arguments.h"
#include "core/kernel.h"
#include "core/caching_allocator.h"
#include "core/threads.h"
#include "core/topics.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OPERANDS = 2, MOST_RESULTS = 4 };
static const Index MOST_RIGHT_SIDES = (Index)1 << 40; /* times a few matrices, far from overflow */
static const Index WORTH_A_THREAD = 20000;            /* nanoseconds; worth releasing the GIL, too */

typedef struct {
    LaneRoutine routine, single_routine;
    LaneProblem problem, of_groups; /* of whole groups, whose results may go past the caches */
    int width;                      /* matrices in a group */
    int few;                        /* matrices after the last full group that are computed one by one */
    size_t room_bytes;              /* of the routine; 0 where it brings its own */
    Index count;                    /* matrices in the batch */
    Index grain;                    /* groups worth a thread */
    Index few_grain;                /* single matrices worth one */
    bool single;                    /* answers an array, not a tuple */
    int operands, results;
    Index operand_bytes[MOST_OPERANDS], result_bytes[MOST_RESULTS]; /* of what belongs to one matrix */
    ArrayForm forms[MOST_RESULTS];
    PyObject *fallback;
} BatchedPlan;

typedef struct {
    const BatchedPlan *plan;
    const char *operands[MOST_OPERANDS];
    char *results[MOST_RESULTS];
    char *padding; /* room for one group of everything; NULL when the last group is full */
    atomic_bool good, out_of_memory;
} Call;

/* Routines for larger sides get room here, for matrices of several sides would take much of the stack. */
static __attribute__((noinline)) void run_routine(Call *call, LaneRoutine routine, const LaneProblem *problem,
                                                  const char *const *operands, char *const *results, Index groups) {
    const BatchedPlan *plan = call->plan;
    _Alignas(64) char little[LITTLE_WORKSPACE];
    void *room = workspace_acquire(little, plan->room_bytes);
    if (room == NULL) {
        atomic_store(&call->out_of_memory, true);
        return;
    }
    if (!routine(problem, operands, results, groups, room)) atomic_store(&call->good, false);
    workspace_release(room, plan->room_bytes);
}

static void run_from(Call *call, LaneRoutine routine, const LaneProblem *problem, Index matrix, Index count) {
    const BatchedPlan *plan = call->plan;
    const char *operands[MOST_OPERANDS];
    char *results[MOST_RESULTS];
    for (int i = 0; i < plan->operands; i++) operands[i] = call->operands[i] + matrix * plan->operand_bytes[i];
    for (int i = 0; i < plan->results; i++) results[i] = call->results[i] + matrix * plan->result_bytes[i];
    run_routine(call, routine, problem, operands, results, count);
}

static void run_groups(void *context, Index begin, Index end) {
    Call *call = context;
    const BatchedPlan *plan = call->plan;
    run_from(call, plan->routine, &plan->of_groups, begin * plan->width, end - begin);
}

static void run_singles(void *context, Index begin, Index end) {
    Call *call = context;
    const BatchedPlan *plan = call->plan;
    run_from(call, plan->single_routine, &plan->problem, plan->count / plan->width * plan->width + begin, end - begin);
}

/* The matrices after the last full group. */
static void run_rest(Call *call) {
    const BatchedPlan *plan = call->plan;
    const Index done = plan->count / plan->width * plan->width, rest = plan->count - done;
    const char *operands[MOST_OPERANDS];
    char *results[MOST_RESULTS], *room = call->padding;
    for (int i = 0; i < plan->operands; i++) {
        const Index bytes = plan->operand_bytes[i];
        const char *from = call->operands[i] + done * bytes;
        operands[i] = room;
        for (int lane = 0; lane < plan->width; lane++, room += bytes)
            memcpy(room, from + (lane < rest ? lane : rest - 1) * bytes, (size_t)bytes);
    }
    for (int i = 0; i < plan->results; i++) {
        results[i] = room;
        room += plan->width * plan->result_bytes[i];
    }
    run_routine(call, plan->routine, &plan->problem, operands, results, 1);
    for (int i = 0; i < plan->results; i++)
        memcpy(call->results[i] + done * plan->result_bytes[i], results[i], (size_t)(rest * plan->result_bytes[i]));
}

static void run(Call *call) {
    const BatchedPlan *plan = call->plan;
    if (plan->count >= plan->width) parallel_for(plan->count / plan->width, plan->grain, run_groups, call);
    if (call->padding != NULL) run_rest(call);
    else if (plan->count % plan->width != 0)
        parallel_for(plan->count % plan->width, plan->few_grain, run_singles, call);
}

static size_t padding_bytes(const BatchedPlan *plan) {
    Index bytes = 0;
    for (int i = 0; i < plan->operands; i++) bytes += plan->operand_bytes[i];
    for (int i = 0; i < plan->results; i++) bytes += plan->result_bytes[i];
    return (size_t)(bytes * plan->width);
}

static PyObject *answer(const BatchedPlan *plan, PyObject **arrays) {
    if (plan->single) return Py_NewRef(arrays[0]);
    PyObject *tuple = PyTuple_New(plan->results);
    for (int i = 0; tuple != NULL && i < plan->results; i++) PyTuple_SET_ITEM(tuple, i, Py_NewRef(arrays[i]));
    return tuple;
}

static PyObject *call(PyObject *self, PyObject *const *arguments, size_t flagged_count, PyObject *names) {
    const BatchedPlan *plan = kernel_plan(self);
    if (!kernel_takes_arrays(self, flagged_count, names, arguments, plan->operands)) return NULL;
    Call now = {.plan = plan, .good = true};
    PyObject *arrays[MOST_RESULTS] = {NULL}, *result = NULL;
    for (int i = 0; i < plan->operands; i++) now.operands[i] = array_data(arguments[i]);
    for (int i = 0; i < plan->results; i++) {
        arrays[i] = array_new(&plan->forms[i]);
        if (arrays[i] == NULL) goto end;
        now.results[i] = array_data(arrays[i]);
    }
    _Alignas(64) char little[LITTLE_WORKSPACE];
    const Index rest = plan->count % plan->width;
    if (rest > plan->few && (now.padding = workspace_acquire(little, padding_bytes(plan))) == NULL) {
        PyErr_NoMemory();
        goto end;
    }
    if (plan->count / plan->width >= plan->grain || (rest <= plan->few && rest >= plan->few_grain)) {
        Py_BEGIN_ALLOW_THREADS;
        run(&now);
        Py_END_ALLOW_THREADS;
    } else {
        run(&now);
    }
    if (now.out_of_memory) PyErr_NoMemory();
    else if (now.good) result = answer(plan, arrays);
    else result = PyObject_Vectorcall(plan->fallback, arguments, flagged_count, names);
end:
    if (now.padding != NULL) workspace_release(now.padding, padding_bytes(plan));
    for (int i = 0; i < plan->results; i++) Py_XDECREF(arrays[i]);
    return result;
}

static void release(void *plan) {
    Py_XDECREF(((BatchedPlan *)plan)->fallback);
    free(plan);
}

static int routine_read(PyObject *name) {
    int routine = name_read(name, ROUTINE_NAMES, ROUTINES);
    if (routine >= 0 && lane_choice((Routine)routine, false).groups != NULL) return routine;
    PyErr_Format(PyExc_ValueError, "%R is no name of a routine for small matrices", name);
    return -1;
}

/* Nanoseconds that a group takes, roughly; only ever compared with WORTH_A_THREAD. */
static Index group_time(Routine routine, const LaneProblem *problem) {
    const Index side = problem->rows > problem->columns ? problem->rows : problem->columns;
    if (side > LARGEST_SIDE) return side * side * problem->right / 4;
    const Index steps = side * side * (side + 4 + (is_system(routine) ? problem->right : 0));
    switch (routine) {
    case EIGH:
    case SVD: return 10 * steps; /* those iterate */
    case EIGVALSH:
    case SVDVALS: return 6 * steps;
    case LSTSQ: return 10 * steps;
    case EXPM: return 8 * steps;
    case SQRTM: return 20 * steps;
    default: return steps;
    }
}

/* Matrices that are done one by one before a group of them is. */
static int few_alone(Routine routine, int side, int width) {
    const bool large = side > LARGEST_JACOBI_SIDE;
    if (is_substitution(routine)) return width - 1;
    if (is_iterating(routine) || (!large && (routine == QR || routine == CHOLESKY))) return width / 4;
    return large && routine != CHOLESKY ? width - 1 : width / 2;
}

static Index elements(Index rows, Index columns) { return rows * columns; }

/* Fills in which arrays there are, and how much of each belongs to one matrix. */
static void measure(BatchedPlan *plan, Routine routine, ElementType type) {
    const Index m = plan->problem.rows, n = plan->problem.columns, k = m < n ? m : n, right = plan->problem.right;
    const Index each = ELEMENT_BYTES[type], part = type == C32 || type == C64 ? each / 2 : each;
    plan->operands = is_system(routine) || routine == LSTSQ ? 2 : 1;
    plan->results = 1;
    plan->operand_bytes[0] = each * elements(m, n);
    plan->operand_bytes[1] = each * elements(m, right);
    switch (routine) {
    case FORWARD:
    case BACKWARD:
    case FORWARD_TRANSPOSED:
    case BACKWARD_TRANSPOSED:
    case SOLVE: plan->result_bytes[0] = each * elements(m, right); break;
    case DET: plan->result_bytes[0] = each; break;
    case SLOGDET:
        plan->results = 2;
        plan->result_bytes[0] = each;
        plan->result_bytes[1] = part;
        break;
    case QR:
        plan->results = 2;
        plan->result_bytes[0] = each * elements(m, k);
        plan->result_bytes[1] = each * elements(k, n);
        break;
    case EIGVALSH:
    case SVDVALS: plan->result_bytes[0] = part * k; break;
    case EIGH:
        plan->results = 2;
        plan->result_bytes[0] = part * m;
        plan->result_bytes[1] = each * elements(m, m);
        break;
    case LSTSQ:
        plan->results = 4;
        plan->result_bytes[0] = each * elements(n, right);
        plan->result_bytes[1] = part * right;
        plan->result_bytes[2] = (Index)sizeof(int64_t);
        plan->result_bytes[3] = part * k;
        break;
    case SQRTM:
        plan->results = 2;
        plan->result_bytes[0] = each * elements(m, m);
        plan->result_bytes[1] = (Index)sizeof(int32_t);
        break;
    case SVD:
        plan->results = 3;
        plan->result_bytes[0] = each * elements(m, k);
        plan->result_bytes[1] = part * k;
        plan->result_bytes[2] = each * elements(k, n);
        break;
    default: plan->result_bytes[0] = each * elements(m, n);
    }
}

/* Whether results are written past the caches: whole matrices that leave them anyway. Real ones take half as long, and
 * leave them later: QR decompositions with results of 10 MB took 1.3 times as long past the caches. With four lanes it
 * pays for the factors of up to 8 rows of doubles (0.63 to 0.83 for complex ones); those of 16 rows took 1.05 to 1.3. */
static bool streams(const BatchedPlan *plan, Routine routine, ElementType type) {
    const LaneProblem *const problem = &plan->problem;
    Index each = 0;
    for (int i = 0; i < plan->operands; i++) each += plan->operand_bytes[i];
    for (int i = 0; i < plan->results; i++) each += plan->result_bytes[i];
    if (problem->rows > LARGEST_JACOBI_SIDE || problem->columns > LARGEST_JACOBI_SIDE) return false;
    if ((routine == EIGH || routine == SVD) && is_reduced(problem)) return false;
    const bool factors = routine == QR || routine == CHOLESKY;
    if (!factors && routine != INV && routine != EIGH && routine != SVD) return false;
    if (plan->width < 8 && !(factors && problem->rows <= 8 && problem->columns <= 8)) return false;
    const size_t all = (size_t)(each * plan->count);
    return (type == C32 || type == C64 ? all : all / 2) >= cpu_streamed_matrices_bytes();
}

/* Reads the forms of the results, pairs of a shape and the name of a type, and checks that they fit; -1 with an
 * exception set. */
static int results_read(BatchedPlan *plan, PyObject *results) {
    if (!PyTuple_Check(results) || PyTuple_GET_SIZE(results) != plan->results) {
        PyErr_Format(PyExc_ValueError, "expected a tuple of %d forms, found %R", plan->results, results);
        return -1;
    }
    if (plan->single && plan->results != 1) {
        PyErr_Format(PyExc_ValueError, "%d results are not a single one", plan->results);
        return -1;
    }
    for (int i = 0; i < plan->results; i++) {
        PyObject *shape, *type;
        if (!PyTuple_Check(PyTuple_GET_ITEM(results, i))) {
            PyErr_Format(PyExc_TypeError, "a form is a shape and a type, found %R", PyTuple_GET_ITEM(results, i));
            return -1;
        }
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(results, i), "OO", &shape, &type)) return -1;
        if (array_form_read(&plan->forms[i], shape, type) < 0) return -1;
        Index bytes;
        if (__builtin_mul_overflow(plan->result_bytes[i], plan->count, &bytes) ||
            (Index)plan->forms[i].bytes != bytes) {
            PyErr_Format(PyExc_ValueError, "result %d of shape %R does not fit the operands", i, shape);
            return -1;
        }
    }
    return 0;
}

static PyObject *bind_batched_simd(PyObject *module, PyObject *arguments, PyObject *named) {
    (void)module;
    static const char *const members[] = {"routine", "dtype",    "sides", "right",     "count",  "results",
                                          "single",  "fallback", "check", "tolerance", "jacobi", NULL};
    PyObject *name, *type_name, *results, *fallback;
    int m, n, single, check = true, jacobi = LARGEST_JACOBI_SIDE;
    long long right, count;
    double tolerance = 0.0;
    if (!PyArg_ParseTupleAndKeywords(arguments, named, "OO(ii)LLOpO|pdi:bind_batched_simd", ARGUMENT_NAMES(members),
                                     &name, &type_name, &m, &n, &right, &count, &results, &single, &fallback, &check,
                                     &tolerance, &jacobi))
        return NULL;
    const int routine = routine_read(name), type = routine < 0 ? -1 : element_type_read(type_name);
    if (type < 0) return NULL;
    const LaneProblem problem = {m, n, right, type == F32 || type == C32, check, tolerance, false, jacobi};
    const bool any_size = goes_along_columns((Routine)routine, &problem);
    if (type > C64 || m < 1 || n < 1 || ((m > LARGEST_SIDE || n > LARGEST_SIDE) && !any_size) || right < 0 ||
        right > MOST_RIGHT_SIDES || count < 1 || (m != n && !is_rectangular((Routine)routine)) ||
        (is_matrix_function((Routine)routine) && m > LARGEST_MASKED_SIDE) || jacobi < LARGEST_CONSTANT_SIDE ||
        jacobi > LARGEST_JACOBI_SIDE ||
        (routine == LSTSQ && (smaller(m, n) > LARGEST_JACOBI_SIDE || right < 1 || right > RIGHT_AT_ONCE)))
        return PyErr_Format(PyExc_ValueError, "%S: no lanes for %d x %d matrices of %S", name, m, n, type_name);
    BatchedPlan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) return PyErr_NoMemory();
    const LaneChoice kernels = lane_choice((Routine)routine, type == C32 || type == C64);
    plan->problem = problem;
    plan->routine = kernels.groups;
    plan->width = kernels.width;
    Index room = lane_room((Routine)routine, &plan->problem);
    if (is_taken_alone((Routine)routine, &plan->problem, plan->width)) plan->single_routine = kernels.alone;
    if (plan->single_routine != NULL) {
        plan->few = few_alone((Routine)routine, m > n ? m : n, plan->width);
        if (!is_iterating((Routine)routine) && !is_substitution((Routine)routine) &&
            room < single_room(&plan->problem, plan->width))
            room = single_room(&plan->problem, plan->width);
        if (m > LARGEST_SIDE) { /* one after the other */
            plan->routine = plan->single_routine;
            plan->width = 1;
        }
    }
    plan->room_bytes = (size_t)room * (size_t)kernels.number_bytes;
    plan->count = count;
    plan->grain = WORTH_A_THREAD / group_time((Routine)routine, &plan->problem) + 1;
    plan->few_grain = plan->grain * plan->width / 2;
    plan->single = single;
    measure(plan, (Routine)routine, (ElementType)type);
    for (int i = 0; i < plan->operands; i++) {
        Index bytes;
        if (__builtin_mul_overflow(plan->operand_bytes[i], plan->count, &bytes)) {
            free(plan);
            return PyErr_Format(PyExc_OverflowError, "%S: more bytes than can be addressed", name);
        }
    }
    if (results_read(plan, results) < 0) {
        free(plan);
        return NULL;
    }
    plan->of_groups = plan->problem;
    plan->of_groups.streams = streams(plan, (Routine)routine, (ElementType)type);
    plan->fallback = Py_NewRef(fallback);
    Operand operands[MOST_OPERANDS];
    for (int i = 0; i < plan->operands; i++)
        operands[i] = (Operand){(ElementType)type,
                                compact_reach(plan->count * plan->operand_bytes[i] / ELEMENT_BYTES[type]), false};
    return kernel_with_operands(kernel_new(ROUTINE_NAMES[routine], call, plan, release), operands, plan->operands);
}

PyMethodDef batched_simd_functions[] = {
    {"bind_batched_simd", (PyCFunction)(void (*)(void))bind_batched_simd, METH_VARARGS | METH_KEYWORDS,
     "A kernel for a batch of small compact matrices."},
    {NULL, NULL, 0, NULL},
};
