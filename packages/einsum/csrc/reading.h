/* Notations as most are, read with the shapes of their operands. */
#ifndef EINSUM_READING_H
#define EINSUM_READING_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* (text, shapes) -> (inputs, output, names, extents), or None for what is not as usual. */
PyObject *read_plain(PyObject *module, PyObject *const *arguments, Py_ssize_t count);

#endif
