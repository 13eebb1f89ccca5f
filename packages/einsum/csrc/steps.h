/* The steps of a path, built at once. */
#ifndef EINSUM_STEPS_H
#define EINSUM_STEPS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* (Step, inputs, output, names, extents, path, itemsize) -> steps, or None for what is left to Python. */
PyObject *build_steps(PyObject *module, PyObject *args);

#endif
