/* Kernels that solve triangular systems by the library's substitution, one matrix of a stack after the other.
 *
 * Right-hand sides are copied once, into the result, or lie there already. A triangle is read where it lies if its rows
 * or its columns are neighbours: of the one layout it is what the other has transposed. What is not finite, and zeros on
 * a diagonal, are for Python's kernel to name. So are numbers there whose reciprocals, by which the library multiplies,
 * are infinite, or vanish on the way as those of very large complex numbers do; whether there are any is known before
 * anything is overwritten.
 */
#include "core/arguments.h"
#include "core/blas.h"
#include "core/caching_allocator.h"
#include "core/kernel.h"
#include "core/strided_walk.h"
#include "core/topics.h"
#include "copy/matrix_copy.h"
#include "linalg/matrix_loop.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

static const double WORTH_ITS_THREADS = 700.0; /* rows of a square system from which the library's threads are */

typedef struct {
    ElementType type;
    Index rows, columns, count;
    bool lower, unit_diagonal; /* of the matrices as they are stored, by columns */
    char op;                   /* what BLAS does with those */
    bool conjugates_sides;     /* conj(A) x = b is A conj(x) = conj(b) */
    bool copies;               /* neither rows nor columns lie in one piece */
    BlasInt leading;
    bool check, overwrite, is_long;
    MatrixStack a, b;
    ArrayForm result;
    size_t scratch_bytes;
    PyObject *fallback;
} SubstitutionPlan;

typedef enum { FINE, REFUSED, NO_MEMORY } Outcome;

typedef struct {
    const SubstitutionPlan *plan;
    const char *a, *b;
    char *result;
    atomic_int outcome;
} Call;

static bool is_complex(const SubstitutionPlan *plan) { return plan->type == C32 || plan->type == C64; }

static bool in_floats(const SubstitutionPlan *plan) { return plan->type == F32 || plan->type == C32; }

/* Copies a matrix into a block without gaps; whether all its elements are finite. */
static bool load(const SubstitutionPlan *plan, const char *source, Index columns, Index row, Index column,
                 void *block) {
    if (in_floats(plan))
        return isfinite(matrix_load_floats(plan->type, source, plan->rows, columns, row, column, block));
    return matrix_load(plan->type, source, plan->rows, columns, row, column, block);
}

/* Whether so many neighbouring elements are finite. */
static bool are_finite(const SubstitutionPlan *plan, const char *first, Index count) {
    const Index parts = is_complex(plan) ? 2 * count : count;
    return in_floats(plan) ? isfinite(largest_float((const float *)first, parts))
                           : all_finite((const double *)first, parts);
}

static bool triangle_is_finite(const SubstitutionPlan *plan, const char *matrix) {
    const Index bytes = ELEMENT_BYTES[plan->type], beside = plan->unit_diagonal ? 1 : 0;
    for (Index column = 0; column < plan->rows; column++) {
        const Index first = plan->lower ? column + beside : 0, last = plan->lower ? plan->rows : column + 1 - beside;
        if (!are_finite(plan, matrix + bytes * (column * plan->leading + first), last - first)) return false;
    }
    return true;
}

/* The size of an element of the diagonal. */
static double size_at(const SubstitutionPlan *plan, const char *element) {
    const float *narrow = (const float *)element;
    const double *wide = (const double *)element;
    switch (plan->type) {
    case F32: return fabs((double)narrow[0]);
    case F64: return fabs(wide[0]);
    case C32: return hypot((double)narrow[0], (double)narrow[1]);
    default: return hypot(wide[0], wide[1]);
    }
}

static const char *given(const SubstitutionPlan *plan, const MatrixStack *stack, const char *first, Index number) {
    return first + ELEMENT_BYTES[plan->type] * strided_offset(stack->rank, stack->axes, number);
}

/* Whether the library may divide by the diagonal, and by zeros on it if nobody wants to hear of them. */
static bool diagonal_is_fine(const Call *call, Index number) {
    const SubstitutionPlan *plan = call->plan;
    if (plan->unit_diagonal) return true;
    const Index step = ELEMENT_BYTES[plan->type] * (plan->a.row_stride + plan->a.column_stride);
    const double least = in_floats(plan) ? (double)FLT_MIN : DBL_MIN;
    const double most = !is_complex(plan) ? INFINITY : in_floats(plan) ? (double)FLT_MAX / 4.0 : DBL_MAX / 4.0;
    const char *const matrix = given(plan, &plan->a, call->a, number);
    for (Index i = 0; i < plan->rows; i++) {
        const double size = size_at(plan, matrix + step * i);
        if (size > most || (size < least && (size > 0.0 || plan->check))) return false;
    }
    return true;
}

static void conjugate(const SubstitutionPlan *plan, void *block) {
    const Index count = plan->rows * plan->columns;
    for (Index i = 0; i < count; i++) {
        if (plan->type == C32) ((float *)block)[2 * i + 1] = -((float *)block)[2 * i + 1];
        else ((double *)block)[2 * i + 1] = -((double *)block)[2 * i + 1];
    }
}

static void substitute(const SubstitutionPlan *plan, const char *matrix, void *sides) {
    static const float FLOAT_ONE[] = {1.0F, 0.0F};
    static const double DOUBLE_ONE[] = {1.0, 0.0};
    const char *const triangle = plan->lower ? "L" : "U", *const diagonal = plan->unit_diagonal ? "U" : "N";
    const BlasInt rows = plan->rows, columns = plan->columns, one = 1;
    if (plan->conjugates_sides) conjugate(plan, sides);
    if (columns == 1) /* packs nothing of the matrix */
        blas_table()->trsv[plan->type](triangle, &plan->op, diagonal, &rows, matrix, &plan->leading, sides, &one);
    else
        blas_table()->trsm[plan->type]("L", triangle, &plan->op, diagonal, &rows, &columns,
                                       in_floats(plan) ? (const void *)FLOAT_ONE : (const void *)DOUBLE_ONE, matrix,
                                       &plan->leading, sides, &rows);
    if (plan->conjugates_sides) conjugate(plan, sides);
}

/* The matrix of this number, by columns or transposed; copied where it is neither. */
static const char *matrix_of(const Call *call, Index number, char *memory) {
    const SubstitutionPlan *plan = call->plan;
    const char *matrix = given(plan, &plan->a, call->a, number);
    if (!plan->copies) return matrix;
    (void)load(plan, matrix, plan->rows, plan->a.row_stride, plan->a.column_stride, memory);
    return memory;
}

static bool solve_one(const Call *call, Index number, char *memory) {
    const SubstitutionPlan *plan = call->plan;
    char *const sides = call->result + ELEMENT_BYTES[plan->type] * plan->rows * plan->columns * number;
    if (!plan->overwrite && !diagonal_is_fine(call, number)) return false;
    const char *const matrix = matrix_of(call, number, memory);
    if (!plan->overwrite) {
        const MatrixStack *b = &plan->b;
        const bool finite =
            load(plan, given(plan, b, call->b, number), plan->columns, b->row_stride, b->column_stride, sides);
        if (plan->check && !(finite && triangle_is_finite(plan, matrix))) return false;
    }
    substitute(plan, matrix, sides);
    return !plan->check || are_finite(plan, sides, plan->rows * plan->columns);
}

static void solve(void *context, Index begin, Index end) {
    Call *call = context;
    const SubstitutionPlan *plan = call->plan;
    char *memory = scratch_acquire(plan->scratch_bytes);
    if (memory == NULL) {
        atomic_store(&call->outcome, NO_MEMORY);
        return;
    }
    for (Index number = begin; number < end && atomic_load_explicit(&call->outcome, memory_order_relaxed) == FINE;
         number++)
        if (!solve_one(call, number, memory)) atomic_store(&call->outcome, REFUSED);
    scratch_release(memory, plan->scratch_bytes);
}

/* Before right-hand sides are lost. */
static void look(Call *call) {
    for (Index number = 0; number < call->plan->count; number++)
        if (!diagonal_is_fine(call, number)) {
            atomic_store(&call->outcome, REFUSED);
            return;
        }
}

/* Of one system, in operations of real numbers. */
static double work_of(const SubstitutionPlan *plan) {
    return (is_complex(plan) ? 4.0 : 1.0) * (double)plan->rows * (double)plan->rows * (double)plan->columns;
}

static void run_all(Call *call) {
    const SubstitutionPlan *plan = call->plan;
    const double side = WORTH_ITS_THREADS, work = work_of(plan);
    const MatrixLoop loop = {plan->count, work, work >= side * side * side, false};
    if (plan->overwrite) look(call);
    if (atomic_load(&call->outcome) == FINE) matrix_loop_run(&loop, solve, call);
}

static PyObject *call_kernel(PyObject *self, PyObject *const *operands, size_t flagged_count, PyObject *names) {
    const SubstitutionPlan *plan = kernel_plan(self);
    if (!kernel_takes_arrays(self, flagged_count, names, operands, 2)) return NULL;
    PyObject *result = plan->overwrite ? Py_NewRef(operands[1]) : array_new(&plan->result);
    if (result == NULL) return NULL;
    Call call = {.plan = plan,
                 .a = array_data(operands[0]),
                 .b = array_data(operands[1]),
                 .result = array_data(result),
                 .outcome = FINE};
    if (plan->is_long) {
        Py_BEGIN_ALLOW_THREADS;
        run_all(&call);
        Py_END_ALLOW_THREADS;
    } else {
        run_all(&call);
    }
    const int outcome = atomic_load(&call.outcome);
    if (outcome == FINE) return result;
    Py_DECREF(result);
    return outcome == NO_MEMORY ? PyErr_NoMemory() : PyObject_Vectorcall(plan->fallback, operands, flagged_count, NULL);
}

static void release(void *plan) {
    Py_XDECREF(((SubstitutionPlan *)plan)->fallback);
    free(plan);
}

/* How BLAS gets at the matrices: op(A) of those of the tensor. */
static void choose_layout(SubstitutionPlan *plan, bool lower, bool transpose, bool conjugated) {
    const Index row = plan->a.row_stride, column = plan->a.column_stride, rows = plan->rows;
    const bool rows_are_near = column == 1 && row >= rows && rows > 1;
    plan->copies = !rows_are_near && !(row == 1 && column >= rows) && rows > 1;
    plan->leading = rows_are_near ? row : plan->copies || rows == 1 ? rows : column;
    plan->lower = lower != rows_are_near;
    const bool turned = transpose != rows_are_near;
    conjugated = conjugated && is_complex(plan);
    plan->op = !turned ? 'N' : conjugated ? 'C' : 'T';
    plan->conjugates_sides = conjugated && !turned;
    plan->scratch_bytes =
        (size_t)(plan->copies ? ELEMENT_BYTES[plan->type] * rows * rows : CACHE_LINE); /* never none */
}

/* Whether matrices of so many elements follow one another without gaps, in the order of the batch. */
static bool is_in_order(const MatrixStack *stack, int batch_rank, Index elements) {
    for (int axis = batch_rank - 1; axis >= 0; axis--) {
        const Index extent = stack->axes[2 * axis], stride = stack->axes[2 * axis + 1];
        if (extent > 1 && stride != elements) return false;
        elements *= extent;
    }
    return stack->rank == batch_rank;
}

static bool plan_read(SubstitutionPlan *plan, PyObject *arguments, PyObject *named) {
    static const char *const members[] = {"dtype", "sides",    "batch",     "a_strides", "b_strides",
                                          "shape", "lower",    "transpose", "conjugate", "unit_diagonal",
                                          "check", "fallback", "overwrite", NULL};
    PyObject *type_name, *batch, *a, *b, *shape;
    long long rows, columns;
    int lower, transpose, conjugated, unit_diagonal, check, overwrite = false;
    if (!PyArg_ParseTupleAndKeywords(arguments, named, "O(LL)OOOO!pppppO|p:bind_substitution", ARGUMENT_NAMES(members),
                                     &type_name, &rows, &columns, &batch, &a, &b, &PyTuple_Type, &shape, &lower,
                                     &transpose, &conjugated, &unit_diagonal, &check, &plan->fallback, &overwrite)) {
        plan->fallback = NULL;
        return false;
    }
    Py_INCREF(plan->fallback);
    Index extents[MAX_RANK]; /* of the batch, in transposed array order */
    const int type = element_type_read(type_name), rank = type < 0 ? -1 : indices_read(extents, MAX_RANK, batch);
    if (rank < 0) return false;
    plan->type = (ElementType)type;
    plan->rows = rows;
    plan->columns = columns;
    plan->unit_diagonal = unit_diagonal;
    plan->check = check;
    plan->overwrite = overwrite;
    plan->count = 1;
    for (int axis = 0; axis < rank; axis++)
        if (extents[axis] < 1 || __builtin_mul_overflow(plan->count, extents[axis], &plan->count)) {
            PyErr_Format(PyExc_ValueError, "%R is no shape of a batch", batch);
            return false;
        }
    if (plan->type > C64 || rows < 1 || columns < 1) {
        PyErr_SetString(PyExc_ValueError, "systems of floating or complex numbers, none of them empty");
        return false;
    }
    if (!matrices_are_addressable(rows, columns, plan->count) || !matrices_are_addressable(rows, rows, plan->count))
        return false;
    if (!matrix_stack_read(&plan->a, a, rank, extents, rows, rows) ||
        !matrix_stack_read(&plan->b, b, rank, extents, rows, columns) ||
        array_form_read(&plan->result, shape, type_name) < 0)
        return false;
    if (plan->result.size != plan->count * rows * columns) {
        PyErr_Format(PyExc_ValueError, "a result of shape %R does not fit the operands", shape);
        return false;
    }
    choose_layout(plan, lower, transpose, conjugated);
    if (overwrite && (check || plan->b.row_stride != 1 || (columns > 1 && plan->b.column_stride != rows) ||
                      !is_in_order(&plan->b, rank, rows * columns))) {
        PyErr_SetString(PyExc_ValueError, "unchecked right-hand sides without gaps are overwritten");
        return false;
    }
    plan->is_long =
        (work_of(plan) + (double)rows * (double)(rows + columns) + 1e3) * (double)plan->count >= WORTH_A_LOOP;
    return true;
}

static PyObject *bind_substitution(PyObject *module, PyObject *arguments, PyObject *named) {
    (void)module;
    if (blas_table() == NULL) return PyErr_Format(PyExc_RuntimeError, "no BLAS library has been opened");
    SubstitutionPlan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) return PyErr_NoMemory();
    if (!plan_read(plan, arguments, named)) {
        release(plan);
        return NULL;
    }
    const Operand operands[] = {{plan->type, plan->a.reach, false}, {plan->type, plan->b.reach, plan->overwrite}};
    return kernel_with_operands(kernel_new("triangular_solve", call_kernel, plan, release), operands, 2);
}

PyMethodDef substitution_functions[] = {
    {"bind_substitution", (PyCFunction)(void (*)(void))bind_substitution, METH_VARARGS | METH_KEYWORDS,
     "A kernel that solves every triangular system of a stack."},
    {NULL, NULL, 0, NULL},
};
