/* The type of kernels: how they are made, called and freed. */
#include "core/kernel.h"

#include <stdatomic.h>
#include <structmember.h>
#include <stdlib.h>
#include <string.h>

static atomic_bool checking;

void kernel_check_calls(bool on) { atomic_store_explicit(&checking, on, memory_order_relaxed); }

PyObject *kernel_new(const char *name, vectorcallfunc call, void *plan, void (*release)(void *plan)) {
    Kernel *kernel = PyObject_New(Kernel, &Kernel_Type);
    if (kernel == NULL) {
        release(plan);
        return NULL;
    }
    kernel->call = call;
    kernel->name = name;
    kernel->plan = plan;
    kernel->release = release;
    kernel->operands = NULL;
    kernel->operand_count = 0;
    kernel->more_bytes = 0;
    kernel->compute = NULL;
    kernel->result = NULL;
    kernel->pointwise = false;
    kernel->nanoseconds = kernel->shared_from = 0.0;
    kernel->workspace_bytes = 0;
    return (PyObject *)kernel;
}

PyObject *kernel_computes(PyObject *object, Compute *compute, const ArrayForm *result, double nanoseconds) {
    Kernel *kernel = (Kernel *)object;
    if (kernel == NULL) return NULL;
    kernel->compute = compute;
    kernel->result = result;
    kernel->nanoseconds = nanoseconds;
    kernel->shared_from = SHARED_FROM;
    return object;
}

PyObject *kernel_makes(PyObject *object, const ArrayForm *result, bool pointwise) {
    Kernel *kernel = (Kernel *)object;
    if (kernel == NULL) return NULL;
    kernel->result = result;
    kernel->pointwise = pointwise;
    return object;
}

PyObject *kernel_shared_from(PyObject *object, double nanoseconds) {
    if (object != NULL) ((Kernel *)object)->shared_from = nanoseconds;
    return object;
}

PyObject *kernel_with_workspace(PyObject *object, size_t bytes) {
    if (object != NULL) ((Kernel *)object)->workspace_bytes = bytes;
    return object;
}

HOT PyObject *kernel_call(PyObject *self, PyObject *const *arguments, size_t flagged_count, PyObject *names) {
    const Kernel *kernel = (Kernel *)self;
    if (!kernel_takes_arrays(self, flagged_count, names, arguments, kernel->operand_count)) return NULL;
    PyObject *result = array_new(kernel->result);
    if (result == NULL) return NULL;
    const char *operands[MOST_READ];
    for (int i = 0; i < kernel->operand_count; i++) operands[i] = array_data(arguments[i]);
    char *target = array_data(result);
    bool done;
    if (kernel->nanoseconds < WORTH_NO_GIL) {
        done = kernel->compute(kernel->plan, operands, target);
    } else {
        Py_BEGIN_ALLOW_THREADS;
        done = kernel->compute(kernel->plan, operands, target);
        Py_END_ALLOW_THREADS;
    }
    if (done) return result;
    Py_DECREF(result);
    return PyErr_NoMemory();
}

PyObject *kernel_with_tables(PyObject *kernel, long long entries) {
    if (kernel != NULL) ((Kernel *)kernel)->more_bytes += (size_t)entries * sizeof(int64_t);
    return kernel;
}

PyObject *kernel_with_operands(PyObject *object, const Operand *operands, int count) {
    Kernel *kernel = (Kernel *)object;
    if (kernel == NULL) return NULL;
    kernel->operands = malloc((size_t)count * sizeof *operands);
    if (kernel->operands == NULL) {
        Py_DECREF(object);
        return PyErr_NoMemory();
    }
    memcpy(kernel->operands, operands, (size_t)count * sizeof *operands);
    kernel->operand_count = count;
    kernel->more_bytes += (size_t)count * sizeof *operands;
    return object;
}

static bool refuse(const Kernel *kernel, PyObject *error, int place, const char *why) {
    PyErr_Format(error, "the native kernel %s: argument %d %s", kernel->name, place, why);
    return false;
}

static bool fits(const Kernel *kernel, PyObject *argument, int place) {
    if (place >= kernel->operand_count) return true;
    const Operand *operand = kernel->operands + place;
    const Index bytes = ELEMENT_BYTES[operand->type];
    Index low, end;
    array_bounds(argument, &low, &end);
    if (!array_is_of(argument, operand->type))
        return refuse(kernel, PyExc_TypeError, place, "is of another element type than it was bound to");
    if (operand->reach.size > 0 && (operand->reach.low * bytes < low || (operand->reach.high + 1) * bytes > end))
        return refuse(kernel, PyExc_ValueError, place, "has fewer elements than it was bound to");
    if (operand->reach.size > 0 && !array_is_aligned(argument))
        return refuse(kernel, PyExc_ValueError, place, "is not aligned");
    if (operand->written && !array_is_writable(argument))
        return refuse(kernel, PyExc_ValueError, place, "is read-only");
    return true;
}

HOT bool kernel_takes_array(PyObject *self, PyObject *argument, int place) {
    if (!is_array(argument)) {
        PyErr_Format(PyExc_TypeError, "a native kernel takes arrays, found %s", Py_TYPE(argument)->tp_name);
        return false;
    }
    return !atomic_load_explicit(&checking, memory_order_relaxed) || fits((Kernel *)self, argument, place);
}

HOT bool kernel_takes_arrays(PyObject *self, size_t flagged_count, PyObject *names, PyObject *const *arguments,
                             Py_ssize_t expected) {
    if (!kernel_takes(self, flagged_count, names, expected)) return false;
    for (int i = 0; i < expected; i++)
        if (!kernel_takes_array(self, arguments[i], i)) return false;
    return true;
}

HOT bool kernel_takes(PyObject *self, size_t flagged_count, PyObject *names, Py_ssize_t expected) {
    Py_ssize_t count = PyVectorcall_NARGS(flagged_count);
    if (count == expected && (names == NULL || PyTuple_GET_SIZE(names) == 0)) return true;
    PyErr_Format(PyExc_TypeError, "the native kernel %s takes %zd positional arguments", ((Kernel *)self)->name,
                 expected);
    return false;
}

static void destroy(PyObject *self) {
    Kernel *kernel = (Kernel *)self;
    kernel->release(kernel->plan);
    free(kernel->operands);
    PyObject_Free(self);
}

static PyObject *represent(PyObject *self) {
    return PyUnicode_FromFormat("<native kernel %s>", ((Kernel *)self)->name);
}

static PyObject *size_of(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyLong_FromSize_t(sizeof(Kernel) + ((Kernel *)self)->more_bytes);
}

static PyObject *keeps_address(PyObject *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(((Kernel *)self)->call == kernel_call_view);
}

static PyGetSetDef computed[] = {
    {"keeps_address", keeps_address, NULL, "Whether the result begins where the operand does.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
    {"__sizeof__", size_of, METH_NOARGS, "Bytes of the kernel and of its tables."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"workspace_bytes", T_PYSSIZET, offsetof(Kernel, workspace_bytes), READONLY,
     "Bytes that a call takes besides its result."},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject Kernel_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tensor_cpu._native.Kernel",
    .tp_doc = "A kernel bound to the forms of its operands: arrays in, array out.",
    .tp_basicsize = sizeof(Kernel),
    .tp_dealloc = destroy,
    .tp_repr = represent,
    .tp_call = PyVectorcall_Call,
    .tp_methods = methods,
    .tp_members = members,
    .tp_getset = computed,
    .tp_vectorcall_offset = offsetof(Kernel, call),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
};
