/* Native calls: what the runtime calls in Python, done here without a step of Python where everything is as usual.
 *
 * A native call stands in the place of a function in Python, which it holds. It answers by itself for tensors of this
 * backend's placement whose arrays are NumPy's own, with arguments of exact types, where the form of the result is known:
 * forms are looked up in a table by what was asked of which form. Whatever else there may be, unknown forms, options,
 * mistakes, is left to the function, which does all of this too and makes every error; of what it returns the table learns.
 * So nothing here raises, but for want of memory.
 */
#ifndef TENSOR_CPU_CALL_H
#define TENSOR_CPU_CALL_H

#include "core/arrays.h"

typedef struct {
    PyObject_HEAD vectorcallfunc call;
    PyObject *function;                                 /* in Python */
    PyTypeObject *tensor;                               /* Tensor, with three slots */
    PyTypeObject *writable;                             /* its one subclass, the mutable view */
    PyTypeObject *form_type;                            /* Form */
    Py_ssize_t form, array, borrowed;                   /* where a tensor keeps them, in bytes from its beginning */
    PyObject *placement;                                /* of this backend's tensors */
    Py_ssize_t placement_at;                            /* where a form keeps it */
    Py_ssize_t dtype_at, shape_at, strides_at, size_at; /* and what else tensors tell */
    PyObject *found, *insert;                           /* the table: a dictionary, and what puts an entry into it */
    PyObject *traced;       /* the context variable that is not None while transfers are recorded */
    PyObject *dtypes;       /* a tuple, in the order of ElementType */
    PyTypeObject *spec;     /* of operations */
    Py_ssize_t bindings_at; /* where a spec keeps its dictionary of bindings */
    Py_ssize_t name_at;     /* and its name */
    Py_ssize_t shares_at;   /* and whether its results share memory with the operand */
    PyObject *fail;         /* (name, error, form of the result): raises what stands for a kernel's error */
    PyObject *attributes, *weak_references;
} Call;

/* Gives a module the type Call and the names of its kinds, CALLS; -1 with an error set. */
int calls_add_to(PyObject *module);

enum { KEY_WORDS = 4 + 2 * MAX_RANK, MOST_NESTED = 8 };

/* What is looked up: words that tell a call and its arguments from all others. Pointers among them are those of objects
 * that the entry keeps alive. */
typedef struct {
    Index words[KEY_WORDS];
    int count;
} Key;

typedef enum {
    KEY_INDEX,
    KEY_REVERSED,
    KEY_TRANSPOSED,
    KEY_RESHAPED,
    KEY_MADE,
    KEY_LENT,
    KEY_CHOSEN,
    KEY_TAKEN,
    KEY_PICKED,
    KEY_SQUEEZED,
    KEY_EXPANDED,
    KEY_REVERSED_ALONG
} KeyKind;

/* In keys of indices, where a slice has its extent. */
enum { KEY_AN_INT = -1, KEY_A_NEW_AXIS = -2 };

static inline void key_begin(Key *key, KeyKind kind, const void *object) {
    key->words[0] = kind;
    key->words[1] = (Index)(intptr_t)object;
    key->count = 2;
}
static inline void key_add(Key *key, Index word) { key->words[key->count++] = word; }

static inline PyObject **call_slot(PyObject *object, Py_ssize_t offset) {
    return (PyObject **)((char *)object + offset);
}

/* The form and the array of a tensor that is ours, borrowed; false, without an exception, for what is not. */
static inline bool call_parts(const Call *self, PyObject *object, PyObject **form, PyObject **array) {
    if (!Py_IS_TYPE(object, self->tensor) && !Py_IS_TYPE(object, self->writable)) return false;
    *form = *call_slot(object, self->form);
    *array = *call_slot(object, self->array);
    return *form && *array && Py_IS_TYPE(*array, array_type) &&
           *call_slot(*form, self->placement_at) == self->placement;
}

/* The form of a key, a new reference; NULL, without an exception, where there is none. */
PyObject *call_find(const Call *self, const Key *key);

/* A tensor of a class, of whose form and array it takes the references; array may be NULL with an exception set. */
PyObject *call_wrap(const Call *self, PyTypeObject *type, PyObject *form, PyObject *array);
/* One of memory that is not its own: a view, or an array that another library lends. */
PyObject *call_wrap_borrowed(const Call *self, PyTypeObject *type, PyObject *form, PyObject *array);

/* The function in Python does it. */
PyObject *call_function(const Call *self, PyObject *const *arguments, size_t flagged_count, PyObject *names);

/* What the function in Python returned, after the form of it was put to the table, together with what the key points to;
 * result may be NULL with an exception set. */
PyObject *call_learned(const Call *self, const Key *key, PyObject *pointed, PyObject *result);

/* Whether a tensor is what may be given as out: a mutable view, or all of memory of its own, and may be written. False,
 * without an exception, for what Python has to look at. */
bool call_may_write(const Call *self, PyObject *tensor, PyObject *array);

/* The C library writes so many elements without gaps, each the same bytes. */
void call_fill(char *target, size_t count, const void *element, size_t bytes);

/* Whether a number of Python or NumPy is an element of this type just as it is, but for rounding; then that is written. */
bool call_element_of(PyObject *number, ElementType type, void *element);

/* An index as it is read: the axes that are left, in the tensor's order. */
typedef struct {
    npy_intp shape[MAX_RANK], strides[MAX_RANK]; /* bytes */
    int rank;
    Index offset_bytes;
} Indexed;

/* Reads integers, slices, None and "..."; false, without an exception, for any other index and one out of range. */
bool call_read_index(PyObject *index, PyArrayObject *array, Indexed *indexed, Key *key);
PyObject *call_indexed_array(PyObject *array, const Indexed *indexed);

/* Whether an index is a line of Bool for an array that is a line, which is then *mask, borrowed. */
bool call_is_masked(const Call *self, PyObject *array, PyObject *index, PyObject **mask);
/* What getitem() gives for it. */
PyObject *call_masked(const Call *self, PyObject *const *arguments, size_t flagged_count, PyObject *form,
                      PyObject *array, PyObject *mask);

/* What getitem() gives where tensors of I64 name an element of a line or of a matrix; NULL, without an exception, for any
 * other index. */
PyObject *call_taken(const Call *self, PyObject *const *arguments, size_t flagged_count, PyObject *form,
                     PyObject *array);

/* What getitem() gives where lists, lines of I64 and Bool, and masks name few elements beside slices; NULL, without an
 * exception, for any other index. */
PyObject *call_picked(const Call *self, PyObject *const *arguments, size_t flagged_count, PyObject *form,
                      PyObject *array);
/* Whether a number, or so many elements of the array's type, were written where such an index names elements of it. */
bool call_put(const Call *self, PyObject *array, PyObject *index, PyObject *value);

/* Takes the class of tensors over, which is made and dies here from then on; whether that could be done. */
bool call_take_class(const Call *call);
/* Methods of calls: take_slot(), and as_attribute(name, documentation). */
PyObject *call_take_slot(PyObject *self, PyObject *unused);
PyObject *call_as_attribute(PyObject *self, PyObject *const *arguments, Py_ssize_t count);
extern PyTypeObject Iterator_Type; /* of what iterate() gives */

/* Whether nobody records transfers. */
bool call_untraced(const Call *self);

/* Python's numbers of exactly these types; scalars of NumPy stand for them (scalar_number). */
static inline bool is_number(PyObject *object) {
    return PyFloat_CheckExact(object) || PyLong_CheckExact(object) || PyComplex_CheckExact(object) ||
           PyBool_Check(object);
}

/* A number that is an int and nothing else; false, without an exception, for others and beyond 63 bits. */
static inline bool exact_int(PyObject *object, Index *value) {
    if (!PyLong_CheckExact(object)) return false;
    int overflow;
    *value = PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow == 0;
}

/* An index, axis or extent: an int, or an integer scalar of NumPy; false, without an exception, for others and beyond 63
 * bits. */
static inline bool exact_index(PyObject *object, Index *value) {
    return PyLong_CheckExact(object) ? exact_int(object, value) : scalar_index(object, value);
}

/* Whether PySlice_Unpack() reads a bound of a slice without running anybody's code. */
static inline bool is_bound(PyObject *bound) {
    Index value;
    return bound == Py_None || PyLong_CheckExact(bound) || scalar_index(bound, &value);
}

/* What a dictionary has for a key, borrowed; NULL, without an exception. */
PyObject *call_entry(PyObject *dictionary, PyObject *key);

/* Lets what a kernel raised become what stands for it, as in a handler of Python's; Ctrl-C and the like stay. */
void call_translate(const Call *self, PyObject *spec, PyObject *form);

/* Any number of tensors in a list or tuple. */
enum { MOST_SEVERAL = 64, MOST_FURTHER = 8 };
typedef struct {
    PyObject *key; /* owned: their forms, and the params; NULL where they are left to Python */
    PyObject *arrays[1 + MOST_SEVERAL + MOST_FURTHER]; /* owned; the place before them is for who is called */
    Py_ssize_t count;
} Several;
void call_read_several(const Call *self, PyObject *operands, PyObject *params, Several *several);
void call_let_go(Several *several);

/* The kinds of calls: what stands in the place of which function. */
#define CALL(name) PyObject *name(PyObject *object, PyObject *const *arguments, size_t flagged_count, PyObject *names)
CALL(call_getitem);
CALL(call_length);
CALL(call_iterate);
CALL(call_unstack);
CALL(call_dtype);
CALL(call_shape);
CALL(call_strides);
CALL(call_placement);
CALL(call_rank);
CALL(call_size);
CALL(call_setitem);
CALL(call_reversed_axes);
CALL(call_transposed);
CALL(call_matrices_transposed);
CALL(call_squeeze);
CALL(call_expand_dims);
CALL(call_reverse);
CALL(call_reshape);
CALL(call_to_numpy);
CALL(call_item);
CALL(call_tolist);
CALL(call_count_nonzero);
CALL(call_nonzero);
CALL(call_isin);
CALL(call_array_equal);
CALL(call_float);
CALL(call_int);
CALL(call_complex);
CALL(call_bool);
CALL(call_zeros);
CALL(call_ones);
CALL(call_full);
CALL(call_empty);
CALL(call_eye);
CALL(call_arange);
CALL(call_linspace);
CALL(call_uniform);
CALL(call_normal);
CALL(call_integers);
CALL(call_tensor);
CALL(call_asarray);
CALL(call_unary_into);
CALL(call_binary_into);
CALL(call_ternary_into);
CALL(call_params_into);
CALL(call_unary);
CALL(call_binary);
CALL(call_ternary);
CALL(call_with_params);
CALL(call_pair);
CALL(call_several);
CALL(call_results);
CALL(call_results_of_several);
CALL(call_several_into);
CALL(call_bound_into);
CALL(call_is_free);

#endif
