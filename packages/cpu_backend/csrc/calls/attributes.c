/* Attributes of tensors that their forms have: dtype, shape and the like. */
#include "calls/call.h"

/* What a slot of a tensor's form has, borrowed; NULL, without an exception, for what is no tensor with a form. */
HOT static PyObject *of_form(const Call *self, PyObject *const *arguments, size_t flagged_count, PyObject *names,
                             Py_ssize_t place) {
    if (PyVectorcall_NARGS(flagged_count) != 1 || names || !PyObject_TypeCheck(arguments[0], self->tensor)) return NULL;
    PyObject *form = *call_slot(arguments[0], self->form);
    return form && Py_IS_TYPE(form, self->form_type) ? *call_slot(form, place) : NULL;
}

HOT static PyObject *get(PyObject *object, PyObject *const *arguments, size_t flagged_count, PyObject *names,
                         Py_ssize_t place) {
    PyObject *found = of_form((Call *)object, arguments, flagged_count, names, place);
    return found ? Py_NewRef(found) : call_function((Call *)object, arguments, flagged_count, names);
}

/* dtype(tensor) */
HOT CALL(call_dtype) { return get(object, arguments, flagged_count, names, ((Call *)object)->dtype_at); }

/* shape(tensor) */
HOT CALL(call_shape) { return get(object, arguments, flagged_count, names, ((Call *)object)->shape_at); }

/* strides(tensor) */
CALL(call_strides) { return get(object, arguments, flagged_count, names, ((Call *)object)->strides_at); }

/* placement(tensor) */
CALL(call_placement) { return get(object, arguments, flagged_count, names, ((Call *)object)->placement_at); }

/* size(tensor) */
HOT CALL(call_size) { return get(object, arguments, flagged_count, names, ((Call *)object)->size_at); }

/* rank(tensor) */
HOT CALL(call_rank) {
    PyObject *shape = of_form((Call *)object, arguments, flagged_count, names, ((Call *)object)->shape_at);
    return shape && PyTuple_CheckExact(shape) ? PyLong_FromSsize_t(PyTuple_GET_SIZE(shape))
                                              : call_function((Call *)object, arguments, flagged_count, names);
}

/* len(tensor) */
HOT CALL(call_length) {
    PyObject *shape = of_form((Call *)object, arguments, flagged_count, names, ((Call *)object)->shape_at);
    return shape && PyTuple_CheckExact(shape) && PyTuple_GET_SIZE(shape)
               ? Py_NewRef(PyTuple_GET_ITEM(shape, 0))
               : call_function((Call *)object, arguments, flagged_count, names);
}

/* What Python asks by a name without a method of it: of each name the last call that was made an attribute. */
static struct {
    PyGetSetDef definition;
    PyObject *call, *name, *documentation;
    Py_ssize_t place; /* where a form has the answer; -1 where it is to be made */
} attributes[16];

/* The tensor is one: Python has looked. */
HOT static PyObject *answer(PyObject *tensor, void *number) {
    Call *call = (Call *)attributes[(intptr_t)number].call;
    const Py_ssize_t place = attributes[(intptr_t)number].place;
    PyObject *form = *call_slot(tensor, call->form);
    PyObject *found = place >= 0 && form && Py_IS_TYPE(form, call->form_type) ? *call_slot(form, place) : NULL;
    return found ? Py_NewRef(found) : call->call((PyObject *)call, &tensor, 1, NULL);
}

static Py_ssize_t place_of(const Call *call) {
    return call->call == call_dtype       ? call->dtype_at
           : call->call == call_shape     ? call->shape_at
           : call->call == call_strides   ? call->strides_at
           : call->call == call_placement ? call->placement_at
           : call->call == call_size      ? call->size_at
                                          : -1;
}

PyObject *call_as_attribute(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
    if (count != 2 || !PyUnicode_Check(arguments[0]) || !PyUnicode_Check(arguments[1]))
        return PyErr_Format(PyExc_TypeError, "as_attribute: takes a name and its documentation");
    size_t place = 0;
    for (; place < sizeof attributes / sizeof *attributes; place++)
        if (!attributes[place].name || PyUnicode_Compare(attributes[place].name, arguments[0]) == 0) break;
    const char *name = PyUnicode_AsUTF8(arguments[0]), *documentation = PyUnicode_AsUTF8(arguments[1]);
    if (!name || !documentation) return NULL;
    if (place == sizeof attributes / sizeof *attributes)
        return PyErr_Format(PyExc_ValueError, "as_attribute: too many names");
    if (!attributes[place].name) { /* what descriptors refer to stays */
        attributes[place].name = Py_NewRef(arguments[0]);
        attributes[place].documentation = Py_NewRef(arguments[1]);
        attributes[place].definition = (PyGetSetDef){name, answer, NULL, documentation, (void *)(intptr_t)place};
    }
    Py_XSETREF(attributes[place].call, Py_NewRef(self));
    attributes[place].place = place_of((Call *)self);
    return PyDescr_NewGetSet(((Call *)self)->tensor, &attributes[place].definition);
}
