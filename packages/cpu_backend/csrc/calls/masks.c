/* x[mask], of a line of elements and a line of Bool: how many there are is a value, and the form of the result is looked
 * up by it. */
#include "calls/call.h"
#include "lines/masks.h"

enum { WORTH_RELEASING_THE_GIL = 1 << 14 }; /* elements */

HOT static bool is_line(PyObject *array) {
    return PyArray_NDIM((PyArrayObject *)array) == 1 && PyArray_IS_C_CONTIGUOUS((PyArrayObject *)array) &&
           array_element_type(array) >= 0;
}

static void select_elements(PyObject *array, const uint8_t *mask, PyObject *result) {
    const Select select = SIMD_CHOICE(mask_kernels)->select[__builtin_ctz((unsigned)array_item_bytes(array))];
    select(array_size(array), mask, array_data(array), array_size(result), array_data(result));
}

HOT bool call_is_masked(const Call *self, PyObject *array, PyObject *index, PyObject **mask) {
    PyObject *form;
    return call_parts(self, index, &form, mask) && is_line(array) && is_line(*mask) &&
           array_element_type(*mask) == BOOL && array_size(array) == array_size(*mask);
}

PyObject *call_masked(const Call *self, PyObject *const *arguments, size_t flagged_count, PyObject *form,
                      PyObject *array, PyObject *mask) {
    const uint8_t *truth = (const uint8_t *)array_data(mask);
    const Index count = SIMD_CHOICE(mask_kernels)->count(array_size(mask), truth);
    const ArrayForm made = {.type = (ElementType)array_element_type(array),
                            .rank = 1,
                            .shape = {count},
                            .size = count,
                            .bytes = (size_t)count * (size_t)array_item_bytes(array)};
    Key key;
    key_begin(&key, KEY_CHOSEN, form);
    key_add(&key, count);
    PyObject *found = call_find(self, &key);
    Py_INCREF(form);
    Py_INCREF(array);
    Py_INCREF(mask);
    PyObject *result;
    if (found) {
        PyObject *chosen = array_new(&made);
        if (chosen && array_size(array) <= WORTH_RELEASING_THE_GIL) {
            select_elements(array, truth, chosen);
        } else if (chosen) {
            Py_BEGIN_ALLOW_THREADS select_elements(array, truth, chosen);
            Py_END_ALLOW_THREADS
        }
        result = call_wrap(self, self->tensor, found, chosen);
    } else {
        result = call_learned(self, &key, form, call_function(self, arguments, flagged_count, NULL));
    }
    Py_DECREF(mask);
    Py_DECREF(array);
    Py_DECREF(form);
    return result;
}
