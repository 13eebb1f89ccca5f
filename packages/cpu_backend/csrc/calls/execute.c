/* Operations whose binding is known: look up, run, wrap, as tensor_runtime.dispatch.call does.
 *
 * With out=, the kernel's result is the array of the tensor given, where that is one of just this form. An output that shares memory with an operand is left to Python, which
 * decides exactly, unless it is that operand element for element and the kernel writes no element before it has read it.
 * So is an output of another layout or dtype, which takes a copy.
 */
#include "calls/call.h"

#include "core/kernel.h"

enum { MOST_GIVEN = 3 };

/* How a spec's bindings are looked up: by one form, by two in turn, by a tuple of forms, by forms and params. */
typedef enum { BY_FORM, BY_ROW, BY_FORMS, BY_PARAMS } LookUp;

typedef struct {
    PyObject *keys[MOST_GIVEN + 1];   /* borrowed: forms, or types of numbers; and the params */
    PyObject *arrays[1 + MOST_GIVEN]; /* owned, or numbers; the place before them is for who is called */
    int count;
    PyObject *numbers[MOST_GIVEN]; /* owned: what stands for scalars of NumPy among the operands */
    int made;                      /* of them */
} Given;

HOT bool call_may_write(const Call *self, PyObject *tensor, PyObject *array) {
    return array_is_writable(array) &&
           (Py_IS_TYPE(tensor, self->writable) || (!*call_slot(tensor, self->borrowed) && array_is_owned(array)));
}

/* Whether operands are tensors that are ours, and numbers. */
HOT static bool read_operands(const Call *self, PyObject *const *operands, int count, Given *given) {
    given->count = count;
    given->made = 0;
    for (int i = 0; i < count; i++) {
        PyObject *form, *array;
        if (call_parts(self, operands[i], &form, &array)) {
            given->keys[i] = form;
            given->arrays[1 + i] = array;
        } else {
            PyObject *number = operands[i];
            if (!is_number(number)) {
                number = scalar_number(number);
                if (!number) return false;
                given->numbers[given->made++] = number;
            }
            given->keys[i] = (PyObject *)Py_TYPE(number);
            given->arrays[1 + i] = number;
        }
    }
    return true;
}

static inline void let_go(Given *given) {
    while (given->made) Py_DECREF(given->numbers[--given->made]);
}

HOT PyObject *call_entry(PyObject *dictionary, PyObject *key) {
    PyObject *entry = dictionary && PyDict_CheckExact(dictionary) ? PyDict_GetItemWithError(dictionary, key) : NULL;
    if (!entry) PyErr_Clear();
    return entry;
}

/* The binding, a new reference; NULL, without an exception, where there is none. */
HOT static PyObject *find_binding(const Call *self, PyObject *spec, const Given *given, LookUp look_up) {
    PyObject *found = *call_slot(spec, self->bindings_at), *binding;
    if (look_up == BY_FORM) {
        binding = call_entry(found, given->keys[0]);
    } else if (look_up == BY_ROW) {
        binding = call_entry(call_entry(found, given->keys[0]), given->keys[1]);
    } else {
        const int count = given->count + (look_up == BY_PARAMS);
        PyObject *key = PyTuple_New(count);
        if (!key) {
            PyErr_Clear();
            return NULL;
        }
        for (int i = 0; i < count; i++) PyTuple_SET_ITEM(key, i, Py_NewRef(given->keys[i]));
        binding = Py_XNewRef(call_entry(found, key));
        Py_DECREF(key);
        return binding;
    }
    return Py_XNewRef(binding);
}

/* Whether a number becomes an element of any type in the kernel itself, which runs no Python then. */
static inline bool is_plain(PyObject *number) {
    Index value;
    return PyFloat_CheckExact(number) || (exact_int(number, &value) && magnitude(value) <= (Index)1 << 24);
}

/* Whether the kernel may write its result to an array of its result's form while these operands are read. */
HOT static bool is_apart(PyObject *const *keys, PyObject *const *operands, Py_ssize_t count, const Kernel *kernel,
                         PyObject *form, PyObject *array) {
    const Index bytes = (Index)kernel->result->bytes;
    const char *target = array_data(array);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *operand = operands[i];
        if (PyType_Check(keys[i])) {
            if (!is_plain(operand)) return false;
            continue;
        }
        if (keys[i] == form) { /* both reach equally far */
            const Index distance = target - array_data(operand);
            if (distance == 0 ? !kernel->pointwise : magnitude(distance) < bytes) return false;
            continue;
        }
        Index first, behind;
        array_bounds(operand, &first, &behind);
        if (target < array_data(operand) + behind && array_data(operand) + first < target + bytes) return false;
    }
    return true;
}

/* The result of a binding in the array given; false, perhaps with an exception set, where it did not get there. The
 * operands, of so many forms or types of numbers, stay the caller's; the place before them is for who is called. */
HOT static bool compute_into(PyObject *const *keys, PyObject **operands, Py_ssize_t count, PyObject *binding,
                             PyObject *form, PyObject *array) {
    if (!PyTuple_CheckExact(binding) || PyTuple_GET_SIZE(binding) != 2 || PyTuple_GET_ITEM(binding, 1) != form)
        return false;
    PyObject *callable = PyTuple_GET_ITEM(binding, 0);
    const Kernel *kernel = (Kernel *)callable;
    if (!Py_IS_TYPE(callable, &Kernel_Type) || !kernel->result || !is_apart(keys, operands, count, kernel, form, array))
        return false;
    for (Py_ssize_t i = 0; i < count; i++) Py_INCREF(operands[i]);
    (void)array_target(kernel->result, array);
    PyObject *result = kernel->call(callable, operands, (size_t)count | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    if (array_target(NULL, NULL) && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception))
        PyErr_Clear(); /* nothing was computed, and Python will find out why */
    for (Py_ssize_t i = 0; i < count; i++) Py_DECREF(operands[i]);
    const bool there = result == array;
    Py_XDECREF(result);
    return there;
}

static PyObject *take_raised(void) {
#if PY_VERSION_HEX >= 0x030C0000
    return PyErr_GetRaisedException();
#else
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    if (traceback) PyException_SetTraceback(error, traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    return error;
#endif
}

void call_translate(const Call *self, PyObject *spec, PyObject *form) {
    if (!PyErr_ExceptionMatches(PyExc_Exception)) return;
    PyObject *error = take_raised(), *handled = PyErr_GetHandledException();
    PyErr_SetHandledException(error);
    PyObject *name = *call_slot(spec, self->name_at);
    PyObject *returned = PyObject_CallFunctionObjArgs(self->fail, name ? name : Py_None, error, form, NULL);
    PyErr_SetHandledException(handled);
    if (returned) PyErr_SetString(PyExc_SystemError, "a kernel's error was not raised again");
    Py_XDECREF(returned);
    Py_XDECREF(handled);
    Py_DECREF(error);
}

/* Calls a kernel with a free place before its arguments; a native one without a step between. */
static inline PyObject *call_kernel(PyObject *kernel, PyObject *const *arguments, size_t count) {
    const vectorcallfunc call = Py_IS_TYPE(kernel, &Kernel_Type) ? ((Kernel *)kernel)->call : PyObject_Vectorcall;
    return call(kernel, arguments, count | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
}

/* The tensor that a binding makes, which is owned by nobody meanwhile but the caller; NULL with an exception set. */
HOT static PyObject *compute(const Call *self, PyObject *spec, PyObject *binding, const Given *given) {
    PyObject *arrays[1 + MOST_GIVEN], *form = PyTuple_GET_ITEM(binding, 1);
    for (int i = 1; i <= given->count; i++) arrays[i] = Py_NewRef(given->arrays[i]);
    PyObject *array = call_kernel(PyTuple_GET_ITEM(binding, 0), arrays + 1, (size_t)given->count);
    for (int i = 1; i <= given->count; i++) Py_DECREF(arrays[i]);
    const bool shares = *call_slot(spec, self->shares_at) == Py_True;
    if (array) return (shares ? call_wrap_borrowed : call_wrap)(self, self->tensor, Py_NewRef(form), array);
    call_translate(self, spec, form);
    return NULL;
}

/* The result of an operation in the tensor given; false, perhaps with an exception set, where it did not get there. */
HOT static bool fill(const Call *self, PyObject *spec, PyObject *out, Given *given, LookUp look_up) {
    PyObject *form, *array;
    if (!call_parts(self, out, &form, &array) || !call_may_write(self, out, array)) return false;
    PyObject *binding = find_binding(self, spec, given, look_up);
    if (!binding) return false;
    Py_INCREF(form);
    Py_INCREF(array);
    const bool there = compute_into(given->keys, given->arrays + 1, given->count, binding, form, array);
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_MemoryError)) call_translate(self, spec, form);
    Py_DECREF(binding);
    Py_DECREF(array);
    Py_DECREF(form);
    return there;
}

/* The result where it is made here; NULL, perhaps with an exception set, where it is not. */
HOT static PyObject *executed(const Call *self, PyObject *const *arguments, const Given *given, LookUp look_up) {
    PyObject *binding = find_binding(self, arguments[0], given, look_up);
    PyObject *result = binding ? compute(self, arguments[0], binding, given) : NULL;
    Py_XDECREF(binding);
    return result;
}

/* name(spec, *operands, out=None), of so many operands, or name(spec, *operands, params, out=None) */
HOT static PyObject *execute(PyObject *object, PyObject *const *arguments, size_t flagged_count, PyObject *names,
                             LookUp look_up, int operands) {
    const Call *self = (Call *)object;
    const Py_ssize_t count = PyVectorcall_NARGS(flagged_count), least = 1 + operands + (look_up == BY_PARAMS);
    Given given;
    PyObject *result = NULL;
    if (names || (count != least && count != least + 1) || !PyObject_TypeCheck(arguments[0], self->spec))
        return call_function(self, arguments, flagged_count, names);
    if (read_operands(self, arguments + 1, operands, &given)) {
        if (look_up == BY_PARAMS) given.keys[operands] = arguments[1 + operands];
        if (count == least || arguments[least] == Py_None) result = executed(self, arguments, &given, look_up);
        else if (fill(self, arguments[0], arguments[least], &given, look_up)) result = Py_NewRef(arguments[least]);
    }
    let_go(&given);
    return result || PyErr_Occurred() ? result : call_function(self, arguments, flagged_count, NULL);
}

void call_read_several(const Call *self, PyObject *operands, PyObject *params, Several *several) {
    several->key = NULL;
    several->count = 0;
    if (!PyList_CheckExact(operands) && !PyTuple_CheckExact(operands)) return;
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(operands);
    if (count <= MOST_SEVERAL) several->key = PyTuple_New(count + 1);
    if (!several->key) {
        PyErr_Clear();
        return;
    }
    for (PyObject *form, *array; several->count < count; several->count++) {
        if (!call_parts(self, PySequence_Fast_ITEMS(operands)[several->count], &form, &array)) {
            Py_CLEAR(several->key);
            return;
        }
        PyTuple_SET_ITEM(several->key, several->count, Py_NewRef(form));
        several->arrays[1 + several->count] = Py_NewRef(array);
    }
    PyTuple_SET_ITEM(several->key, count, Py_NewRef(params));
}

void call_let_go(Several *several) {
    while (several->count) Py_DECREF(several->arrays[several->count--]);
    Py_CLEAR(several->key);
}

/* execute_several(spec, operands, params, *further): a list or tuple of tensors, and what else the kernel is given. */
CALL(call_several) {
    const Call *self = (Call *)object;
    Several several;
    const Py_ssize_t further = PyVectorcall_NARGS(flagged_count) - 3;
    if (names || further < 0 || further > MOST_FURTHER || !PyObject_TypeCheck(arguments[0], self->spec))
        return call_function(self, arguments, flagged_count, names);
    call_read_several(self, arguments[1], arguments[2], &several);
    PyObject *binding = several.key ? call_entry(*call_slot(arguments[0], self->bindings_at), several.key) : NULL;
    PyErr_Clear();
    if (!binding) {
        call_let_go(&several);
        return call_function(self, arguments, flagged_count, names);
    }
    Py_INCREF(binding);
    PyObject *form = PyTuple_GET_ITEM(binding, 1);
    for (Py_ssize_t i = 0; i < further; i++)
        several.arrays[1 + several.count + i] = arguments[3 + i]; /* the caller's */
    PyObject *array = PyObject_Vectorcall(PyTuple_GET_ITEM(binding, 0), several.arrays + 1,
                                          (size_t)(several.count + further) | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    PyObject *result = array ? call_wrap(self, self->tensor, Py_NewRef(form), array) : NULL;
    if (!array) call_translate(self, arguments[0], form);
    call_let_go(&several);
    Py_DECREF(binding);
    return result;
}

/* The result of any number of tensors in the tensor given, by a binding, or by what a spec has for the tensors and params;
 * false, perhaps with an exception set, where it did not get there. */
static bool fill_of_several(const Call *self, PyObject *out, PyObject *operands, PyObject *binding, PyObject *spec,
                            PyObject *params) {
    Several several;
    PyObject *form, *array;
    bool there = false;
    if (!call_parts(self, out, &form, &array) || !call_may_write(self, out, array)) return false;
    Py_INCREF(form);
    Py_INCREF(array);
    call_read_several(self, operands, params, &several);
    if (several.key && !binding) binding = call_entry(*call_slot(spec, self->bindings_at), several.key);
    PyErr_Clear();
    if (several.key && binding) {
        Py_INCREF(binding);
        there =
            compute_into(&PyTuple_GET_ITEM(several.key, 0), several.arrays + 1, several.count, binding, form, array);
        Py_DECREF(binding);
    }
    call_let_go(&several);
    Py_DECREF(array);
    Py_DECREF(form);
    return there;
}

/* several_into(spec, out, operands, params) */
CALL(call_several_into) {
    const Call *self = (Call *)object;
    if (!names && PyVectorcall_NARGS(flagged_count) == 4 && PyObject_TypeCheck(arguments[0], self->spec)) {
        if (fill_of_several(self, arguments[1], arguments[2], NULL, arguments[0], arguments[3]))
            return Py_NewRef(arguments[1]);
        if (PyErr_Occurred()) return NULL;
    }
    return call_function(self, arguments, flagged_count, names);
}

/* bound_into(binding, out, operands) */
CALL(call_bound_into) {
    const Call *self = (Call *)object;
    if (!names && PyVectorcall_NARGS(flagged_count) == 3) {
        if (fill_of_several(self, arguments[1], arguments[2], arguments[0], NULL, Py_None)) Py_RETURN_TRUE;
        if (PyErr_Occurred()) return NULL;
    }
    return call_function(self, arguments, flagged_count, names);
}

/* Whether no byte that the array reaches is one that an operand reaches. */
static bool shares_nothing(PyObject *array, PyObject *const *operands, Py_ssize_t count) {
    Index first, behind, low, high;
    array_bounds(array, &low, &high);
    for (Py_ssize_t i = 0; i < count; i++) {
        array_bounds(operands[i], &first, &behind);
        if (array_data(array) + low < array_data(operands[i]) + behind &&
            array_data(operands[i]) + first < array_data(array) + high)
            return false;
    }
    return true;
}

/* is_free(out, operands) */
CALL(call_is_free) {
    const Call *self = (Call *)object;
    PyObject *form, *array;
    Several several;
    if (names || PyVectorcall_NARGS(flagged_count) != 2 || !call_parts(self, arguments[0], &form, &array) ||
        !call_may_write(self, arguments[0], array))
        return call_function(self, arguments, flagged_count, names);
    call_read_several(self, arguments[1], Py_None, &several);
    const bool is_free = several.key && shares_nothing(array, several.arrays + 1, several.count);
    call_let_go(&several);
    PyErr_Clear();
    return is_free ? Py_NewRef(Py_True) : call_function(self, arguments, flagged_count, names);
}

/* execute_unary(spec, a, out=None) */
HOT CALL(call_unary) { return execute(object, arguments, flagged_count, names, BY_FORM, 1); }

/* execute_binary(spec, a, b, out=None); execute_mixed(spec, a, b) */
HOT CALL(call_binary) { return execute(object, arguments, flagged_count, names, BY_ROW, 2); }

/* execute_ternary(spec, a, b, c, out=None) */
HOT CALL(call_ternary) { return execute(object, arguments, flagged_count, names, BY_FORMS, 3); }

/* execute_with_params(spec, a, params, out=None) */
HOT CALL(call_with_params) { return execute(object, arguments, flagged_count, names, BY_PARAMS, 1); }

/* execute_pair(spec, a, b, params, out=None) */
HOT CALL(call_pair) { return execute(object, arguments, flagged_count, names, BY_PARAMS, 2); }

/* name(spec, out, *operands), or name(spec, out, params, *operands) */
HOT static PyObject *into(PyObject *object, PyObject *const *arguments, size_t flagged_count, PyObject *names,
                          LookUp look_up, Py_ssize_t least, Py_ssize_t most) {
    const Call *self = (Call *)object;
    const Py_ssize_t first = look_up == BY_PARAMS ? 3 : 2, count = PyVectorcall_NARGS(flagged_count) - first;
    Given given;
    bool there = false;
    if (names || count < least || count > most || !PyObject_TypeCheck(arguments[0], self->spec))
        return call_function(self, arguments, flagged_count, names);
    if (read_operands(self, arguments + first, (int)count, &given)) {
        if (look_up == BY_PARAMS) given.keys[count] = arguments[2];
        there = fill(self, arguments[0], arguments[1], &given, look_up);
    }
    let_go(&given);
    if (there) return Py_NewRef(arguments[1]);
    return PyErr_Occurred() ? NULL : call_function(self, arguments, flagged_count, NULL);
}

/* unary_into(spec, out, a) */
HOT CALL(call_unary_into) { return into(object, arguments, flagged_count, names, BY_FORM, 1, 1); }

/* binary_into(spec, out, a, b) */
HOT CALL(call_binary_into) { return into(object, arguments, flagged_count, names, BY_ROW, 2, 2); }

/* ternary_into(spec, out, a, b, c) */
HOT CALL(call_ternary_into) { return into(object, arguments, flagged_count, names, BY_FORMS, 3, 3); }

/* params_into(spec, out, params, *operands), one of them or two */
HOT CALL(call_params_into) { return into(object, arguments, flagged_count, names, BY_PARAMS, 1, 2); }
