/* Views along an axis, one for each index: iteration, and unstack. Their form is looked up once. */
#include "calls/call.h"

enum { MOST_ROW_AXES = 8 };

typedef struct {
    PyObject *array, *form; /* borrowed, and a new reference */
    int rank;
    npy_intp shape[MOST_ROW_AXES], strides[MOST_ROW_AXES]; /* of the array's axes but that one */
    Index count;
    npy_intp step; /* bytes */
} Rows;

/* What the views along an axis are; false, without an exception, where Python is to make them. */
static bool read_rows(const Call *self, PyObject *tensor, int axis, Rows *rows) {
    PyObject *form;
    if (!call_parts(self, tensor, &form, &rows->array)) return false;
    PyArrayObject *array = (PyArrayObject *)rows->array;
    const int rank = PyArray_NDIM(array);
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank || rank > MOST_ROW_AXES) return false;
    Key key;
    key_begin(&key, KEY_INDEX, form);
    rows->rank = 0;
    for (int place = 0; place < rank; place++) { /* as an index of slices and one integer is read */
        const npy_intp extent = PyArray_DIM(array, rank - 1 - place);
        key_add(&key, place == axis ? KEY_AN_INT : extent);
        if (place != axis) key_add(&key, 1);
    }
    for (int place = 0; place < rank; place++) {
        const npy_intp extent = PyArray_DIM(array, place), stride = PyArray_STRIDE(array, place);
        if (place == rank - 1 - axis) {
            rows->count = extent;
            rows->step = stride;
        } else {
            rows->shape[rows->rank] = extent;
            rows->strides[rows->rank++] = stride;
        }
    }
    rows->form = call_find(self, &key);
    return rows->form != NULL;
}

HOT static PyObject *row(const Call *self, PyTypeObject *type, const Rows *rows, Index position) {
    PyObject *view = array_view(rows->array, rows->rank, rows->shape, rows->strides, position * rows->step);
    return call_wrap_borrowed(self, type, Py_NewRef(rows->form), view);
}

/* unstack(tensor, axis) */
CALL(call_unstack) {
    const Call *self = (Call *)object;
    Index axis;
    Rows rows;
    if (PyVectorcall_NARGS(flagged_count) != 2 || names || !exact_index(arguments[1], &axis) ||
        magnitude(axis) > MOST_ROW_AXES || !read_rows(self, arguments[0], (int)axis, &rows))
        return call_function(self, arguments, flagged_count, names);
    PyObject *views = PyTuple_New(rows.count), *tensor = Py_NewRef(arguments[0]);
    for (Index position = 0; views && position < rows.count; position++) {
        PyObject *view = row(self, Py_TYPE(tensor), &rows, position);
        if (view) PyTuple_SET_ITEM(views, position, view);
        else Py_CLEAR(views);
    }
    Py_DECREF(rows.form);
    Py_DECREF(tensor);
    return views;
}

typedef struct {
    PyObject_HEAD const Call *call;
    PyTypeObject *type; /* of the views */
    Rows rows;          /* with a reference to the array */
    Index position;
} Iterator;

static void destroy(PyObject *object) {
    Iterator *iterator = (Iterator *)object;
    Py_DECREF(iterator->call);
    Py_DECREF(iterator->type);
    Py_DECREF(iterator->rows.array);
    Py_DECREF(iterator->rows.form);
    PyObject_Free(object);
}

HOT static PyObject *next(PyObject *object) {
    Iterator *iterator = (Iterator *)object;
    if (iterator->position == iterator->rows.count) return NULL;
    return row(iterator->call, iterator->type, &iterator->rows, iterator->position++);
}

static PyObject *length_hint(PyObject *object, PyObject *unused) {
    (void)unused;
    return PyLong_FromLongLong(((Iterator *)object)->rows.count - ((Iterator *)object)->position);
}

static PyMethodDef methods[] = {
    {"__length_hint__", length_hint, METH_NOARGS, "How many views are left."},
    {NULL, NULL, 0, NULL},
};

PyTypeObject Iterator_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tensor_cpu._native.Rows",
    .tp_doc = "Views along the first axis, one after the other.",
    .tp_basicsize = sizeof(Iterator),
    .tp_dealloc = destroy,
    .tp_iter = PyObject_SelfIter,
    .tp_iternext = next,
    .tp_methods = methods,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
};

/* iterate(tensor) */
CALL(call_iterate) {
    const Call *self = (Call *)object;
    Rows rows;
    if (PyVectorcall_NARGS(flagged_count) != 1 || names || !read_rows(self, arguments[0], 0, &rows))
        return call_function(self, arguments, flagged_count, names);
    Iterator *iterator = PyObject_New(Iterator, &Iterator_Type);
    if (!iterator) {
        Py_DECREF(rows.form);
        return NULL;
    }
    iterator->call = (const Call *)Py_NewRef(object);
    iterator->type = (PyTypeObject *)Py_NewRef(Py_TYPE(arguments[0]));
    iterator->rows = rows;
    Py_INCREF(rows.array);
    iterator->position = 0;
    return (PyObject *)iterator;
}
