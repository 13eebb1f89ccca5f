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
/* Whether its elements lie one behind the other, the last axis being the fastest. */
static inline bool array_is_gapless(PyObject *array) { return PyArray_IS_C_CONTIGUOUS((PyArrayObject *)array); }

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

/* The next array_new() of this very form, in this thread, gives this array, which has it; NULL for both ends that. Returns
 * whether the former one was still waiting. */
bool array_target(const ArrayForm *form, PyObject *array);
/* Whether that is what array_new() gives for this form now. */
bool array_is_given(const ArrayForm *form);

/* Elements of an array. */
static inline Index array_size(PyObject *array) {
    Index size = 1;
    for (int axis = 0; axis < PyArray_NDIM((PyArrayObject *)array); axis++)
        size *= PyArray_DIM((PyArrayObject *)array, axis);
    return size;
}

/* Whether it is all of the array that owns its memory, NumPy's or a cached buffer. */
bool array_is_owned(PyObject *array);

/* Bytes of each. */
Index array_item_bytes(PyObject *array);

/* The element type of an array in the machine's order of bytes, aligned; -1 for another. */
int array_element_type(PyObject *array);

/* A view of an array with these axes, in bytes, that begins so many bytes from its first element; NULL with an
 * exception set. Without strides it has no gaps. It is as writable as the array. */
PyObject *array_view(PyObject *array, int rank, const npy_intp *shape, const npy_intp *strides, Index offset_bytes);

/* Puts the lines of a writable array along an axis in order, by NumPy's fastest method; -1 with an exception set. It lets
 * the GIL go by itself. */
int array_sort(PyObject *array, int axis);

/* The value of an integer scalar of NumPy, of no subclass; false, without an exception, for anything else and beyond 63
 * bits. */
bool scalar_index(PyObject *object, Index *value);
/* The Python number that a scalar of NumPy equals, as tensor_core.foreign.number_of has it; NULL, without an exception, for
 * anything else and for scalars of rare types. */
PyObject *scalar_number(PyObject *object);
/* The element type of a scalar of NumPy; -1 for anything else. */
int scalar_element_type(PyObject *object);

/* The view with all axes reversed. */
PyObject *array_reversed(PyObject *array);

/* Nobody writes through this array from here on. */
static inline void array_refuse_writing(PyObject *array) {
    PyArray_CLEARFLAGS((PyArrayObject *)array, NPY_ARRAY_WRITEABLE);
}

/* Makes NumPy allocate the data of arrays in cached buffers, in the present context; arrays made before are as
 * they were. */
int arrays_use_caching_allocator(void);

int arrays_import(void); /* once, when the module is made */

#endif
