/* The type of functions whose calls with known operands run without a step of Python. */
#ifndef TENSOR_EINSUM_CALLS_H
#define TENSOR_EINSUM_CALLS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Give a module the type CachedCall; -1 with an error set. */
int calls_add_to(PyObject *module);

#endif
