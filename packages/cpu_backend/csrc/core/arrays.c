/* The one file that calls NumPy's C API: new arrays, an allocator for arrays that NumPy itself makes, and the reading
 * of shapes, element types and integers that a binder gives.
 *
 * A large new array lies in a buffer of the caching allocator, held by a capsule that is the array's base: views,
 * exported buffers and DLPack capsules all keep the array, so the buffer goes back when the last of them dies. Small
 * ones are left to NumPy, whose allocator keeps small blocks itself.
 */
#include "core/arrays.h"
#include "core/caching_allocator.h"

#include <numpy/arrayobject.h>
#include <stdlib.h>
#include <string.h>

PyTypeObject *array_type;

static const int TYPE_NUMBERS[ELEMENT_TYPES] = {NPY_FLOAT32, NPY_FLOAT64, NPY_COMPLEX64, NPY_COMPLEX128,
                                                NPY_INT32,   NPY_INT64,   NPY_BOOL};
static const char *const TYPE_NAMES[ELEMENT_TYPES] = {"F32", "F64", "C32", "C64", "I32", "I64", "Bool"};
static const char *const BUFFER = "tensor_cpu.buffer"; /* name of the capsules */

int arrays_import(void) {
    if (PyArray_ImportNumPyAPI() < 0) return -1;
    array_type = &PyArray_Type;
    return 0;
}

bool are_arrays(PyObject *const *arguments, Py_ssize_t count) {
    for (Py_ssize_t i = 0; i < count; i++)
        if (!is_array(arguments[i])) {
            PyErr_Format(PyExc_TypeError, "a native kernel takes arrays, found %s", Py_TYPE(arguments[i])->tp_name);
            return false;
        }
    return true;
}

const char *element_type_name(ElementType type) { return TYPE_NAMES[type]; }

int name_read(PyObject *name, const char *const *names, int count) {
    if (!PyUnicode_Check(name)) return -1;
    for (int place = 0; place < count; place++)
        if (PyUnicode_CompareWithASCIIString(name, names[place]) == 0) return place;
    return -1;
}

int element_type_read(PyObject *type_name) {
    int type = name_read(type_name, TYPE_NAMES, ELEMENT_TYPES);
    if (type < 0) PyErr_Format(PyExc_ValueError, "%R is no name of an element type", type_name);
    return type;
}

int indices_read(Index *indices, int room, PyObject *tuple) {
    if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) > room) {
        PyErr_Format(PyExc_ValueError, "expected a tuple of at most %d integers, found %R", room, tuple);
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        indices[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, i));
        if (indices[i] == -1 && PyErr_Occurred()) return -1;
    }
    return (int)PyTuple_GET_SIZE(tuple);
}

int array_form_read(ArrayForm *form, PyObject *shape, PyObject *type_name) {
    Index extents[MAX_RANK];
    int type = element_type_read(type_name);
    int rank = type < 0 ? -1 : indices_read(extents, MAX_RANK, shape);
    if (rank < 0) return -1;
    form->type = (ElementType)type;
    form->rank = rank;
    form->size = 1;
    bool empty = false, too_large = false; /* extents of 0 are left out of the product, as NumPy does */
    for (int axis = 0; axis < rank; axis++) {
        if (extents[axis] < 0) {
            PyErr_Format(PyExc_ValueError, "extents must not be negative, found %R", shape);
            return -1;
        }
        form->shape[axis] = (npy_intp)extents[axis];
        if (extents[axis] == 0) empty = true;
        else too_large |= __builtin_mul_overflow(form->size, extents[axis], &form->size);
    }
    Index bytes;
    if (too_large || __builtin_mul_overflow(form->size, ELEMENT_BYTES[type], &bytes)) {
        PyErr_Format(PyExc_ValueError, "an array of shape %R is larger than any memory", shape);
        return -1;
    }
    if (empty) form->size = bytes = 0;
    form->bytes = (size_t)bytes;
    return 0;
}

static void return_buffer(PyObject *capsule) {
    size_t bytes = (size_t)(uintptr_t)PyCapsule_GetContext(capsule);
    allocator_release(PyCapsule_GetPointer(capsule, BUFFER), bytes);
}

static PyObject *new_in_buffer(PyArray_Descr *type, const ArrayForm *form) {
    void *buffer = allocator_acquire(form->bytes);
    if (buffer == NULL)
        PyErr_Format(PyExc_MemoryError, "unable to allocate %zu bytes for an array of %lld elements", form->bytes,
                     (long long)form->size);
    PyObject *capsule = buffer ? PyCapsule_New(buffer, BUFFER, return_buffer) : NULL;
    if (capsule == NULL) {
        allocator_release(buffer, form->bytes);
        Py_DECREF(type);
        return NULL;
    }
    PyCapsule_SetContext(capsule, (void *)(uintptr_t)form->bytes);
    PyObject *array = PyArray_NewFromDescr(&PyArray_Type, type, form->rank, (const npy_intp *)form->shape, NULL, buffer,
                                           NPY_ARRAY_CARRAY, NULL);
    if (array == NULL) {
        Py_DECREF(capsule);
        return NULL;
    }
    if (PyArray_SetBaseObject((PyArrayObject *)array, capsule) < 0) { /* takes the capsule in any case */
        Py_DECREF(array);
        return NULL;
    }
    return array;
}

PyObject *array_new(const ArrayForm *form) {
    PyArray_Descr *type = PyArray_DescrFromType(TYPE_NUMBERS[form->type]);
    if (type == NULL) return NULL;
    if (form->bytes >= ALLOCATOR_SMALLEST) return new_in_buffer(type, form);
    return PyArray_NewFromDescr(&PyArray_Type, type, form->rank, (const npy_intp *)form->shape, NULL, NULL, 0, NULL);
}

/* NumPy's allocator of array data, for arrays that NumPy's own functions make. NumPy tells the size again when it
 * frees. */

static void *numpy_allocate(void *unused, size_t bytes) {
    (void)unused;
    return bytes >= ALLOCATOR_SMALLEST ? allocator_acquire(bytes) : malloc(bytes);
}

static void *numpy_allocate_zeros(void *unused, size_t count, size_t each) {
    (void)unused;
    size_t bytes;
    if (__builtin_mul_overflow(count, each, &bytes)) return NULL;
    if (bytes < ALLOCATOR_SMALLEST) return calloc(count, each);
    void *buffer = allocator_acquire(bytes);
    return buffer ? memset(buffer, 0, bytes) : NULL;
}

static void numpy_free(void *unused, void *buffer, size_t bytes) {
    (void)unused;
    if (bytes >= ALLOCATOR_SMALLEST) allocator_release(buffer, bytes);
    else free(buffer);
}

/* NumPy does not say how long the buffer was, so it cannot be copied. Refused, then: resize() of an array that was
 * made in such a context, wherever it is called, and what makes arrays there by growing them, such as numpy.fromiter
 * and readers of text. */
static void *numpy_reallocate(void *unused, void *buffer, size_t bytes) {
    (void)unused, (void)buffer, (void)bytes;
    return NULL; /* a MemoryError */
}

static PyDataMem_Handler caching_handler = {
    "tensor_cpu", 1, {NULL, numpy_allocate, numpy_allocate_zeros, numpy_reallocate, numpy_free}};

int arrays_use_caching_allocator(void) {
    PyObject *handler = PyCapsule_New(&caching_handler, "mem_handler", NULL);
    PyObject *former = handler ? PyDataMem_SetHandler(handler) : NULL;
    Py_XDECREF(handler);
    Py_XDECREF(former);
    return former ? 0 : -1;
}
