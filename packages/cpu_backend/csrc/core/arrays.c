/* The one file that calls NumPy's C API: new arrays, and an allocator for arrays that NumPy itself makes.
 *
 * A large new array lies in a buffer of the caching allocator, held by a capsule that is the array's base: views,
 * exported buffers and DLPack capsules all keep the array, so the buffer goes back when the last of them dies. Small
 * ones are left to NumPy, whose allocator keeps small blocks itself.
 */
#include "core/arrays.h"
#include "core/caching_allocator.h"
#include "core/kept_arrays.h"

#include <complex.h>
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
#include <stdlib.h>
#include <string.h>

PyTypeObject *array_type;

static const int TYPE_NUMBERS[ELEMENT_TYPES] = {NPY_FLOAT32, NPY_FLOAT64, NPY_COMPLEX64, NPY_COMPLEX128,
                                                NPY_INT32,   NPY_INT64,   NPY_BOOL};
static const char *const BUFFER = "tensor_cpu.buffer"; /* name of the capsules */

int arrays_import(void) {
    if (PyArray_ImportNumPyAPI() < 0) return -1;
    array_type = &PyArray_Type;
    PyArray_Descr *types[ELEMENT_TYPES];
    for (int type = 0; type < ELEMENT_TYPES; type++) types[type] = PyArray_DescrFromType(TYPE_NUMBERS[type]);
    kept_types(types); /* of NumPy itself, and there as long as it is */
    return 0;
}

bool array_is_of(PyObject *object, ElementType type) {
    static const char KINDS[ELEMENT_TYPES] = {'f', 'f', 'c', 'c', 'i', 'i', 'b'};
    PyArrayObject *array = (PyArrayObject *)object;
    const char kind = PyArray_DESCR(array)->kind;
    const Index bytes = PyArray_ITEMSIZE(array);
    const bool pairs = kind == 'c' && KINDS[type] == 'f' && bytes == 2 * ELEMENT_BYTES[type];
    return PyArray_ISNOTSWAPPED(array) && (pairs || (kind == KINDS[type] && bytes == ELEMENT_BYTES[type]));
}

bool array_is_aligned(PyObject *array) { return PyArray_ISALIGNED((PyArrayObject *)array); }

HOT void array_bounds(PyObject *object, Index *low, Index *end) {
    PyArrayObject *array = (PyArrayObject *)object;
    *low = 0;
    *end = array_size(object) > 0 ? PyArray_ITEMSIZE(array) : 0;
    for (int axis = 0; *end > 0 && axis < PyArray_NDIM(array); axis++) {
        const Index last = (PyArray_DIM(array, axis) - 1) * PyArray_STRIDE(array, axis);
        *(last < 0 ? low : end) += last;
    }
}

static void return_buffer(PyObject *capsule) {
    size_t bytes = (size_t)(uintptr_t)PyCapsule_GetContext(capsule);
    allocator_release(PyCapsule_GetPointer(capsule, BUFFER), bytes);
}

PyObject *array_in_buffer(const ArrayForm *form, void *buffer) {
    PyArray_Descr *type = PyArray_DescrFromType(TYPE_NUMBERS[form->type]);
    if (type == NULL) {
        allocator_release(buffer, form->bytes);
        return NULL;
    }
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

/* Every small call looks here. A library that is loaded late has room for a few such words where glibc is the C library; then
 * their address is known, and else a function is asked for it. */
#if defined(__GLIBC__)
#define AT_A_KNOWN_PLACE __attribute__((tls_model("initial-exec")))
#else
#define AT_A_KNOWN_PLACE
#endif
static _Thread_local AT_A_KNOWN_PLACE struct {
    const ArrayForm *form;
    PyObject *array;
} target;

HOT bool array_target(const ArrayForm *form, PyObject *array) {
    const bool waiting = target.form != NULL;
    target.form = form;
    target.array = array;
    return waiting;
}

HOT bool array_is_given(const ArrayForm *form) { return target.form == form; }

HOT PyObject *array_new(const ArrayForm *form) {
    if (target.form == form) {
        target.form = NULL;
        return Py_NewRef(target.array);
    }
    PyObject *kept = kept_array(form);
    if (kept) return kept;
    if (form->bytes >= ALLOCATOR_SMALLEST) return array_in_buffer(form, allocator_acquire(form->bytes));
    PyArray_Descr *type = PyArray_DescrFromType(TYPE_NUMBERS[form->type]);
    if (type == NULL) return NULL;
    return PyArray_NewFromDescr(&PyArray_Type, type, form->rank, (const npy_intp *)form->shape, NULL, NULL, 0, NULL);
}

HOT bool array_is_owned(PyObject *array) {
    if (!PyArray_BASE((PyArrayObject *)array)) return PyArray_CHKFLAGS((PyArrayObject *)array, NPY_ARRAY_OWNDATA);
    PyObject *root = array, *base = array;
    for (; base && PyArray_Check(base); base = PyArray_BASE((PyArrayObject *)root)) root = base;
    const char *memory = array_data(root);
    if (base && PyCapsule_IsValid(base, BUFFER)) memory = PyCapsule_GetPointer(base, BUFFER);
    else if (base || !PyArray_CHKFLAGS((PyArrayObject *)root, NPY_ARRAY_OWNDATA)) return false;
    return memory == array_data(array) &&
           PyArray_NBYTES((PyArrayObject *)array) == PyArray_NBYTES((PyArrayObject *)root);
}

Index array_item_bytes(PyObject *array) { return PyArray_ITEMSIZE((PyArrayObject *)array); }

HOT int array_element_type(PyObject *object) {
    PyArrayObject *array = (PyArrayObject *)object;
    if (!PyArray_ISBEHAVED_RO(array)) return -1;
    switch (PyArray_TYPE(array)) {
    case NPY_FLOAT32: return F32;
    case NPY_FLOAT64: return F64;
    case NPY_COMPLEX64: return C32;
    case NPY_COMPLEX128: return C64;
    case NPY_INT32: return I32;
    case NPY_LONG:
    case NPY_LONGLONG: return PyArray_ITEMSIZE(array) == 8 ? I64 : -1;
    case NPY_BOOL: return BOOL;
    default: return -1;
    }
}

HOT PyObject *array_view(PyObject *object, int rank, const npy_intp *shape, const npy_intp *strides,
                         Index offset_bytes) {
    PyObject *kept = kept_view(object, rank, shape, strides, offset_bytes);
    if (kept) return kept;
    PyArrayObject *array = (PyArrayObject *)object;
    PyArray_Descr *type = PyArray_DESCR(array);
    Py_INCREF(type);
    PyObject *view =
        PyArray_NewFromDescr(&PyArray_Type, type, rank, shape, strides, PyArray_BYTES(array) + offset_bytes,
                             PyArray_FLAGS(array) & NPY_ARRAY_WRITEABLE, NULL);
    if (view == NULL) return NULL;
    if (PyArray_SetBaseObject((PyArrayObject *)view, Py_NewRef(object)) < 0) { /* takes the array in any case */
        Py_DECREF(view);
        return NULL;
    }
    return view;
}

int array_sort(PyObject *array, int axis) { return PyArray_Sort((PyArrayObject *)array, axis, NPY_QUICKSORT); }

HOT bool scalar_index(PyObject *object, Index *value) {
#define WHOLE(name)                                                                                                    \
    if (Py_IS_TYPE(object, &Py##name##ArrType_Type))                                                                   \
        return !__builtin_add_overflow(PyArrayScalar_VAL(object, name), 0, value);
    WHOLE(Long)
    WHOLE(LongLong)
    WHOLE(Int)
    WHOLE(Short)
    WHOLE(Byte)
    WHOLE(UByte)
    WHOLE(UShort)
    WHOLE(UInt)
    WHOLE(ULong)
    WHOLE(ULongLong)
#undef WHOLE
    return false;
}

HOT PyObject *scalar_number(PyObject *object) {
    Index whole;
    PyObject *number = NULL;
    if (Py_IS_TYPE(object, &PyDoubleArrType_Type)) {
        number = PyFloat_FromDouble(PyArrayScalar_VAL(object, Double));
    } else if (Py_IS_TYPE(object, &PyFloatArrType_Type)) {
        number = PyFloat_FromDouble(PyArrayScalar_VAL(object, Float));
    } else if (Py_IS_TYPE(object, &PyCDoubleArrType_Type)) {
        const npy_cdouble value = PyArrayScalar_VAL(object, CDouble);
        number = PyComplex_FromDoubles(creal(value), cimag(value));
    } else if (Py_IS_TYPE(object, &PyCFloatArrType_Type)) {
        const npy_cfloat value = PyArrayScalar_VAL(object, CFloat);
        number = PyComplex_FromDoubles(crealf(value), cimagf(value));
    } else if (Py_IS_TYPE(object, &PyBoolArrType_Type)) {
        number = PyBool_FromLong(PyArrayScalar_VAL(object, Bool));
    } else if (scalar_index(object, &whole)) {
        number = PyLong_FromLongLong(whole);
    }
    if (!number) PyErr_Clear();
    return number;
}

int scalar_element_type(PyObject *object) {
    if (Py_IS_TYPE(object, &PyDoubleArrType_Type)) return F64;
    if (Py_IS_TYPE(object, &PyFloatArrType_Type)) return F32;
    if (Py_IS_TYPE(object, &PyCDoubleArrType_Type)) return C64;
    if (Py_IS_TYPE(object, &PyCFloatArrType_Type)) return C32;
    if (Py_IS_TYPE(object, &PyBoolArrType_Type)) return BOOL;
    if (Py_IS_TYPE(object, &PyIntArrType_Type)) return I32;
    if (Py_IS_TYPE(object, &PyLongLongArrType_Type)) return I64;
    return Py_IS_TYPE(object, &PyLongArrType_Type) && sizeof(npy_long) == sizeof(int64_t) ? I64 : -1;
}

PyObject *array_reversed(PyObject *object) {
    PyArrayObject *array = (PyArrayObject *)object;
    npy_intp shape[MAX_RANK], strides[MAX_RANK];
    const int rank = PyArray_NDIM(array);
    for (int axis = 0; axis < rank; axis++) {
        shape[axis] = PyArray_DIM(array, rank - 1 - axis);
        strides[axis] = PyArray_STRIDE(array, rank - 1 - axis);
    }
    return array_view(object, rank, shape, strides, 0);
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
