/* Memory of a path whose labels are cut, for functions of Python. */
#ifndef EINSUM_LIVES_H
#define EINSUM_LIVES_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* (path, sizes, varies, extents, shares, cut) -> bytes alive in every step, or None beyond 64 bits. */
PyObject *lives(PyObject *module, PyObject *args);

/* (path, sizes, varies, extents, shares, limit, labels) -> bytes above the limit with each of the labels cut besides,
 * None where that makes nothing smaller; or None for all beyond 64 bits. */
PyObject *excesses(PyObject *module, PyObject *args);

#endif
