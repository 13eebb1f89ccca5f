/* The class of tensors, as far as it lies on every way: tensors are made and die here, and answer without a look-up.
 *
 * Dead tensors are kept for the next ones, and so may be their arrays (core/kept_arrays.h). Slots of the class come here
 * at once, where its attributes of the same names are native calls; whoever sets such an attribute to something else has
 * Python set the slot anew. None of this is to be seen from Python, where it takes half as long.
 */
#include "calls/call.h"

#include "core/kept_arrays.h"

enum { MOST_KEPT = 64 };

static struct {
    PyTypeObject *tensor, *writable;
    Py_ssize_t form, array, borrowed;
    PyObject
        *dead[MOST_KEPT]; /* of class tensor, with empty slots, without weak references and a reference to the class */
    int count;
} kept;

static Call *of_index, *of_length, *of_iteration; /* where the slots go; each a reference */

HOT PyObject *call_wrap(const Call *self, PyTypeObject *type, PyObject *form, PyObject *array) {
    PyObject *tensor = NULL;
    if (array && type == kept.tensor && kept.count) {
        tensor = PyObject_Init(kept.dead[--kept.count], type);
        PyObject_GC_Track(tensor);
    } else if (array) {
        tensor = type->tp_alloc(type, 0);
    }
    if (!tensor) {
        Py_DECREF(form);
        Py_XDECREF(array);
        return NULL;
    }
    *call_slot(tensor, self->form) = form;
    *call_slot(tensor, self->array) = array;
    return tensor;
}

HOT PyObject *call_wrap_borrowed(const Call *self, PyTypeObject *type, PyObject *form, PyObject *array) {
    PyObject *tensor = call_wrap(self, type, form, array);
    if (tensor) *call_slot(tensor, self->borrowed) = Py_NewRef(Py_True);
    return tensor;
}

static inline PyObject *taken_from(PyObject *object, Py_ssize_t offset) {
    PyObject *held = *call_slot(object, offset);
    *call_slot(object, offset) = NULL;
    return held;
}

/* Also what the deallocator of a subclass ends with, which Python makes. */
HOT static void destroy(PyObject *tensor) {
    PyTypeObject *type = Py_TYPE(tensor);
    if (type->tp_finalize && PyObject_CallFinalizerFromDealloc(tensor) < 0) return; /* it lives on */
    PyObject_GC_UnTrack(tensor);
    if (*call_slot(tensor, type->tp_weaklistoffset)) PyObject_ClearWeakRefs(tensor);
    PyObject *form = taken_from(tensor, kept.form), *array = taken_from(tensor, kept.array);
    Py_XDECREF(form);
    Py_XDECREF(taken_from(tensor, kept.borrowed));
    if (array) kept_release(array);
    if (type == kept.tensor && kept.count < MOST_KEPT) kept.dead[kept.count++] = tensor;
    else type->tp_free(tensor);
    Py_DECREF(type);
}

/* Whether a class is as Python makes one of these slots, and can be taken over. */
static bool is_plain(PyTypeObject *type) {
    return PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) && PyType_IS_GC(type) && type->tp_weaklistoffset != 0 &&
           type->tp_itemsize == 0 && type->tp_dictoffset == 0;
}

bool call_take_class(const Call *call) {
#if defined(Py_GIL_DISABLED)
    return false;
#endif
    if (kept.tensor == call->tensor) return true;
    if (kept.tensor || !is_plain(call->tensor) || !is_plain(call->writable)) return false;
    kept.tensor = (PyTypeObject *)Py_NewRef(call->tensor);
    kept.writable = (PyTypeObject *)Py_NewRef(call->writable);
    kept.form = call->form;
    kept.array = call->array;
    kept.borrowed = call->borrowed;
    kept.tensor->tp_dealloc = kept.writable->tp_dealloc = destroy;
    return true;
}

HOT static PyObject *subscript(PyObject *tensor, PyObject *index) {
    PyObject *const arguments[] = {tensor, index};
    return of_index->call((PyObject *)of_index, arguments, 2, NULL);
}

HOT static PyObject *iterator(PyObject *tensor) {
    return of_iteration->call((PyObject *)of_iteration, &tensor, 1, NULL);
}

HOT static Py_ssize_t length(PyObject *tensor) {
    PyObject *form, *array;
    if (call_parts(of_length, tensor, &form, &array) && PyArray_NDIM((PyArrayObject *)array) > 0)
        return PyArray_DIM((PyArrayObject *)array, PyArray_NDIM((PyArrayObject *)array) - 1);
    PyObject *number = call_function(of_length, &tensor, 1, NULL);
    const Py_ssize_t found = number ? PyNumber_AsSsize_t(number, PyExc_OverflowError) : -1;
    Py_XDECREF(number);
    return found;
}

PyObject *call_take_slot(PyObject *object, PyObject *unused) {
    (void)unused;
    Call *self = (Call *)object, **place = NULL;
    if (self->call == call_getitem) place = &of_index;
    if (self->call == call_length) place = &of_length;
    if (self->call == call_iterate) place = &of_iteration;
    if (!place || !call_take_class(self)) Py_RETURN_NONE;
    Py_XSETREF(*place, (Call *)Py_NewRef(self));
    PyTypeObject *const classes[] = {self->tensor, self->writable};
    for (int k = 0; k < 2; k++) {
        if (place == &of_index) classes[k]->tp_as_mapping->mp_subscript = subscript;
        if (place == &of_length) {
            classes[k]->tp_as_mapping->mp_length = length;
            classes[k]->tp_as_sequence->sq_length = length;
        }
        if (place == &of_iteration) classes[k]->tp_iter = iterator;
    }
    Py_RETURN_NONE;
}
