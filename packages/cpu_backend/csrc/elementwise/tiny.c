/* Elementwise kernels for tiny operands without gaps: what a call costs is all there is to it.
 *
 * A ufunc of NumPy spends hundreds of nanoseconds before its first element. These kernels read two
 * addresses, make the result, and run one loop of tiny.h; they keep the GIL. Python numbers become elements here where
 * that is a plain conversion; whatever else is met goes to the fallback, which is NumPy's kernel and knows every error.
 */
#include "elementwise/tiny.h"

#include "core/arguments.h"
#include "core/kernel.h"
#include "core/topics.h"
#include "elementwise/numbers.h"

#include <stdlib.h>

typedef struct {
    ArrayForm result;
    ElementType type;  /* of the operands */
    bool is_number[2]; /* the operand is a Python number */
    Index step[2];     /* 0 for an operand of one element */
    BinaryLoop binary;
    UnaryLoop unary;
    PyObject *fallback;
} TinyPlan;

static void release(void *plan) {
    Py_XDECREF(((TinyPlan *)plan)->fallback);
    free(plan);
}

HOT static PyObject *call_binary(PyObject *self, PyObject *const *arguments, size_t flagged_count, PyObject *names) {
    const TinyPlan *plan = kernel_plan(self);
    if (!kernel_takes(self, flagged_count, names, 2)) return NULL;
    Element numbers[2];
    const void *operands[2];
    for (int i = 0; i < 2; i++) {
        bool readable =
            plan->is_number[i] ? element_from_number(arguments[i], plan->type, &numbers[i]) : is_array(arguments[i]);
        if (!readable) return PyObject_Vectorcall(plan->fallback, arguments, 2, NULL);
        if (!plan->is_number[i] && !kernel_takes_array(self, arguments[i], i)) return NULL;
        operands[i] = plan->is_number[i] ? (void *)&numbers[i] : array_data(arguments[i]);
    }
    PyObject *result = array_new(&plan->result);
    if (result != NULL)
        plan->binary(operands[0], plan->step[0], operands[1], plan->step[1], array_data(result), plan->result.size);
    return result;
}

HOT static PyObject *call_unary(PyObject *self, PyObject *const *arguments, size_t flagged_count, PyObject *names) {
    const TinyPlan *plan = kernel_plan(self);
    if (!kernel_takes_arrays(self, flagged_count, names, arguments, 1)) return NULL;
    PyObject *result = array_new(&plan->result);
    if (result != NULL) plan->unary(array_data(arguments[0]), array_data(result), plan->result.size);
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

/* bind_tiny_binary(name, shape, result dtype, operand dtype, steps, are numbers, fallback); None without such a loop */
static PyObject *bind_tiny_binary(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *name, *shape, *result_type, *type, *fallback;
    Py_ssize_t step_a, step_b;
    int number_a, number_b;
    if (!PyArg_ParseTuple(arguments, "OOOO(nn)(pp)O:bind_tiny_binary", &name, &shape, &result_type, &type, &step_a,
                          &step_b, &number_a, &number_b, &fallback))
        return NULL;
    TinyPlan *plan = plan_new(shape, result_type, type);
    if (plan == NULL) return NULL;
    const int operation = name_read(name, OPERATION_NAMES, OPERATIONS);
    plan->binary = operation < 0 ? NULL : SIMD_CHOICE(tiny_kernels)->binary[plan->type][operation];
    if (plan->binary == NULL) {
        free(plan);
        Py_RETURN_NONE;
    }
    if ((step_a != 0 && step_a != 1) || (step_b != 0 && step_b != 1) ||
        plan->result.type != operation_result((Operation)operation, plan->type)) {
        free(plan);
        return PyErr_Format(PyExc_ValueError,
                            "bind_tiny_binary: %R: steps are 0 or 1, and the result of %R is of another type", name,
                            type);
    }
    plan->step[0] = step_a;
    plan->step[1] = step_b;
    plan->is_number[0] = number_a;
    plan->is_number[1] = number_b;
    plan->fallback = Py_NewRef(fallback);
    const Operand operands[] = {{plan->type, compact_reach(step_a ? plan->result.size : 1), false},
                                {plan->type, compact_reach(step_b ? plan->result.size : 1), false}};
    PyObject *kernel = kernel_new(OPERATION_NAMES[operation], call_binary, plan, release);
    return kernel_with_operands(kernel_makes(kernel, &plan->result, true), operands, 2);
}

/* bind_tiny_unary(name, shape, dtype); None without such a loop */
static PyObject *bind_tiny_unary(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (!arguments_count("bind_tiny_unary", count, 3, "a name, a shape and an element type")) return NULL;
    TinyPlan *plan = plan_new(arguments[1], arguments[2], arguments[2]);
    if (plan == NULL) return NULL;
    const int operation = name_read(arguments[0], OPERATION_NAMES, OPERATIONS);
    plan->unary = operation < 0 ? NULL : SIMD_CHOICE(tiny_kernels)->unary[plan->type][operation];
    if (plan->unary == NULL) {
        free(plan);
        Py_RETURN_NONE;
    }
    const Operand operand = {plan->type, compact_reach(plan->result.size), false};
    PyObject *kernel = kernel_new(OPERATION_NAMES[operation], call_unary, plan, release);
    return kernel_with_operands(kernel_makes(kernel, &plan->result, true), &operand, 1);
}

PyMethodDef tiny_functions[] = {
    {"bind_tiny_binary", bind_tiny_binary, METH_VARARGS, "Kernel of two tiny operands, element by element, or None."},
    {"bind_tiny_unary", (PyCFunction)(void (*)(void))bind_tiny_unary, METH_FASTCALL,
     "Kernel of one tiny operand, element by element, or None."},
    {NULL, NULL, 0, NULL},
};
