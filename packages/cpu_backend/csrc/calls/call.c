/* The type of native calls: how they are made, what they hold, and the table that they look up. */
#include "calls/call.h"

#include <string.h>
#include <structmember.h>

static const struct {
    const char *name;
    vectorcallfunc call;
} KINDS[] = {
    {"getitem", call_getitem},
    {"length", call_length},
    {"iterate", call_iterate},
    {"unstack", call_unstack},
    {"dtype", call_dtype},
    {"shape", call_shape},
    {"strides", call_strides},
    {"placement", call_placement},
    {"rank", call_rank},
    {"size", call_size},
    {"setitem", call_setitem},
    {"reversed_axes", call_reversed_axes},
    {"transposed", call_transposed},
    {"matrices_transposed", call_matrices_transposed},
    {"squeeze", call_squeeze},
    {"expand_dims", call_expand_dims},
    {"reverse", call_reverse},
    {"reshape", call_reshape},
    {"item", call_item},
    {"tolist", call_tolist},
    {"count_nonzero", call_count_nonzero},
    {"nonzero", call_nonzero},
    {"isin", call_isin},
    {"array_equal", call_array_equal},
    {"float", call_float},
    {"int", call_int},
    {"complex", call_complex},
    {"bool", call_bool},
    {"to_numpy", call_to_numpy},
    {"zeros", call_zeros},
    {"ones", call_ones},
    {"full", call_full},
    {"uniform", call_uniform},
    {"normal", call_normal},
    {"integers", call_integers},
    {"empty", call_empty},
    {"eye", call_eye},
    {"arange", call_arange},
    {"linspace", call_linspace},
    {"tensor", call_tensor},
    {"asarray", call_asarray},
    {"unary_into", call_unary_into},
    {"binary_into", call_binary_into},
    {"ternary_into", call_ternary_into},
    {"params_into", call_params_into},
    {"several_into", call_several_into},
    {"bound_into", call_bound_into},
    {"is_free", call_is_free},
    {"execute_unary", call_unary},
    {"execute_binary", call_binary},
    {"execute_mixed", call_binary},
    {"execute_ternary", call_ternary},
    {"execute_with_params", call_with_params},
    {"execute_pair", call_pair},
    {"execute_several", call_several},
    {"execute_parts", call_results},
    {"execute_many", call_results_of_several},
};

/* Keys that were looked up, as the table has them, each in the place that its words name: made once and hashed once. */
enum { REMEMBERED = 1 << 9 };
static PyObject *remembered[REMEMBERED];

HOT static PyObject **place_of(const Key *key) {
    uint64_t mixed = (uint64_t)key->words[1] >> 4;
    for (int i = 2; i < key->count; i++) mixed = mixed * UINT64_C(0x9E3779B97F4A7C15) + (uint64_t)key->words[i];
    mixed = (mixed + (uint64_t)key->words[0]) * UINT64_C(0x9E3779B97F4A7C15);
    return &remembered[mixed >> 55];
}
_Static_assert(REMEMBERED == 1 << 9, "nine bits");

/* The key as bytes, a new reference; NULL with an exception set. */
HOT static PyObject *bytes_of(const Key *key) {
    const Py_ssize_t length = key->count * (Py_ssize_t)sizeof(Index);
    PyObject **place = place_of(key), *bytes = *place;
    if (bytes && PyBytes_GET_SIZE(bytes) == length && memcmp(PyBytes_AS_STRING(bytes), key->words, (size_t)length) == 0)
        return Py_NewRef(bytes);
    bytes = PyBytes_FromStringAndSize((const char *)key->words, length);
    if (bytes) Py_XSETREF(*place, Py_NewRef(bytes));
    return bytes;
}

HOT PyObject *call_find(const Call *self, const Key *key) {
    PyObject *bytes = bytes_of(key);
    PyObject *entry = bytes ? PyDict_GetItemWithError(self->found, bytes) : NULL; /* runs nobody's code: bytes */
    PyObject *form = entry ? Py_NewRef(PyTuple_GET_ITEM(entry, 1)) : NULL;
    Py_XDECREF(bytes);
    if (!form) PyErr_Clear();
    return form;
}

PyObject *call_function(const Call *self, PyObject *const *arguments, size_t flagged_count, PyObject *names) {
    if (self->function) return PyObject_Vectorcall(self->function, arguments, flagged_count, names);
    PyErr_SetString(PyExc_RuntimeError, "called while the interpreter ends");
    return NULL;
}

PyObject *call_learned(const Call *self, const Key *key, PyObject *pointed, PyObject *result) {
    PyObject *form, *array;
    if (!result || !call_parts(self, result, &form, &array)) return result;
    PyObject *entry = PyTuple_Pack(2, pointed, form);
    PyObject *bytes = bytes_of(key);
    PyObject *kept = entry && bytes ? PyObject_CallFunctionObjArgs(self->insert, bytes, entry, NULL) : NULL;
    Py_XDECREF(entry);
    Py_XDECREF(bytes);
    if (!kept) Py_CLEAR(result);
    Py_XDECREF(kept);
    return result;
}

bool call_untraced(const Call *self) {
    PyObject *log;
    if (PyContextVar_Get(self->traced, NULL, &log) < 0) {
        PyErr_Clear();
        return false;
    }
    const bool untraced = log == Py_None;
    Py_XDECREF(log);
    return untraced;
}

/* Where objects of a class keep what one of their slots has; false with an exception set. */
static bool find_slot(PyObject *type, const char *name, Py_ssize_t *offset) {
    PyObject *descriptor = PyObject_GetAttrString(type, name);
    if (!descriptor) return false;
    const bool found = Py_IS_TYPE(descriptor, &PyMemberDescr_Type) &&
                       PyType_IsSubtype((PyTypeObject *)type, PyDescr_TYPE(descriptor)) &&
                       ((PyMemberDescrObject *)descriptor)->d_member->type == T_OBJECT_EX;
    if (found) *offset = ((PyMemberDescrObject *)descriptor)->d_member->offset;
    else PyErr_Format(PyExc_TypeError, "%s of %R is no slot", name, type);
    Py_DECREF(descriptor);
    return found;
}

static bool find_slots(Call *self, PyObject *tensor, PyObject *form, PyObject *spec) {
    return find_slot(tensor, "_form", &self->form) && find_slot(tensor, "_array", &self->array) &&
           find_slot(tensor, "_borrowed", &self->borrowed) && find_slot(form, "placement", &self->placement_at) &&
           find_slot(form, "dtype", &self->dtype_at) && find_slot(form, "shape", &self->shape_at) &&
           find_slot(form, "strides", &self->strides_at) && find_slot(form, "size", &self->size_at) &&
           find_slot(spec, "found", &self->bindings_at) && find_slot(spec, "name", &self->name_at) &&
           find_slot(spec, "shares", &self->shares_at);
}

/* Call(kind, function, Tensor, its subclass, Form, class of specs, placement, found, insert, fail, context variable, dtypes) */
static PyObject *make(PyTypeObject *type, PyObject *arguments, PyObject *names) {
    const char *kind;
    PyObject *function, *tensor, *writable, *form_type, *spec_type, *placement, *found, *insert, *fail, *traced,
        *dtypes;
    if (names && PyDict_GET_SIZE(names)) return PyErr_Format(PyExc_TypeError, "Call takes positional arguments");
    if (!PyArg_ParseTuple(arguments, "sOO!O!O!O!OO!OOO!O!:Call", &kind, &function, &PyType_Type, &tensor, &PyType_Type,
                          &writable, &PyType_Type, &form_type, &PyType_Type, &spec_type, &placement, &PyDict_Type,
                          &found, &insert, &fail, &PyContextVar_Type, &traced, &PyTuple_Type, &dtypes))
        return NULL;
    vectorcallfunc call = NULL;
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
        if (strcmp(kind, KINDS[i].name) == 0) call = KINDS[i].call;
    if (!call) return PyErr_Format(PyExc_ValueError, "Call: no kind %s", kind);
    if (!PyType_IsSubtype((PyTypeObject *)writable, (PyTypeObject *)tensor) ||
        PyTuple_GET_SIZE(dtypes) != ELEMENT_TYPES)
        return PyErr_Format(PyExc_TypeError, "Call: a class that is no tensor's, or not %d dtypes", ELEMENT_TYPES);
    Call *self = (Call *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    self->call = call;
    self->function = Py_NewRef(function);
    self->tensor = (PyTypeObject *)Py_NewRef(tensor);
    self->writable = (PyTypeObject *)Py_NewRef(writable);
    self->form_type = (PyTypeObject *)Py_NewRef(form_type);
    self->spec = (PyTypeObject *)Py_NewRef(spec_type);
    self->placement = Py_NewRef(placement);
    self->found = Py_NewRef(found);
    self->insert = Py_NewRef(insert);
    self->fail = Py_NewRef(fail);
    self->traced = Py_NewRef(traced);
    self->dtypes = Py_NewRef(dtypes);
    const bool complete = find_slots(self, tensor, form_type, spec_type);
    if (complete) (void)call_take_class(self);
    else Py_CLEAR(self);
    return (PyObject *)self;
}

static int traverse(PyObject *object, visitproc visit, void *arg) {
    Call *self = (Call *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->function);
    Py_VISIT(self->tensor);
    Py_VISIT(self->writable);
    Py_VISIT(self->form_type);
    Py_VISIT(self->spec);
    Py_VISIT(self->placement);
    Py_VISIT(self->found);
    Py_VISIT(self->insert);
    Py_VISIT(self->fail);
    Py_VISIT(self->traced);
    Py_VISIT(self->dtypes);
    Py_VISIT(self->attributes);
    return 0;
}

/* Every cycle goes through these two, or through what breaks it itself: a call needs the others to its end. */
static int clear(PyObject *object) {
    Call *self = (Call *)object;
    Py_CLEAR(self->function);
    Py_CLEAR(self->attributes);
    return 0;
}

static void destroy(PyObject *object) {
    Call *self = (Call *)object;
    PyObject_GC_UnTrack(object);
    if (self->weak_references) PyObject_ClearWeakRefs(object);
    (void)clear(object);
    Py_XDECREF(self->tensor);
    Py_XDECREF(self->writable);
    Py_XDECREF(self->form_type);
    Py_XDECREF(self->spec);
    Py_XDECREF(self->placement);
    Py_XDECREF(self->found);
    Py_XDECREF(self->insert);
    Py_XDECREF(self->fail);
    Py_XDECREF(self->traced);
    Py_XDECREF(self->dtypes);
    Py_TYPE(object)->tp_free(object);
}

static PyObject *bound(PyObject *self, PyObject *object, PyObject *type) {
    (void)type;
    return object && object != Py_None ? PyMethod_New(self, object) : Py_NewRef(self);
}

static PyObject *represent(PyObject *object) { return PyUnicode_FromFormat("%R", ((Call *)object)->function); }

static PyObject *reduce(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyObject_GetAttrString(self, "__qualname__"); /* as a function, by its name */
}

static PyMethodDef methods[] = {
    {"__reduce__", reduce, METH_NOARGS, "The name under which a pickle finds it."},
    {"take_slot", call_take_slot, METH_NOARGS,
     "Let the slot of the class of tensors, whose attribute this is, come here."},
    {"as_attribute", (PyCFunction)(void (*)(void))call_as_attribute, METH_FASTCALL,
     "A descriptor (name, documentation) of the class of tensors, that answers what this call answers."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef computed[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject Call_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tensor_cpu._native.Call",
    .tp_doc = "A function whose usual calls run without a step of Python.",
    .tp_basicsize = sizeof(Call),
    .tp_new = make,
    .tp_call = PyVectorcall_Call,
    .tp_descr_get = bound,
    .tp_repr = represent,
    .tp_traverse = traverse,
    .tp_clear = clear,
    .tp_dealloc = destroy,
    .tp_methods = methods,
    .tp_getset = computed,
    .tp_dictoffset = offsetof(Call, attributes),
    .tp_weaklistoffset = offsetof(Call, weak_references),
    .tp_vectorcall_offset = offsetof(Call, call),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR |
                Py_TPFLAGS_IMMUTABLETYPE,
};

int calls_add_to(PyObject *module) {
    const Py_ssize_t count = sizeof KINDS / sizeof *KINDS;
    PyObject *kinds = PyTuple_New(count);
    if (!kinds) return -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *name = PyUnicode_FromString(KINDS[i].name);
        if (!name) {
            Py_DECREF(kinds);
            return -1;
        }
        PyTuple_SET_ITEM(kinds, i, name);
    }
    const int added = PyModule_AddObjectRef(module, "CALLS", kinds);
    Py_DECREF(kinds);
    if (added < 0 || PyType_Ready(&Iterator_Type) < 0) return -1;
    return PyModule_AddType(module, &Call_Type);
}
