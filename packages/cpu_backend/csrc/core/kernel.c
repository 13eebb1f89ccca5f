/* The type of kernels: how they are made, called and freed. */
#include "core/kernel.h"

#include <stdlib.h>

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
    kernel->more_bytes = 0;
    return (PyObject *)kernel;
}

PyObject *kernel_with_tables(PyObject *kernel, long long entries) {
    if (kernel != NULL) ((Kernel *)kernel)->more_bytes = (size_t)entries * sizeof(int64_t);
    return kernel;
}

bool kernel_takes(PyObject *self, size_t flagged_count, PyObject *names, Py_ssize_t expected) {
    Py_ssize_t count = PyVectorcall_NARGS(flagged_count);
    if (count == expected && (names == NULL || PyTuple_GET_SIZE(names) == 0)) return true;
    PyErr_Format(PyExc_TypeError, "the native kernel %s takes %zd positional arguments", ((Kernel *)self)->name,
                 expected);
    return false;
}

static void destroy(PyObject *self) {
    Kernel *kernel = (Kernel *)self;
    kernel->release(kernel->plan);
    PyObject_Free(self);
}

static PyObject *represent(PyObject *self) {
    return PyUnicode_FromFormat("<native kernel %s>", ((Kernel *)self)->name);
}

static PyObject *size_of(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyLong_FromSize_t(sizeof(Kernel) + ((Kernel *)self)->more_bytes);
}

static PyMethodDef methods[] = {
    {"__sizeof__", size_of, METH_NOARGS, "Bytes of the kernel and of its tables."},
    {NULL, NULL, 0, NULL},
};

PyTypeObject Kernel_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tensor_cpu._native.Kernel",
    .tp_doc = "A kernel bound to the forms of its operands: arrays in, array out.",
    .tp_basicsize = sizeof(Kernel),
    .tp_dealloc = destroy,
    .tp_repr = represent,
    .tp_call = PyVectorcall_Call,
    .tp_methods = methods,
    .tp_vectorcall_offset = offsetof(Kernel, call),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
};
