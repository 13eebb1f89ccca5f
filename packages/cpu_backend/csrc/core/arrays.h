/* NumPy arrays, as far as kernels need them: read the address of one, make a new one.
 *
 * arrays.c alone calls NumPy's C API. A kernel knows extents and strides from the forms it was bound to, so it
 * reads nothing but addresses. Large new arrays lie in cached buffers (caching_allocator.h).
 */
#ifndef TENSOR_CPU_ARRAYS_H
#define TENSOR_CPU_ARRAYS_H

#include "core/common.h"

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/ndarraytypes.h>

/* A new array without gaps: what a result is made from. */
typedef struct {
    ElementType type;
    int rank;
    npy_intp shape[MAX_RANK];
    Index size; /* elements */
    size_t bytes;
} ArrayForm;

extern PyTypeObject *array_type; /* numpy.ndarray */

static inline char *array_data(PyObject *array) { return PyArray_BYTES((PyArrayObject *)array); }
static inline bool is_array(PyObject *object) { return PyObject_TypeCheck(object, array_type); }

/* Whether every argument is an array; sets a TypeError otherwise. */
bool are_arrays(PyObject *const *arguments, Py_ssize_t count);

/* Uninitialised, or NULL with a MemoryError set. */
PyObject *array_new(const ArrayForm *form);

/* Fills form from a tuple of extents and the name of an element type, such as "F64"; -1 with an exception set. */
int array_form_read(ArrayForm *form, PyObject *shape, PyObject *type_name);

/* Where a name is in a list of names; -1, and no exception, when it is not there or no string. */
int name_read(PyObject *name, const char *const *names, int count);

/* The element type of a name such as "F64"; -1 with a ValueError set. */
int element_type_read(PyObject *type_name);
const char *element_type_name(ElementType type);

/* Reads a tuple of integers into indices; returns how many, or -1 with an exception set when it holds more than room
 * or anything else. */
int indices_read(Index *indices, int room, PyObject *tuple);

/* Makes NumPy allocate the data of arrays in cached buffers, in the present context; arrays made before are untouched.
 * */
int arrays_use_caching_allocator(void);

int arrays_import(void); /* once, when the module is made */

#endif
