/* New tensors: of one number, of nested lists, and of NumPy's arrays whose memory they share.
 *
 * Numbers are taken where they are elements of the dtype as they are; what has to be judged goes to Python.
 */
#include "calls/made.h"
#include "core/element.h"

#include <string.h>

enum { MOST_COPIED = 1 << 16, FILLED_AT_ONCE = 1 << 12 }; /* bytes */

void call_fill(char *target, size_t count, const void *element, size_t bytes) {
    static const Element NOTHING;
    const size_t whole = count * bytes;
    if (whole == 0) return;
    if (bytes == 1 || memcmp(element, &NOTHING, bytes) == 0) {
        memset(target, *(const unsigned char *)element, whole);
        return;
    }
    memcpy(target, element, bytes);
    for (size_t done = bytes; done < whole;) { /* what is there, once more behind it, as long as that stays near */
        const size_t more = whole - done < done ? whole - done : done;
        const size_t copied = more < FILLED_AT_ONCE ? more : FILLED_AT_ONCE;
        memcpy(target + done, target, copied);
        done += copied;
    }
}

/* The tensor whose elements are all this one, or what the function in Python makes of the arguments. */
static PyObject *filled(const Call *self, const Made *made, const Element *element, PyObject *const *arguments,
                        size_t flagged_count) {
    PyObject *form = call_find(self, &made->key);
    if (form) {
        PyObject *array = array_new(&made->array);
        if (array)
            call_fill(array_data(array), (size_t)made->array.size, element, (size_t)ELEMENT_BYTES[made->array.type]);
        return made_wrapped(self, form, array, arguments, flagged_count);
    }
    return call_learned(self, &made->key, PyTuple_GET_ITEM(self->dtypes, made->array.type),
                        call_function(self, arguments, flagged_count, NULL));
}

/* One, as an element of a type. */
static Element one_of(ElementType type) {
    Element one = {.c64 = {0.0, 0.0}};
    switch (type) {
    case F32:
    case C32: one.f32 = 1.0f; break;
    case F64:
    case C64: one.f64 = 1.0; break;
    case I32: one.i32 = 1; break;
    case I64: one.i64 = 1; break;
    default: one.truth = true;
    }
    return one;
}

static PyObject *repeat(const Call *self, int number, PyObject *const *arguments, size_t flagged_count,
                        PyObject *names) {
    Made made;
    if (PyVectorcall_NARGS(flagged_count) != 3 || names ||
        !made_read(self, arguments[0], made_type(self, arguments[1]), arguments[2], &made))
        return call_function(self, arguments, flagged_count, names);
    const Element nothing = {.c64 = {0.0, 0.0}}, element = number ? one_of(made.array.type) : nothing;
    return filled(self, &made, &element, arguments, flagged_count);
}

/* zeros(shape, dtype, placement) */
CALL(call_zeros) { return repeat((Call *)object, 0, arguments, flagged_count, names); }

/* ones(shape, dtype, placement) */
CALL(call_ones) { return repeat((Call *)object, 1, arguments, flagged_count, names); }

/* empty(shape, dtype, placement) */
CALL(call_empty) {
    const Call *self = (Call *)object;
    Made made;
    if (PyVectorcall_NARGS(flagged_count) != 3 || names ||
        !made_read(self, arguments[0], made_type(self, arguments[1]), arguments[2], &made))
        return call_function(self, arguments, flagged_count, names);
    PyObject *form = call_find(self, &made.key);
    if (form) return made_wrapped(self, form, array_new(&made.array), arguments, flagged_count);
    return call_learned(self, &made.key, PyTuple_GET_ITEM(self->dtypes, made.array.type),
                        call_function(self, arguments, flagged_count, NULL));
}

static int number_type(PyObject *number);
static bool store(PyObject *number, ElementType type, Element *element);

/* The same of scalars of NumPy; not inlined, since what numbers of Python take is less. */
static __attribute__((noinline)) int scalar_type(PyObject *number) {
    PyObject *made = scalar_number(number);
    const int type = made ? number_type(made) : -1;
    Py_XDECREF(made);
    return type;
}
static __attribute__((noinline)) bool store_scalar(PyObject *number, ElementType type, Element *element) {
    PyObject *made = scalar_number(number);
    const bool stored = made ? store(made, type, element) : PyErr_NoMemory() != NULL;
    Py_XDECREF(made);
    return stored;
}

/* The type of which a number of Python or NumPy is an element by nature; -1 for no number and for ints beyond 64 bits. */
static int number_type(PyObject *number) {
    Index value;
    if (PyFloat_CheckExact(number)) return F64;
    if (PyBool_Check(number)) return BOOL;
    if (PyComplex_CheckExact(number)) return C64;
    if (PyLong_CheckExact(number)) return exact_int(number, &value) ? I64 : -1;
    return scalar_type(number);
}

/* Makes an element of a type of a number of a type that it holds; false with an exception set for want of memory. */
static bool store(PyObject *number, ElementType type, Element *element) {
    if (!is_number(number)) return store_scalar(number, type, element);
    if (type == BOOL) {
        element->truth = number == Py_True;
    } else if (type == I64) {
        element->i64 = PyLong_AsLongLong(number);
    } else if (type == F64) {
        element->f64 = PyFloat_CheckExact(number) ? PyFloat_AS_DOUBLE(number) : PyLong_AsDouble(number);
    } else if (PyComplex_CheckExact(number)) {
        element->c64[0] = PyComplex_RealAsDouble(number);
        element->c64[1] = PyComplex_ImagAsDouble(number);
    } else {
        element->c64[0] = PyFloat_CheckExact(number) ? PyFloat_AS_DOUBLE(number) : PyLong_AsDouble(number);
        element->c64[1] = 0.0;
    }
    return true;
}

/* full(shape, value, dtype, placement) */
CALL(call_full) {
    const Call *self = (Call *)object;
    Made made;
    if (PyVectorcall_NARGS(flagged_count) != 4 || names) return call_function(self, arguments, flagged_count, names);
    const bool by_nature = arguments[2] == Py_None;
    const int type = by_nature ? number_type(arguments[1]) : made_type(self, arguments[2]);
    Element element = {.c64 = {0.0, 0.0}};
    if (type < 0 || (!by_nature && !call_element_of(arguments[1], (ElementType)type, &element)) ||
        !made_read(self, arguments[0], type, arguments[3], &made))
        return call_function(self, arguments, flagged_count, names);
    if (by_nature && !store(arguments[1], (ElementType)type, &element)) return NULL;
    return filled(self, &made, &element, arguments, flagged_count);
}

/* eye(rows, columns, dtype, placement) */
CALL(call_eye) {
    const Call *self = (Call *)object;
    if (PyVectorcall_NARGS(flagged_count) != 4 || names) return call_function(self, arguments, flagged_count, names);
    Made made;
    Index rows, columns;
    const int type = made_type(self, arguments[2]);
    PyObject *wide = arguments[1] == Py_None ? arguments[0] : arguments[1];
    if (type < 0 || arguments[3] != self->placement || !exact_index(arguments[0], &rows) ||
        !exact_index(wide, &columns))
        return call_function(self, arguments, flagged_count, NULL);
    made_begin(self, &made, (ElementType)type);
    if (!made_axis(&made, rows) || !made_axis(&made, columns))
        return call_function(self, arguments, flagged_count, NULL);
    made_end(&made);
    if (made.array.bytes > MOST_FILLED) return call_function(self, arguments, flagged_count, NULL);
    PyObject *form = call_find(self, &made.key);
    if (!form)
        return call_learned(self, &made.key, PyTuple_GET_ITEM(self->dtypes, type),
                            call_function(self, arguments, flagged_count, NULL));
    PyObject *array = array_new(&made.array);
    if (array) {
        const Element one = one_of((ElementType)type);
        const size_t bytes = (size_t)ELEMENT_BYTES[type];
        char *target = array_data(array);
        memset(target, 0, made.array.bytes);
        for (Index i = 0; i < smaller(rows, columns); i++)
            memcpy(target + (size_t)(i * (rows + 1)) * bytes, &one, bytes);
    }
    return made_wrapped(self, form, array, arguments, flagged_count);
}

static inline bool is_row(PyObject *node) { return PyList_CheckExact(node) || PyTuple_CheckExact(node); }

enum { BY_NATURE = -1 }; /* in place of a type that is asked for, and of a scalar that has none of ours */

/* Every row is as long as the first, and every number an element of the type that is asked for; where none is, *type becomes
 * the one that holds what they are by nature. None of this runs anybody's code, so that lists stay as they are. */
static bool scan(PyObject *node, const Made *made, int axis, int asked, int *type) {
    static const int WIDTH[ELEMENT_TYPES] = {[BOOL] = 0, [I64] = 1, [F64] = 2, [C64] = 3};
    if (axis == made->array.rank) {
        Element element;
        if (asked != BY_NATURE) return call_element_of(node, (ElementType)asked, &element);
        const int found = number_type(node);
        if (found >= 0 && WIDTH[found] > WIDTH[*type]) *type = found;
        return found >= 0;
    }
    if (!is_row(node) || PySequence_Fast_GET_SIZE(node) != made->array.shape[axis]) return false;
    for (Py_ssize_t i = 0; i < made->array.shape[axis]; i++)
        if (!scan(PySequence_Fast_ITEMS(node)[i], made, axis + 1, asked, type)) return false;
    return true;
}

/* Writes the numbers of a node to where they belong; axes of the array are the tensor's reversed. */
static void write_node(PyObject *node, const ArrayForm *form, int axis, int asked, Index step, char *target) {
    const Index bytes = ELEMENT_BYTES[form->type];
    if (axis == form->rank) {
        Element element = {.c64 = {0.0, 0.0}};
        if (asked == BY_NATURE) (void)store(node, form->type, &element);
        else if (!call_element_of(node, form->type, &element)) PyErr_NoMemory(); /* scan() saw that it is one */
        memcpy(target, &element, (size_t)bytes);
        return;
    }
    const Index extent = form->shape[form->rank - 1 - axis];
    for (Index i = 0; i < extent; i++)
        write_node(PySequence_Fast_ITEMS(node)[i], form, axis + 1, asked, step * extent, target + i * step * bytes);
}

/* The tensor of nested lists and tuples of Python's numbers, of a type that is asked for or by nature; NULL, perhaps with an
 * exception set, for others, of which the key has no words then. */
static PyObject *nested(const Call *self, PyObject *data, int asked, Made *made) {
    int type = asked == BY_NATURE ? BOOL : asked;
    made_begin(self, made, (ElementType)type);
    PyObject *first = data;
    while (is_row(first)) {
        const Py_ssize_t extent = PySequence_Fast_GET_SIZE(first);
        if (extent == 0 || made->array.rank == MOST_NESTED || !made_axis(made, extent)) goto none;
        first = PySequence_Fast_ITEMS(first)[0];
    }
    if (!scan(data, made, 0, asked, &type) || !call_untraced(self)) goto none;
    made->array.type = (ElementType)type;
    made->key.words[1] = (Index)(intptr_t)PyTuple_GET_ITEM(self->dtypes, type);
    made_end(made);
    PyObject *form = call_find(self, &made->key);
    if (!form) return NULL;
    PyObject *array = array_new(&made->array);
    if (array) write_node(data, &made->array, 0, asked, 1, array_data(array));
    if (PyErr_Occurred()) Py_CLEAR(array);
    return call_wrap(self, self->tensor, form, array);
none:
    made->key.count = 0;
    return NULL;
}

static PyObject *nested_or_function(const Call *self, PyObject *const *arguments, size_t flagged_count, int asked) {
    Made made;
    PyObject *tensor = nested(self, arguments[0], asked, &made);
    if (tensor || PyErr_Occurred()) return tensor;
    PyObject *result = call_function(self, arguments, flagged_count, NULL);
    if (made.key.count == 0) return result;
    return call_learned(self, &made.key, PyTuple_GET_ITEM(self->dtypes, made.array.type), result);
}

/* tensor(data, dtype, placement); a scalar of NumPy alone keeps its dtype, where that is one of ours */
CALL(call_tensor) {
    const Call *self = (Call *)object;
    if (PyVectorcall_NARGS(flagged_count) != 3 || names || arguments[2] != self->placement)
        return call_function(self, arguments, flagged_count, names);
    const int asked = arguments[1] == Py_None ? BY_NATURE : made_type(self, arguments[1]);
    const bool alone = !is_row(arguments[0]) && !is_number(arguments[0]);
    if (arguments[1] == Py_None && alone)
        return nested_or_function(self, arguments, flagged_count, scalar_element_type(arguments[0]));
    if (alone || (asked == BY_NATURE && arguments[1] != Py_None))
        return call_function(self, arguments, flagged_count, NULL);
    return nested_or_function(self, arguments, flagged_count, asked);
}

/* Whether strides are whole elements that do not shrink from axis to axis, whatever their signs. */
static bool is_column_major(PyArrayObject *array, Index bytes) {
    Index former = 0;
    const bool several = array_size((PyObject *)array) > 1;
    for (int axis = 0; axis < PyArray_NDIM(array); axis++) {
        const Index stride = PyArray_STRIDE(array, axis);
        if (stride % bytes != 0) return false;
        if (!several || PyArray_DIM(array, axis) <= 1) continue;
        if (magnitude(stride) < former) return false;
        former = magnitude(stride);
    }
    return true;
}

/* A small array of NumPy, copied by NumPy; others by Python, which knows faster ways. */
static PyObject *copied(const Call *self, PyObject *const *arguments, size_t flagged_count, int type) {
    PyArrayObject *array = (PyArrayObject *)arguments[0];
    Key key;
    PyObject *dtype = PyTuple_GET_ITEM(self->dtypes, type);
    key_begin(&key, KEY_MADE, dtype);
    for (int axis = 0; axis < PyArray_NDIM(array); axis++) key_add(&key, PyArray_DIM(array, axis));
    PyObject *form = call_find(self, &key);
    if (!form) return call_learned(self, &key, dtype, call_function(self, arguments, flagged_count, NULL));
    PyObject *turned = array_reversed(arguments[0]);
    PyObject *own = turned ? PyObject_CallMethod(turned, "copy", NULL) : NULL;
    Py_XDECREF(turned);
    return call_wrap(self, self->tensor, form, own);
}

/* asarray(x, dtype, copy): an array of NumPy, of the dtype if there is one, whose memory can be shared or which is small;
 * nested lists, or a number, without a dtype */
CALL(call_asarray) {
    const Call *self = (Call *)object;
    if (PyVectorcall_NARGS(flagged_count) != 3 || names) return call_function(self, arguments, flagged_count, names);
    const bool by_nature = arguments[1] == Py_None;
    if (by_nature && arguments[2] == Py_None && (is_row(arguments[0]) || is_number(arguments[0])))
        return nested_or_function(self, arguments, flagged_count, BY_NATURE);
    PyArrayObject *array = (PyArrayObject *)arguments[0];
    const int type = Py_IS_TYPE(arguments[0], array_type) ? array_element_type(arguments[0]) : -1;
    if (type < 0 || (!by_nature && made_type(self, arguments[1]) != type) ||
        (arguments[2] != Py_None && !PyBool_Check(arguments[2])))
        return call_function(self, arguments, flagged_count, names);
    if (arguments[2] == Py_True || !is_column_major(array, ELEMENT_BYTES[type])) {
        if (arguments[2] == Py_False || type == BOOL || array_size(arguments[0]) * ELEMENT_BYTES[type] > MOST_COPIED)
            return call_function(self, arguments, flagged_count, names);
        return copied(self, arguments, flagged_count, type);
    }
    Key key;
    PyObject *dtype = PyTuple_GET_ITEM(self->dtypes, type);
    key_begin(&key, KEY_LENT, dtype);
    for (int axis = 0; axis < PyArray_NDIM(array); axis++) {
        key_add(&key, PyArray_DIM(array, axis));
        key_add(&key, PyArray_STRIDE(array, axis));
    }
    PyObject *form = call_find(self, &key);
    if (form) return call_wrap_borrowed(self, self->tensor, form, array_reversed(arguments[0]));
    return call_learned(self, &key, dtype, call_function(self, arguments, flagged_count, NULL));
}
