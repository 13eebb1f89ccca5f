/* Operations of several results whose binding is known: look up, run, wrap each, as tensor_runtime.dispatch.call does, in a
 * tuple or a named tuple of a class that is given.
 */
#include "calls/call.h"

/* A tuple of a class, or an instance of a subclass that has nothing beside its items. */
static PyObject *tuple_of(PyTypeObject *kind, Py_ssize_t count) {
    if (kind == &PyTuple_Type) return PyTuple_New(count);
    PyObject *tuple = kind->tp_alloc(kind, count);
#if PY_VERSION_HEX >= 0x030E0000
    if (tuple) ((PyTupleObject *)tuple)->ob_hash = -1;
#endif
    return tuple;
}

/* What a kernel returned, each array wrapped with its form; takes the reference to arrays, which may be NULL with an
 * exception set. The forms are a tuple. */
static PyObject *wrap_each(const Call *self, PyTypeObject *kind, PyObject *forms, PyObject *arrays) {
    PyObject *listed = arrays ? PySequence_Fast(arrays, "a kernel of several results returns a tuple of arrays") : NULL;
    Py_XDECREF(arrays);
    if (!listed) return NULL;
    const Py_ssize_t count = PyTuple_GET_SIZE(forms), found = PySequence_Fast_GET_SIZE(listed);
    PyObject *results = tuple_of(kind, count < found ? count : found);
    for (Py_ssize_t i = 0; results && i < PyTuple_GET_SIZE(results); i++) {
        PyObject *tensor = call_wrap(self, self->tensor, Py_NewRef(PyTuple_GET_ITEM(forms, i)),
                                     Py_NewRef(PySequence_Fast_GET_ITEM(listed, i)));
        if (tensor) PyTuple_SET_ITEM(results, i, tensor);
        else Py_CLEAR(results);
    }
    Py_DECREF(listed);
    return results;
}

/* Runs a binding, to which the reference is taken; the place before the arrays is for who is called. */
static PyObject *run(const Call *self, PyObject *spec, PyTypeObject *kind, PyObject *binding, PyObject **arrays,
                     Py_ssize_t count) {
    PyObject *forms = PyTuple_GET_ITEM(binding, 1);
    PyObject *found = PyObject_Vectorcall(PyTuple_GET_ITEM(binding, 0), arrays + 1,
                                          (size_t)count | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    PyObject *results = found ? wrap_each(self, kind, forms, found) : NULL;
    if (!found) call_translate(self, spec, forms);
    Py_DECREF(binding);
    return results;
}

/* The binding of forms and params, a new reference; NULL, without an exception, where there is none. */
static PyObject *binding_of(const Call *self, PyObject *spec, PyObject *key) {
    PyObject *binding = key ? call_entry(*call_slot(spec, self->bindings_at), key) : NULL;
    PyErr_Clear();
    return binding && PyTuple_Check(PyTuple_GET_ITEM(binding, 1)) ? Py_NewRef(binding) : NULL;
}

/* The class of the tuple: the argument of this number, where it is given. */
static PyTypeObject *kind_of(PyObject *const *arguments, Py_ssize_t count, Py_ssize_t number) {
    if (count == number) return &PyTuple_Type;
    PyObject *kind = count == number + 1 ? arguments[number] : NULL;
    return kind && PyType_Check(kind) && PyType_FastSubclass((PyTypeObject *)kind, Py_TPFLAGS_TUPLE_SUBCLASS)
               ? (PyTypeObject *)kind
               : NULL;
}

/* execute_parts(spec, a, params, kind=tuple) */
CALL(call_results) {
    const Call *self = (Call *)object;
    PyTypeObject *kind = kind_of(arguments, PyVectorcall_NARGS(flagged_count), 3);
    PyObject *form, *array;
    if (names || !kind || !PyObject_TypeCheck(arguments[0], self->spec) ||
        !call_parts(self, arguments[1], &form, &array))
        return call_function(self, arguments, flagged_count, names);
    PyObject *key = PyTuple_Pack(2, form, arguments[2]);
    PyObject *binding = binding_of(self, arguments[0], key);
    Py_XDECREF(key);
    if (!binding) return call_function(self, arguments, flagged_count, names);
    PyObject *arrays[2] = {NULL, Py_NewRef(array)};
    PyObject *results = run(self, arguments[0], kind, binding, arrays, 1);
    Py_DECREF(array);
    return results;
}

/* execute_many(spec, operands, params, kind=tuple): a list or tuple of tensors. */
CALL(call_results_of_several) {
    const Call *self = (Call *)object;
    PyTypeObject *kind = kind_of(arguments, PyVectorcall_NARGS(flagged_count), 3);
    if (names || !kind || !PyObject_TypeCheck(arguments[0], self->spec))
        return call_function(self, arguments, flagged_count, names);
    Several several;
    call_read_several(self, arguments[1], arguments[2], &several);
    PyObject *binding = binding_of(self, arguments[0], several.key), *results = NULL;
    if (binding) results = run(self, arguments[0], kind, binding, several.arrays, several.count);
    call_let_go(&several);
    return binding ? results : call_function(self, arguments, flagged_count, names);
}
