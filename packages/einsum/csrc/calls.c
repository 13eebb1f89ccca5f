/* Calls whose kernel is known already, without a step of Python in between: look up, run, wrap. Whatever else there may
 * be to a call (options, numbers among the operands, forms that were never met, mistakes) is left to a function in Python,
 * which does all of this too.
 */
#include "calls.h"

#include <stdbool.h>
#include <structmember.h>

enum { FEW_OPERANDS = 16 }; /* whose arrays lie on the stack meanwhile */

/* What every tensor has: the name, and where it is kept, in bytes from the tensor's beginning. */
typedef struct {
    PyObject *name;
    Py_ssize_t offset;
} Slot;

/* A function that looks like the one in Python, as functools makes it look. */
typedef struct {
    PyObject ob_base;
    vectorcallfunc call;
    PyObject *function; /* in Python: (subject, *operands, **options) */
    PyObject *found;    /* the dictionary of bindings (kernel, form of the result), by what key_of makes */
    PyObject *fail;     /* (error, form of the result): raises what stands for a kernel's error */
    PyTypeObject *tensor;
    Slot form, array;
    PyObject *attributes, *weak_references;
} CachedCall;

static inline PyObject **place(PyObject *tensor, Slot slot) { return (PyObject **)((char *)tensor + slot.offset); }

/* A new reference to what a tensor has in a slot; NULL, perhaps with an error set, for what is no tensor. */
static inline PyObject *part(const CachedCall *self, PyObject *operand, Slot slot) {
    if (Py_IS_TYPE(operand, self->tensor)) return Py_XNewRef(*place(operand, slot));
    if (!PyObject_TypeCheck(operand, self->tensor)) return NULL;
    return PyObject_GetAttr(operand, slot.name); /* a subclass may have its own idea of it */
}

/* Whether a keyword's value is part of a key as it is. True equals 1, so that only text and ints are. */
static inline bool is_plain(PyObject *value) { return PyUnicode_CheckExact(value) || PyLong_CheckExact(value); }

/* The key (subject, *forms), and behind it (names, *values) of keywords; NULL, perhaps with an error set. */
static inline PyObject *key_of(const CachedCall *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
    Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
    PyObject *key = PyTuple_New(count + (named ? 1 + named : 0));
    if (!key) return NULL;
    PyTuple_SET_ITEM(key, 0, Py_NewRef(arguments[0]));
    for (Py_ssize_t i = 1; i < count; i++) {
        PyObject *form = part(self, arguments[i], self->form);
        if (!form) goto none;
        PyTuple_SET_ITEM(key, i, form);
    }
    if (named) PyTuple_SET_ITEM(key, count, Py_NewRef(names));
    for (Py_ssize_t i = 0; i < named; i++) {
        if (!is_plain(arguments[count + i])) goto none;
        PyTuple_SET_ITEM(key, count + 1 + i, Py_NewRef(arguments[count + i]));
    }
    return key;
none:
    Py_DECREF(key);
    return NULL;
}

/* A new reference to a binding; NULL, perhaps with an error set, where there is none. */
static inline PyObject *find(const CachedCall *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
    PyObject *binding = NULL, *key = key_of(self, arguments, count, names);
    if (!key) return NULL;
#if PY_VERSION_HEX >= 0x030D0000
    (void)PyDict_GetItemRef(self->found, key, &binding);
#else
    binding = Py_XNewRef(PyDict_GetItemWithError(self->found, key));
#endif
    Py_DECREF(key);
    return binding;
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

/* Let what a kernel raised become what stands for it, as in a handler of Python's; Ctrl-C and the like stay. */
static void translate(const CachedCall *self, PyObject *form) {
    if (!PyErr_ExceptionMatches(PyExc_Exception)) return;
    PyObject *error = take_raised(), *handled = PyErr_GetHandledException();
    PyErr_SetHandledException(error);
    PyObject *returned = PyObject_CallFunctionObjArgs(self->fail, error, form, NULL);
    PyErr_SetHandledException(handled);
    if (returned) PyErr_SetString(PyExc_SystemError, "a kernel's error was not raised again");
    Py_XDECREF(returned);
    Py_XDECREF(handled);
    Py_DECREF(error);
}

/* The tensor of a form and an array, of which it takes the references. */
static inline PyObject *wrap(const CachedCall *self, PyObject *form, PyObject *array) {
    PyObject *tensor = self->tensor->tp_alloc(self->tensor, 0);
    if (!tensor) {
        Py_DECREF(form);
        Py_DECREF(array);
        return NULL;
    }
    *place(tensor, self->form) = form;
    *place(tensor, self->array) = array;
    return tensor;
}

/* References to the arrays of all operands; false, perhaps with an error set, where one has none. */
static inline bool take_arrays(const CachedCall *self, PyObject *const *operands, Py_ssize_t count, PyObject **arrays) {
    for (Py_ssize_t i = 0; i < count; i++) {
        arrays[i] = part(self, operands[i], self->array);
        if (arrays[i]) continue;
        while (i) Py_DECREF(arrays[--i]);
        return false;
    }
    return true;
}

/* The result of a binding, or NULL with an error set. The place before the arrays is for who is called, for a while. */
static inline PyObject *run(const CachedCall *self, PyObject *binding, PyObject *const *arrays, Py_ssize_t count) {
    PyObject *kernel = PyTuple_GET_ITEM(binding, 0), *form = PyTuple_GET_ITEM(binding, 1);
    PyObject *array = PyObject_Vectorcall(kernel, arrays, (size_t)count | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    if (array) return wrap(self, Py_NewRef(form), array);
    translate(self, form);
    return NULL;
}

static PyObject *call(PyObject *object, PyObject *const *arguments, size_t flagged_count, PyObject *names) {
    CachedCall *self = (CachedCall *)object;
    Py_ssize_t count = PyVectorcall_NARGS(flagged_count);
    if (count >= 2) {
        PyObject *few[1 + FEW_OPERANDS], *binding = find(self, arguments, count, names), *result = NULL;
        PyObject **arrays = count <= 1 + FEW_OPERANDS ? few : PyMem_New(PyObject *, (size_t)count);
        bool ready = arrays && binding && PyTuple_CheckExact(binding) && PyTuple_GET_SIZE(binding) == 2 &&
                     take_arrays(self, arguments + 1, count - 1, arrays + 1);
        if (ready) {
            result = run(self, binding, arrays + 1, count - 1);
            for (Py_ssize_t i = 1; i < count; i++) Py_DECREF(arrays[i]);
        }
        if (arrays != few) PyMem_Free(arrays);
        Py_XDECREF(binding);
        if (ready) return result;
        if (PyErr_Occurred()) { /* comes again in Python, which tells what it is */
            if (!PyErr_ExceptionMatches(PyExc_Exception)) return NULL;
            PyErr_Clear();
        }
    }
    if (self->function) return PyObject_Vectorcall(self->function, arguments, flagged_count, names);
    PyErr_SetString(PyExc_RuntimeError, "called while the interpreter ends");
    return NULL;
}

/* Find out where objects of a type keep what one of their slots has; false with an error set. */
static bool find_slot(PyTypeObject *type, const char *name, Slot *slot) {
    slot->name = PyUnicode_InternFromString(name);
    PyObject *descriptor = slot->name ? PyObject_GetAttr((PyObject *)type, slot->name) : NULL;
    if (!descriptor) return false;
    bool found = Py_IS_TYPE(descriptor, &PyMemberDescr_Type) && PyType_IsSubtype(type, PyDescr_TYPE(descriptor)) &&
                 ((PyMemberDescrObject *)descriptor)->d_member->type == T_OBJECT_EX;
    if (found) slot->offset = ((PyMemberDescrObject *)descriptor)->d_member->offset;
    else PyErr_Format(PyExc_TypeError, "%s of %s is no slot", name, type->tp_name);
    Py_DECREF(descriptor);
    return found;
}

static PyObject *make(PyTypeObject *type, PyObject *arguments, PyObject *names) {
    PyObject *function, *found, *fail, *tensor;
    if (names && PyDict_GET_SIZE(names)) {
        PyErr_SetString(PyExc_TypeError, "CachedCall takes positional arguments");
        return NULL;
    }
    if (!PyArg_ParseTuple(arguments, "OO!OO!", &function, &PyDict_Type, &found, &fail, &PyType_Type, &tensor))
        return NULL;
    CachedCall *self = (CachedCall *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    self->call = call;
    self->function = Py_NewRef(function);
    self->found = Py_NewRef(found);
    self->fail = Py_NewRef(fail);
    self->tensor = (PyTypeObject *)Py_NewRef(tensor);
    if (!find_slot(self->tensor, "_form", &self->form) || !find_slot(self->tensor, "_array", &self->array))
        Py_CLEAR(self);
    return (PyObject *)self;
}

static int traverse(PyObject *object, visitproc visit, void *arg) {
    CachedCall *self = (CachedCall *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->function);
    Py_VISIT(self->found);
    Py_VISIT(self->fail);
    Py_VISIT(self->tensor);
    Py_VISIT(self->attributes);
    return 0;
}

/* Every cycle goes through these two, or through what breaks it itself: a call needs the others to its end. */
static int clear(PyObject *object) {
    CachedCall *self = (CachedCall *)object;
    Py_CLEAR(self->function);
    Py_CLEAR(self->attributes);
    return 0;
}

static void destroy(PyObject *object) {
    CachedCall *self = (CachedCall *)object;
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    if (self->weak_references) PyObject_ClearWeakRefs(object);
    (void)clear(object);
    Py_XDECREF(self->found);
    Py_XDECREF(self->fail);
    Py_XDECREF(self->tensor);
    Py_XDECREF(self->form.name);
    Py_XDECREF(self->array.name);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyObject *bound(PyObject *self, PyObject *object, PyObject *type) {
    (void)type;
    return object && object != Py_None ? PyMethod_New(self, object) : Py_NewRef(self);
}

static PyObject *represent(PyObject *object) {
    CachedCall *self = (CachedCall *)object;
    return PyUnicode_FromFormat("%R", self->function);
}

static PyObject *reduce(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyObject_GetAttrString(self, "__qualname__"); /* as a function, by its name */
}

static PyMethodDef methods[] = {
    {"__reduce__", reduce, METH_NOARGS, "The name under which a pickle finds it."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(CachedCall, attributes), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(CachedCall, weak_references), READONLY, NULL},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(CachedCall, call), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef computed[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static char doc[] = "A function whose calls with known operands run without a step of Python.";

static PyType_Slot slots[] = {
    {Py_tp_doc, doc},
    {Py_tp_new, (void *)make},
    {Py_tp_call, (void *)PyVectorcall_Call},
    {Py_tp_descr_get, (void *)bound},
    {Py_tp_repr, (void *)represent},
    {Py_tp_traverse, (void *)traverse},
    {Py_tp_clear, (void *)clear},
    {Py_tp_dealloc, (void *)destroy},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_getset, computed},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "tensor_einsum._native.CachedCall",
    .basicsize = sizeof(CachedCall),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

int calls_add_to(PyObject *module) {
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
    int added = type ? PyModule_AddType(module, (PyTypeObject *)type) : -1;
    Py_XDECREF(type);
    return added;
}
