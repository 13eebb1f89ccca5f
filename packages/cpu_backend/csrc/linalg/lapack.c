/* Kernels that loop over LAPACK: cholesky, solve, inv, det, qr, eigh, svd of stacks of matrices of any size, and eigh and
 * svd without vectors.
 *
 * Each matrix is copied once, into the column-major block of a result (where LAPACK then factors it in place) or into
 * scratch memory; elements are checked to be finite on the way. Stacks are shared among our threads, while the library
 * itself runs single-threaded. For a stack of fewer matrices than threads the library is lent threads if its matrices
 * are large, and else the calling thread computes alone: see matrix_loop.c. When LAPACK refuses a matrix, or an element
 * is not finite, the whole call goes to NumPy's kernel, which finds out where and says it, so that both raise the same
 * errors.
 *
 * F32 and C32 are computed in floats. A matrix that LAPACK refuses in floats, or whose numbers are so large or small that
 * products of a few may leave the range of floats, is computed once more in doubles, and its results are rounded.
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

#include <math.h>
#include <stdatomic.h>

/* Sides of a square matrix from which the library's threads are worth it. Those that decompose by vectors wait for one
 * another so often that beside other work two of them take fifty times as long as one. */
static const double WORTH_ITS_THREADS[LAPACK_ROUTINES] = {[CHOLESKY] = 700, [SOLVE] = 700,     [INV] = 700,
                                                          [DET] = 700,      [QR] = 1000,       [EIGH] = 1000,
                                                          [SVD] = 800,      [EIGVALSH] = 1000, [SVDVALS] = 800};

typedef enum { FINE, REFUSED, NO_MEMORY } Outcome;

typedef struct {
    const LapackPlan *plan;
    const char *a, *b;
    char *own; /* the first operand's elements where they may be destroyed */
    char *results[MOST_RESULTS];
    atomic_int outcome;
} Call;

/* Numbers between these are far from the limits of floats, and so are products of two. */
static const float LARGEST = 0x1p60f, SMALLEST = 0x1p-60f;

/* Copies a matrix into the plan's numbers; false where an element shall be refused. */
static bool load(const LapackPlan *plan, const MatrixStack *stack, const char *first, Index number, BlasInt columns,
                 void *block) {
    const char *source = first + ELEMENT_BYTES[plan->type] * strided_offset(stack->rank, stack->axes, number);
    const Index row = stack->row_stride, column = stack->column_stride;
    if (lapack_in_floats(plan)) {
        const float largest = matrix_load_floats(plan->type, source, plan->rows, columns, row, column, block);
        return largest == 0.0F || (largest >= SMALLEST && largest <= LARGEST);
    }
    return matrix_load(plan->type, source, plan->rows, columns, row, column, block) || !plan->check;
}

/* Whether results may be given away: floats that are not finite might be as doubles. From subnormal numbers xGEQRF of
 * MKL makes NaN, which NumPy's kernel shall judge. */
static bool are_sound(const LapackPlan *plan, const Scratch *scratch) {
    if (!lapack_in_floats(plan))
        return plan->routine != QR || !plan->check || all_finite(scratch->out[1], plan->block[1]);
    for (int i = 0; i < plan->result_count && plan->routine != DET; i++)
        if (!isfinite(largest_float(scratch->out[i], plan->block[i]))) return false;
    return true;
}

/* Where routine_is_doubtful(): once more from the operands. */
static bool run_carefully(Call *call, const LapackPlan *plan, const Scratch *scratch, Index number) {
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
                       (double *)scratch->out[0] + plan->block[0] * one);
    const bool fine = routine_run_carefully(plan, scratch, a, (int64_t *)(a + numbers));
    scratch_release(a, bytes);
    return fine;
}

/* What makes a column smaller that has numbers from 2^1010 on, by a power of two; that power. */
static int shrink(double *numbers, Index count) {
    double most = 0.0;
    for (Index i = 0; i < count; i++) most = !(fabs(numbers[i]) <= most) ? fabs(numbers[i]) : most;
    if (!(most >= 0x1p1010 && isfinite(most))) return 0;
    const int power = ilogb(most) - 999;
    for (Index i = 0; i < count; i++) numbers[i] = ldexp(numbers[i], -power);
    return power;
}

/* Once more with the factors where solutions are not finite: large right-hand sides are made smaller, so that no sum on
 * the way to a solution overflows. */
static void substitute_again(Call *call, const LapackPlan *plan, const Scratch *scratch, Index number) {
    const Index sides = plan->shared ? plan->count : 1, columns = plan->right * sides;
    const Index length = plan->rows * (plan->pairs ? 2 : 1);
    double *const x = scratch->out[0];
    if (lapack_in_floats(plan) || all_finite(x, length * columns)) return;
    int *const powers = scratch_acquire(sizeof(int) * (size_t)columns);
    if (powers == NULL) {
        atomic_store(&call->outcome, NO_MEMORY);
        return;
    }
    for (Index one = 0; one < sides; one++)
        (void)load(plan, &plan->b, call->b, plan->shared ? one : number, plan->right, x + plan->block[0] * one);
    for (Index c = 0; c < columns; c++) powers[c] = shrink(x + c * length, length);
    (void)routine_substitute(plan, scratch, (BlasInt)columns, x);
    for (Index c = 0; c < columns; c++)
        for (Index i = 0; powers[c] != 0 && i < length; i++) x[c * length + i] = ldexp(x[c * length + i], powers[c]);
    scratch_release(powers, sizeof(int) * (size_t)columns);
}

/* Where a result of one matrix shall be. */
static void *result_at(const Call *call, const LapackPlan *plan, int result, Index number) {
    return call->results[result] + lapack_real_bytes(plan) * (size_t)(plan->block[result] * number);
}

static bool run_one(Call *call, const LapackPlan *plan, Scratch *scratch, Index number) {
    if (!plan->narrow)
        for (int i = 0; i < plan->result_count; i++) scratch->out[i] = result_at(call, plan, i, number);
    if (plan->overwrite) {
        scratch->a = call->own;
        return routine_run(plan, scratch) && are_sound(plan, scratch);
    }
    if (!load(plan, &plan->a, call->a, number, plan->columns, routine_input(plan, scratch))) return false;
    if (plan->routine == SOLVE && !load(plan, &plan->b, call->b, number, plan->right, scratch->out[0])) return false;
    bool fine = routine_run(plan, scratch);
    if (routine_is_doubtful(plan, scratch, fine))
        fine = !lapack_in_floats(plan) && run_carefully(call, plan, scratch, number);
    else if (fine && plan->routine == SOLVE) substitute_again(call, plan, scratch, number);
    if (!fine || !are_sound(plan, scratch)) return false;
    if (plan->narrow)
        for (int i = 0; i < plan->result_count; i++)
            matrix_round(scratch->out[i], plan->block[i], (float *)call->results[i] + plan->block[i] * number);
    return true;
}

static Index run_range(Call *call, const LapackPlan *plan, Index begin, Index end);

/* One matrix for all right-hand sides: factored once, and all columns solved for at once. In floats, batches of columns
 * that shall be refused, or leave the range, are solved for alone, in doubles. */
static bool run_shared(Call *call, const LapackPlan *plan, Scratch *scratch, Index number) {
    if (!plan->narrow) scratch->out[0] = call->results[0];
    const bool in_floats = lapack_in_floats(plan);
    const size_t stride = lapack_real_bytes(plan) * (size_t)plan->block[0];
    if (!load(plan, &plan->a, call->a, number, plan->columns, scratch->a)) return false;
    for (Index side = 0; side < plan->count; side++) {
        char *const block = (char *)scratch->out[0] + stride * (size_t)side;
        const bool fine = load(plan, &plan->b, call->b, side, plan->right, block);
        if (!fine && !in_floats) return false;
        if (!fine) *(float *)block = NAN; /* and so is what is found */
    }
    bool fine = routine_factor(plan, scratch);
    if (routine_is_doubtful(plan, scratch, fine)) {
        fine = !in_floats && run_carefully(call, plan, scratch, number);
    } else if (fine) {
        fine = routine_substitute(plan, scratch, plan->right * plan->count, scratch->out[0]);
        if (fine) substitute_again(call, plan, scratch, number);
    }
    if (!fine) return false;
    if (plan->narrow) matrix_round(scratch->out[0], plan->block[0] * plan->count, (float *)call->results[0]);
    for (Index side = 0; in_floats && side < plan->count; side++)
        if (!isfinite(largest_float((float *)scratch->out[0] + plan->block[0] * side, plan->block[0])) &&
            run_range(call, plan->alone, side, side + 1) == side)
            return false;
    return true;
}

/* Calls the one or the other for matrices in a row, in the plan's precision; the first that it refuses, or the end. */
static Index run_range(Call *call, const LapackPlan *plan, Index begin, Index end) {
    Scratch scratch;
    char *memory = scratch_acquire(plan->scratch_bytes);
    if (memory == NULL) {
        atomic_store(&call->outcome, NO_MEMORY);
        return end;
    }
    lapack_scratch(plan, memory, &scratch);
    bool fine = true;
    while (begin < end && fine && atomic_load_explicit(&call->outcome, memory_order_relaxed) == FINE) {
        fine = plan->shared ? run_shared(call, plan, &scratch, begin) : run_one(call, plan, &scratch, begin);
        begin += fine;
    }
    scratch_release(memory, plan->scratch_bytes);
    return fine ? end : begin;
}

static void run_matrices(void *context, Index begin, Index end) {
    Call *call = context;
    const LapackPlan *plan = call->plan;
    if (plan->shared) end = begin + 1;
    while ((begin = run_range(call, plan, begin, end)) < end) {
        if (plan->wide == NULL || run_range(call, plan->wide, begin, begin + 1) == begin)
            atomic_store(&call->outcome, REFUSED);
        begin++;
    }
}

static bool is_large(const LapackPlan *plan) {
    const double side = WORTH_ITS_THREADS[plan->routine];
    const double right =
        plan->routine == SOLVE ? (double)plan->right * (plan->shared ? (double)plan->count : 1.0) : 0.0;
    const double size = (double)plan->rows * (double)plan->columns * ((double)plan->shorter + right);
    return size * (plan->pairs ? 4.0 : 1.0) >= side * side * side;
}

static void run_all(Call *call) {
    const LapackPlan *plan = call->plan;
    const MatrixLoop loop = {plan->count, lapack_work(plan), is_large(plan), plan->shared};
    matrix_loop_run(&loop, run_matrices, call);
}

static PyObject *call_kernel(PyObject *self, PyObject *const *operands, size_t flagged_count, PyObject *names) {
    const LapackPlan *plan = kernel_plan(self);
    Call call = {.plan = plan, .outcome = FINE};
    PyObject *results[MOST_RESULTS] = {NULL, NULL, NULL};
    if (!kernel_takes_arrays(self, flagged_count, names, operands, plan->operand_count)) return NULL;
    call.a = array_data(operands[0]);
    call.own = array_data(operands[0]);
    if (plan->operand_count == 2) call.b = array_data(operands[1]);
    bool made = true;
    for (int i = 0; made && i < plan->result_count; i++) {
        results[i] = plan->overwrite && i == routine_overwrites(plan->routine)
                         ? Py_NewRef(operands[plan->operand_count - 1])
                         : array_new(&plan->results[i]);
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

static PyObject *bind_lapack(PyObject *module, PyObject *arguments, PyObject *named) {
    (void)module;
    if (blas_table() == NULL) return PyErr_Format(PyExc_RuntimeError, "no BLAS library has been opened");
    LapackPlan *plan = lapack_plan(arguments, named);
    if (plan == NULL) return NULL;
    const Operand operands[] = {{plan->type, plan->a.reach, false}, {plan->type, plan->b.reach, false}};
    PyObject *kernel = kernel_new(ROUTINE_NAMES[plan->routine], call_kernel, plan, lapack_plan_free);
    return kernel_with_operands(kernel, operands, plan->operand_count);
}

PyMethodDef lapack_functions[] = {
    {"bind_lapack", (PyCFunction)(void (*)(void))bind_lapack, METH_VARARGS | METH_KEYWORDS,
     "A kernel that calls LAPACK for every matrix of a stack."},
    {NULL, NULL, 0, NULL},
};
