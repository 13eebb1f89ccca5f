/* How arrays are kept, and given out again: their fields, which NumPy's headers show to compiled code, are written anew. */
#include "core/kept_arrays.h"

#include <string.h>

typedef PyArrayObject_fields Fields;

enum {
    MOST_KEPT_BYTES = 1 << 13,   /* of one array */
    MOST_BYTES_OF_ALL = 1 << 16, /* of all that own their bytes */
    SETS = 16,                   /* of arrays that own their bytes, by type and shape */
    WAYS = 4,                    /* in each of them */
    MOST_KEPT_RANK = 4,
    VIEWS = 16, /* of each rank */
    OWNS_ALL = NPY_ARRAY_CARRAY | NPY_ARRAY_OWNDATA,
    USUAL = OWNS_ALL | NPY_ARRAY_F_CONTIGUOUS, /* of other flags NumPy has more to say */
};

static PyArray_Descr *descriptions[ELEMENT_TYPES];
static Fields *wholes[SETS][WAYS];
static Index bytes_of_all;
static int hand; /* the place among them that is given up next for another array */
static struct {
    Fields *arrays[VIEWS];
    int count;
} views[MOST_KEPT_RANK + 1];

void kept_types(PyArray_Descr *const *types) { memcpy(descriptions, types, sizeof descriptions); }

static inline int set_of(int type, int rank, const npy_intp *shape) {
    uint64_t mixed = (uint64_t)type * 8 + (uint64_t)rank + 1;
    for (int axis = 0; axis < rank; axis++) mixed = mixed * UINT64_C(0x9E3779B97F4A7C15) + (uint64_t)shape[axis];
    return (int)(mixed * UINT64_C(0x9E3779B97F4A7C15) >> 60);
}
_Static_assert(SETS == 16, "four bits");

/* ELEMENT_TYPES for any other than the seven. */
static inline int type_of(const Fields *array) {
    int type = 0;
    while (type < ELEMENT_TYPES && array->descr != descriptions[type]) type++;
    return type;
}

static inline Index bytes_of(const Fields *array, int type) {
    Index bytes = ELEMENT_BYTES[type];
    for (int axis = 0; axis < array->nd; axis++) bytes *= array->dimensions[axis];
    return bytes;
}

static void give_up(Fields **place) {
    Fields *array = *place;
    *place = NULL;
    if (!array) return;
    bytes_of_all -= bytes_of(array, type_of(array));
    Py_DECREF(array);
}

HOT static bool keep_whole(Fields *array) {
    const int type = type_of(array);
    if (type == ELEMENT_TYPES || (array->flags & OWNS_ALL) != OWNS_ALL) return false;
    for (int axis = 0; axis < array->nd; axis++)
        if (array->dimensions[axis] > MOST_KEPT_BYTES) return false;
    const Index bytes = bytes_of(array, type);
    if (bytes > MOST_KEPT_BYTES) return false;
    Fields **set = wholes[set_of(type, array->nd, array->dimensions)];
    int way = 0;
    while (way < WAYS && set[way]) way++;
    if (way == WAYS) give_up(&set[way = hand % WAYS]);
    for (; bytes_of_all + bytes > MOST_BYTES_OF_ALL; hand = (hand + 1) % (SETS * WAYS))
        give_up(&wholes[hand / WAYS][hand % WAYS]);
    bytes_of_all += bytes;
    set[way] = array;
    return true;
}

HOT static bool keep_view(Fields *array) {
    if (array->flags & NPY_ARRAY_OWNDATA || views[array->nd].count == VIEWS) return false;
    PyObject *base = array->base;
    array->base = NULL;
    array->data = NULL;
    array->flags = 0;
    Py_DECREF(base); /* which may run anybody's code */
    if (views[array->nd].count == VIEWS) return false;
    views[array->nd].arrays[views[array->nd].count++] = array;
    return true;
}

HOT void kept_release(PyObject *object) {
    Fields *array = (Fields *)object;
    if (Py_REFCNT(object) == 1 && Py_IS_TYPE(object, array_type) && array->nd <= MOST_KEPT_RANK &&
        !array->weakreflist && !array->_buffer_info && !(array->flags & ~USUAL) &&
        (array->base ? keep_view(array) : keep_whole(array)))
        return;
    Py_DECREF(object);
}

HOT PyObject *kept_array(const ArrayForm *form) {
    if (form->rank > MOST_KEPT_RANK || form->bytes > MOST_KEPT_BYTES) return NULL;
    Fields **arrays = wholes[set_of((int)form->type, form->rank, form->shape)];
    for (int way = 0; way < WAYS; way++) {
        Fields *array = arrays[way];
        if (!array || array->descr != descriptions[form->type] || array->nd != form->rank) continue;
        int axis = 0;
        while (axis < form->rank && array->dimensions[axis] == form->shape[axis]) axis++;
        if (axis < form->rank) continue;
        arrays[way] = NULL;
        bytes_of_all -= (Index)form->bytes;
        return (PyObject *)array;
    }
    return NULL;
}

/* As NumPy sees axes: those of extent 1 may be any number of bytes apart, and arrays without elements have no gaps. */
static int flags_of(const Fields *view, Index bytes, Index alignment) {
    Index c = bytes, f = bytes, apart = (Index)(intptr_t)view->data;
    int flags = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS;
    for (int axis = 0; axis < view->nd; axis++)
        if (view->dimensions[axis] == 0) return flags | NPY_ARRAY_ALIGNED;
    for (int axis = 0; axis < view->nd; axis++) {
        if (view->dimensions[axis] == 1) continue;
        apart |= view->strides[axis];
        if (view->strides[axis] != f) flags &= ~NPY_ARRAY_F_CONTIGUOUS;
        f *= view->dimensions[axis];
    }
    for (int axis = view->nd - 1; axis >= 0; axis--) {
        if (view->dimensions[axis] == 1) continue;
        if (view->strides[axis] != c) flags &= ~NPY_ARRAY_C_CONTIGUOUS;
        c *= view->dimensions[axis];
    }
    return apart & (alignment - 1) ? flags : flags | NPY_ARRAY_ALIGNED;
}

/* The array that a view of this one keeps alive: the first that owns its elements, or whose base is no array; NULL where
 * NumPy has more to say about one of them. */
static PyObject *root_of(PyObject *object) {
    for (;;) {
        const Fields *array = (Fields *)object;
        if (array->flags & ~USUAL) return NULL;
        if (array->flags & NPY_ARRAY_OWNDATA || !array->base || !Py_IS_TYPE(array->base, array_type)) return object;
        object = array->base;
    }
}

HOT PyObject *kept_view(PyObject *object, int rank, const npy_intp *shape, const npy_intp *strides,
                        Index offset_bytes) {
    const Fields *array = (Fields *)object;
    if (rank > MOST_KEPT_RANK || views[rank].count == 0 || !Py_IS_TYPE(object, array_type)) return NULL;
    const int type = type_of(array);
    PyObject *root = type < ELEMENT_TYPES ? root_of(object) : NULL;
    if (!root) return NULL;
    Fields *view = views[rank].arrays[--views[rank].count];
    if (view->descr != array->descr) {
        Py_DECREF(view->descr);
        view->descr = (PyArray_Descr *)Py_NewRef(array->descr);
    }
    const Index bytes = ELEMENT_BYTES[type];
    Index apart = bytes;
    for (int axis = rank - 1; axis >= 0; axis--) {
        view->dimensions[axis] = shape[axis];
        view->strides[axis] = strides ? strides[axis] : apart;
        apart *= shape[axis];
    }
    view->data = array->data + offset_bytes;
    view->base = Py_NewRef(root);
    view->flags =
        flags_of(view, bytes, type == C32 || type == C64 ? bytes / 2 : bytes) | (array->flags & NPY_ARRAY_WRITEABLE);
    return (PyObject *)view;
}

void kept_clear(void) {
    for (int set = 0; set < SETS; set++)
        for (int way = 0; way < WAYS; way++) give_up(&wholes[set][way]);
    for (int rank = 0; rank <= MOST_KEPT_RANK; rank++)
        while (views[rank].count) Py_DECREF(views[rank].arrays[--views[rank].count]);
}
