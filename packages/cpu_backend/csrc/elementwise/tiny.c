/* Kernels for tiny operands without gaps: what a call costs is all there is to it.
 *
 * A ufunc or a matrix product of NumPy spends hundreds of nanoseconds before its first element. These kernels read two
 * addresses, make the result, and run one loop of tiny.h; they keep the GIL. Python numbers become elements here where
 * that is a plain conversion; whatever else is met goes to the fallback, which is NumPy's kernel and knows every error.
 */
#include "elementwise/tiny.h"

#include "core/arrays.h"
#include "core/kernel.h"
#include "core/topics.h"

#include <complex.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    ArrayForm result;
    ElementType type;  /* of the operands */
    bool is_number[2]; /* the operand is a Python number */
    Index step[2];     /* 0 for an operand of one element */
    bool swapped;      /* the first argument of a product is the right operand */
    BinaryLoop binary;
    UnaryLoop unary;
    ProductLoop multiply;
    TinyProduct product;
    PyObject *fallback;
} TinyPlan;

typedef union { /* one element of any type */
    float f32;
    double f64;
    float _Complex c32;
    double _Complex c64;
    int32_t i32;
    int64_t i64;
} Element;

static void release(void *plan) {
    Py_XDECREF(((TinyPlan *)plan)->fallback);
    free(plan);
}

/* Whether the number became an element of the type; false, without an exception, when NumPy has to judge it. */
static bool element_from(PyObject *number, ElementType type, Element *element) {
    if (type == I32 || type == I64) {
        int overflow;
        if (!PyLong_CheckExact(number)) return false;
        long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
        if (overflow || (type == I32 && value != (int32_t)value)) return false;
        if (type == I32) element->i32 = (int32_t)value;
        else element->i64 = value;
        return true;
    }
    if (!PyFloat_CheckExact(number)) return false;
    double value = PyFloat_AS_DOUBLE(number);
    switch (type) {
    case F32: element->f32 = (float)value; return true;
    case F64: element->f64 = value; return true;
    case C32: element->c32 = (float)value; return true;
    case C64: element->c64 = value; return true;
    default: return false;
    }
}

static PyObject *call_binary(PyObject *self, PyObject *const *arguments, size_t flagged_count, PyObject *names) {
    const TinyPlan *plan = kernel_plan(self);
    if (!kernel_takes(self, flagged_count, names, 2)) return NULL;
    Element numbers[2];
    const void *operands[2];
    for (int i = 0; i < 2; i++) {
        bool readable =
            plan->is_number[i] ? element_from(arguments[i], plan->type, &numbers[i]) : is_array(arguments[i]);
        if (!readable) return PyObject_Vectorcall(plan->fallback, arguments, 2, NULL);
        operands[i] = plan->is_number[i] ? (void *)&numbers[i] : array_data(arguments[i]);
    }
    PyObject *result = array_new(&plan->result);
    if (result != NULL)
        plan->binary(operands[0], plan->step[0], operands[1], plan->step[1], array_data(result), plan->result.size);
    return result;
}

static PyObject *call_unary(PyObject *self, PyObject *const *arguments, size_t flagged_count, PyObject *names) {
    const TinyPlan *plan = kernel_plan(self);
    if (!kernel_takes(self, flagged_count, names, 1) || !are_arrays(arguments, 1)) return NULL;
    PyObject *result = array_new(&plan->result);
    if (result != NULL) plan->unary(array_data(arguments[0]), array_data(result), plan->result.size);
    return result;
}

static PyObject *call_product(PyObject *self, PyObject *const *arguments, size_t flagged_count, PyObject *names) {
    const TinyPlan *plan = kernel_plan(self);
    if (!kernel_takes(self, flagged_count, names, 2) || !are_arrays(arguments, 2)) return NULL;
    PyObject *result = array_new(&plan->result);
    if (result != NULL)
        plan->multiply(&plan->product, array_data(arguments[plan->swapped]), array_data(arguments[!plan->swapped]),
                       array_data(result));
    return result;
}

static TinyPlan *plan_new(PyObject *shape, PyObject *result_type, PyObject *type) {
    TinyPlan *plan = calloc(1, sizeof(TinyPlan));
    if (plan == NULL) return (TinyPlan *)PyErr_NoMemory();
    int operand_type = element_type_read(type);
    if (operand_type < 0 || array_form_read(&plan->result, shape, result_type) < 0) {
        free(plan);
        return NULL;
    }
    plan->type = (ElementType)operand_type;
    return plan;
}

static const char *const BINARY_NAMES[BINARY_OPERATIONS] = {"add",     "subtract", "multiply",  "divide", "maximum",
                                                            "minimum", "equal",    "not_equal", "less",   "less_equal"};
static const char *const UNARY_NAMES[UNARY_OPERATIONS] = {"negative", "abs", "sqrt"};

static int find(const char *const *names, int count, const char *name) {
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0) return i;
    return -1;
}

/* bind_tiny_binary(name, shape, result dtype, operand dtype, steps, are numbers, fallback); None without such a loop */
static PyObject *bind_tiny_binary(PyObject *module, PyObject *arguments) {
    (void)module;
    const char *name;
    PyObject *shape, *result_type, *type, *fallback;
    Py_ssize_t step_a, step_b;
    int number_a, number_b;
    if (!PyArg_ParseTuple(arguments, "sOOO(nn)(pp)O", &name, &shape, &result_type, &type, &step_a, &step_b, &number_a,
                          &number_b, &fallback))
        return NULL;
    int operation = find(BINARY_NAMES, BINARY_OPERATIONS, name);
    TinyPlan *plan = plan_new(shape, result_type, type);
    if (plan == NULL) return NULL;
    plan->binary = operation < 0 ? NULL : SIMD_CHOICE(tiny_kernels)->binary[plan->type][operation];
    if (plan->binary == NULL) {
        free(plan);
        Py_RETURN_NONE;
    }
    if ((step_a != 0 && step_a != 1) || (step_b != 0 && step_b != 1) ||
        plan->result.type != (operation >= EQUAL ? BOOL : plan->type)) {
        free(plan);
        return PyErr_Format(PyExc_ValueError, "%s: steps are 0 or 1, and the result of %R is of another type", name,
                            type);
    }
    plan->step[0] = step_a;
    plan->step[1] = step_b;
    plan->is_number[0] = number_a;
    plan->is_number[1] = number_b;
    plan->fallback = Py_NewRef(fallback);
    return kernel_new(BINARY_NAMES[operation], call_binary, plan, release);
}

/* bind_tiny_unary(name, shape, dtype); None without such a loop */
static PyObject *bind_tiny_unary(PyObject *module, PyObject *arguments) {
    (void)module;
    const char *name;
    PyObject *shape, *type;
    if (!PyArg_ParseTuple(arguments, "sOO", &name, &shape, &type)) return NULL;
    int operation = find(UNARY_NAMES, UNARY_OPERATIONS, name);
    TinyPlan *plan = plan_new(shape, type, type);
    if (plan == NULL) return NULL;
    plan->unary = operation < 0 ? NULL : SIMD_CHOICE(tiny_kernels)->unary[plan->type][operation];
    if (plan->unary == NULL) {
        free(plan);
        Py_RETURN_NONE;
    }
    return kernel_new(UNARY_NAMES[operation], call_unary, plan, release);
}

/* Whether rows, columns and batches are at least one each and lead to every element of so many, and to no other. */
static bool writes_result(const TinyProduct *p, Index elements) {
    Index made, step_over, last;
    bool good = p->batches > 0 && p->rows > 0 && p->columns > 0 && p->out_batch >= 0 && p->out_row >= 0;
    good = good && !__builtin_mul_overflow(p->batches, p->rows, &made) &&
           !__builtin_mul_overflow(made, p->columns, &made) && made == elements;
    good = good && !__builtin_mul_overflow(p->batches - 1, p->out_batch, &step_over) &&
           !__builtin_mul_overflow(p->rows - 1, p->out_row, &last) && !__builtin_add_overflow(last, step_over, &last) &&
           !__builtin_add_overflow(last, p->columns, &last);
    return good && last == elements;
}

/* bind_tiny_product(shape, dtype, swapped, twelve numbers in the order of TinyProduct) */
static PyObject *bind_tiny_product(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *shape, *type, *numbers;
    int swapped;
    if (!PyArg_ParseTuple(arguments, "OOpO", &shape, &type, &swapped, &numbers)) return NULL;
    TinyPlan *plan = plan_new(shape, type, type);
    if (plan == NULL) return NULL;
    Index values[12];
    TinyProduct *p = &plan->product;
    Index *const places[12] = {&p->batches,     &p->rows,         &p->columns,    &p->inner,
                               &p->left_batch,  &p->left_row,     &p->left_inner, &p->right_batch,
                               &p->right_inner, &p->right_column, &p->out_batch,  &p->out_row};
    int count = indices_read(values, 12, numbers);
    plan->multiply = SIMD_CHOICE(tiny_kernels)->product[plan->type];
    if (count != 12 || plan->multiply == NULL) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "bind_tiny_product takes twelve numbers and no Bool");
        free(plan);
        return NULL;
    }
    for (int i = 0; i < 12; i++) *places[i] = values[i];
    plan->swapped = swapped;
    if (!writes_result(p, plan->result.size)) {
        free(plan);
        return PyErr_Format(PyExc_ValueError,
                            "bind_tiny_product: %R does not lead to the elements of a result of shape %R", numbers,
                            shape);
    }
    Index panel;
    if (p->inner < 0 || p->columns < 0 || __builtin_mul_overflow(p->inner, p->columns, &panel) || panel > TINY_PANEL) {
        free(plan);
        return PyErr_Format(PyExc_ValueError, "bind_tiny_product takes at most %d elements of the right operand",
                            TINY_PANEL);
    }
    return kernel_new("contract", call_product, plan, release);
}

PyMethodDef tiny_functions[] = {
    {"bind_tiny_binary", bind_tiny_binary, METH_VARARGS, "Kernel of two tiny operands, element by element, or None."},
    {"bind_tiny_unary", bind_tiny_unary, METH_VARARGS, "Kernel of one tiny operand, element by element, or None."},
    {"bind_tiny_product", bind_tiny_product, METH_VARARGS, "Kernel of a tiny contraction."},
    {NULL, NULL, 0, NULL},
};
