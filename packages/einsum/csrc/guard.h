/* Functions of Python that take memory: the one place that they come back to where there is no more. */
#ifndef EINSUM_GUARD_H
#define EINSUM_GUARD_H

#include "memory.h"

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* What `make` gives, with memory that is given back afterwards; NULL with MemoryError where there is not enough. No object
 * of Python that `make` owns may be alive when it takes memory, as nobody would let it go. */
PyObject *with_memory(PyObject *(*make)(Memory *memory, void *data), void *data);

#endif
