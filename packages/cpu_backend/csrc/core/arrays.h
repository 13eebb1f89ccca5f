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

static inline bool array_is_writable(PyObject *array) { return PyArray_ISWRITEABLE((PyArrayObject *)array); }

/* For checked calls: whether the elements can be read as this type, in the machine's order of bytes, complex ones as
 * pairs of real ones; whether they are aligned; and which bytes the array has, counted from its first logical element:
 * low <= byte < end. */
bool array_is_of(PyObject *array, ElementType type);
bool array_is_aligned(PyObject *array);
void array_bounds(PyObject *array, Index *low, Index *end);

/* Uninitialised, or NULL with a MemoryError set. */
PyObject *array_new(const ArrayForm *form);

/* The same in a buffer that allocator_release() takes back, which is the array's from here on, also when this fails; NULL
 * where memory was short. */
PyObject *array_in_buffer(const ArrayForm *form, void *buffer);

/* Makes NumPy allocate the data of arrays in cached buffers, in the present context; arrays made before are as
 * they were. */
int arrays_use_caching_allocator(void);

int arrays_import(void); /* once, when the module is made */

#endif
