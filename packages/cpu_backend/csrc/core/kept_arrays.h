/* Arrays of tensors that died, kept for the next ones: NumPy takes longer to make an array than a small sum takes.
 *
 * Two kinds are kept, few of each: arrays that own a few kilobytes, for results of the same type and shape, and arrays that
 * own nothing, which become other views. What is kept has been given up by everybody, also by weak references and
 * exported buffers, and keeps nothing alive but its own bytes. All of this needs the GIL.
 */
#ifndef TENSOR_CPU_KEPT_ARRAYS_H
#define TENSOR_CPU_KEPT_ARRAYS_H

#include "core/arrays.h"

/* Gives up a reference to an array, which is kept or dies if it was the last one. */
void kept_release(PyObject *array);

/* An array of this form, uninitialised, a new reference; NULL, without an exception, where none is kept. */
PyObject *kept_array(const ArrayForm *form);

/* What array_view() gives, out of an array that was kept; NULL, without an exception, where that cannot be. */
PyObject *kept_view(PyObject *array, int rank, const npy_intp *shape, const npy_intp *strides, Index offset_bytes);

/* Lets all of them go. */
void kept_clear(void);

/* Says what the descriptions of the element types are; once, when the module is made. */
void kept_types(PyArray_Descr *const *types);

#endif
