/* Kernels that call BLAS: stacks of matrix products of two arrays, written into a new array or into a given one. */
#include "contraction/products.h"
#include "core/arguments.h"
#include "core/kernel.h"
#include "core/topics.h"

#include <stdlib.h>

static const double WORTH_RELEASING_THE_GIL = 1e6; /* operations: about 20 microseconds */

typedef struct {
    Products products;
    ArrayForm result;
} ProductsPlan;

static bool compute(const void *plan, const char *const *operands, char *result) {
    const Products *products = &((const ProductsPlan *)plan)->products;
    products_run(products, operands[products->left], operands[1 - products->left], result);
    return true;
}

/* The call of a kernel that writes into a third array, which nobody else sees. */
static PyObject *call_into(PyObject *self, PyObject *const *arguments, size_t flagged_count, PyObject *names) {
    const ProductsPlan *plan = kernel_plan(self);
    if (!kernel_takes_arrays(self, flagged_count, names, arguments, 3)) return NULL;
    if (!array_is_writable(arguments[2])) return PyErr_Format(PyExc_ValueError, "contract: the target is read-only");
    const char *const operands[] = {array_data(arguments[0]), array_data(arguments[1])};
    char *target = array_data(arguments[2]);
    if (products_work(&plan->products) < WORTH_RELEASING_THE_GIL) {
        compute(plan, operands, target);
    } else {
        Py_BEGIN_ALLOW_THREADS;
        compute(plan, operands, target);
        Py_END_ALLOW_THREADS;
    }
    return Py_NewRef(arguments[2]);
}

/* Where nobody steps along an axis of extent 1, BLAS still wants a number above 0. */
static MatrixSteps tidied(MatrixSteps steps, Index rows, Index columns) {
    return (MatrixSteps){rows == 1 ? 1 : steps.row, columns == 1 ? 1 : steps.column};
}

/* Whether BLAS can walk a matrix, or a vector: one step is 1 and the other spans the rows or columns in between. */
static bool suits(MatrixSteps steps, Index rows, Index columns) {
    if (rows == 1 || columns == 1) return rows == columns || (rows == 1 ? steps.column : steps.row) > 0;
    return (steps.row == 1 && steps.column >= rows) || (steps.column == 1 && steps.row >= columns);
}

static bool steps_read(MatrixSteps *steps, PyObject *pair) {
    Index read[2];
    int count = indices_read(read, 2, pair);
    if (count == 2) *steps = (MatrixSteps){read[0], read[1]};
    else if (count >= 0) PyErr_Format(PyExc_ValueError, "expected two strides, found %R", pair);
    return count == 2;
}

static void swap_factors(Products *products) {
    const MatrixSteps a = products->a;
    const BlasInt m = products->m;
    products->a = (MatrixSteps){products->b.column, products->b.row};
    products->b = (MatrixSteps){a.column, a.row};
    products->c = (MatrixSteps){products->c.column, products->c.row};
    products->m = products->n;
    products->n = m;
    products->left = products->left == FIRST ? SECOND : FIRST;
}

/* Reads extents and strides, and turns the product round, Cᵀ = Bᵀ Aᵀ, where C is stored row by row. */
static bool products_read(Products *products, PyObject *type, PyObject *extents, PyObject *stack,
                          PyObject *const *steps) {
    Index read[3];
    const int number = element_type_read(type), count = number < 0 ? -1 : indices_read(read, 3, extents);
    if (count < 0 || group_read(&products->stack, stack) < 0) return false;
    if (!steps_read(&products->a, steps[0]) || !steps_read(&products->b, steps[1]) ||
        !steps_read(&products->c, steps[2]))
        return false;
    if (number > C64 || count != 3 || read[0] < 1 || read[1] < 1 || read[2] < 1) {
        PyErr_Format(PyExc_ValueError, "BLAS multiplies matrices of floating or complex numbers, not %R of %R", extents,
                     type);
        return false;
    }
    products->type = (ElementType)number;
    products->left = FIRST;
    products->m = read[0];
    products->n = read[1];
    products->k = read[2];
    if (!suits(products->a, read[0], read[2]) || !suits(products->b, read[2], read[1]) ||
        !suits(products->c, read[0], read[1])) {
        PyErr_SetString(PyExc_ValueError, "BLAS does not take matrices of these strides");
        return false;
    }
    products->a = tidied(products->a, read[0], read[2]);
    products->b = tidied(products->b, read[2], read[1]);
    products->c = tidied(products->c, read[0], read[1]);
    if (read[0] > 1 && read[1] > 1 && products->c.row != 1) swap_factors(products);
    products->is_square = products->m == products->n && products->m > 1 && products->a.row == products->b.column &&
                          products->a.column == products->b.row;
    for (int axis = 0; axis < products->stack.rank; axis++) {
        const Index *along = products->stack.axes[axis].stride;
        products->is_square = products->is_square && along[FIRST] == along[SECOND];
    }
    return true;
}

/* Whether every matrix can be addressed, and what is written lies in a result of this form or, where the result is
 * given later, in no place twice. Notes what the kernel reads and writes. */
static bool reaches_read(const Products *products, const ArrayForm *result, Operand operands[ROLES]) {
    const Role left = products->left, right = left == FIRST ? SECOND : FIRST;
    Group matrix = group_empty(), inner = group_empty();
    GroupAxis m = {products->m, {[RESULT] = products->c.row}}, n = {products->n, {[RESULT] = products->c.column}};
    GroupAxis k = {products->k, {0}};
    m.stride[left] = products->a.row;
    n.stride[right] = products->b.column;
    k.stride[left] = products->a.column;
    k.stride[right] = products->b.row;
    if (group_extend(&matrix, m) < 0 || group_extend(&matrix, n) < 0 || group_extend(&inner, k) < 0) return false;
    const Group *const groups[] = {&products->stack, &matrix, &inner};
    for (int role = 0; role < ROLES; role++)
        operands[role] = (Operand){products->type, groups_reach(groups, 3, (Role)role), role == RESULT};
    return result == NULL ? groups_lie_apart(groups) : groups_make_result(groups, 2, result->size);
}

static PyObject *bind_products(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *type, *shape, *extents, *stack, *steps[3];
    int conjugated = -1, without_transpose = 0;
    if (!PyArg_ParseTuple(arguments, "UOOOOOO|ip:bind_products", &type, &shape, &extents, &stack, &steps[0], &steps[1],
                          &steps[2], &conjugated, &without_transpose))
        return NULL;
    if (conjugated < -1 || conjugated > SECOND)
        return PyErr_Format(PyExc_ValueError, "expected an operand, 0 or 1, or -1, found %d", conjugated);
    if (blas_table() == NULL) return PyErr_Format(PyExc_RuntimeError, "no BLAS library has been opened");
    ProductsPlan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) return PyErr_NoMemory();
    const bool into = shape == Py_None;
    Operand operands[ROLES];
    if (!products_read(&plan->products, type, extents, stack, steps) ||
        (!into && array_form_read(&plan->result, shape, type) < 0) ||
        !reaches_read(&plan->products, into ? NULL : &plan->result, operands)) {
        free(plan);
        return NULL;
    }
    if (conjugated >= 0 && !products_conjugate(&plan->products, (Role)conjugated, without_transpose)) {
        free(plan);
        Py_RETURN_NONE;
    }
    if (into) return kernel_with_operands(kernel_new("contract_products", call_into, plan, free), operands, 3);
    const double nanoseconds = WORTH_NO_GIL / WORTH_RELEASING_THE_GIL * products_work(&plan->products);
    PyObject *kernel = kernel_new("contract_products", kernel_call, plan, free);
    return kernel_with_operands(kernel_computes(kernel, compute, &plan->result, nanoseconds), operands, 2);
}

PyMethodDef products_functions[] = {
    {"bind_products", bind_products, METH_VARARGS,
     "A kernel of a stack of matrix products that BLAS computes; None if it cannot read that operand conjugated."},
    {NULL, NULL, 0, NULL},
};
