/* What binders read from Python, all of them in one way.
 *
 * A binder reads every argument with these functions and computes from nothing that has not come through them. Each
 * sets an exception where it fails: a TypeError for another kind of object, or another number of arguments; a
 * ValueError for one that is not accepted; an OverflowError for numbers beyond 64 bits, and for more elements than can
 * be addressed.
 */
#ifndef TENSOR_CPU_ARGUMENTS_H
#define TENSOR_CPU_ARGUMENTS_H

#include "core/arrays.h"
#include "core/strided_layout.h"

/* Whether a binder got so many arguments; `what` lists them for the error. */
bool arguments_count(const char *binder, Py_ssize_t count, Py_ssize_t expected, const char *what);

/* Names of arguments, ended by NULL, as PyArg_ParseTupleAndKeywords() takes them: it does not write there. */
#define ARGUMENT_NAMES(names) ((char **)(uintptr_t)(names))

/* Where a name is in a list of names; -1, and no exception, when it is not there or no string. */
int name_read(PyObject *name, const char *const *names, int count);

/* The element type of a name such as "F64"; -1 with an exception set. */
int element_type_read(PyObject *type_name);
const char *element_type_name(ElementType type);

/* How many items a tuple has, of at most `room`; -1 with an exception set. `of` says what they are. */
int tuple_length(PyObject *tuple, int room, const char *of);

/* Reads a tuple of integers into indices; returns how many, or -1 with an exception set when it holds more than room
 * or anything else. */
int indices_read(Index *indices, int room, PyObject *tuple);

/* A member of a struct that Python gives as an object with attributes of the same names, such as a NamedTuple. */
typedef struct {
    const char *name;
    Index *value;
} Member;

/* Reads so many integers by their names. */
bool members_read(const Member *members, int count, PyObject *object);

/* Fills form from a tuple of extents and the name of an element type, such as "F64"; -1 with an exception set. */
int array_form_read(ArrayForm *form, PyObject *shape, PyObject *type_name);

/* Fills the layout of an operand that has the extents of a form, and these strides. */
bool layout_read(StridedLayout *layout, const ArrayForm *form, PyObject *strides, ElementType type);

/* Adds an axis to what an operand reaches, where the binder reads axis by axis. */
bool reach_read(Reach *reach, Index extent, Index stride);

#endif
