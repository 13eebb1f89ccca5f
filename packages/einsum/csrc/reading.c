/* Notations as most are: letters, commas and an arrow, with extents that agree. Whatever else there may be to one (groups,
 * dots, blanks, long names, axes that broadcast, many of extent 1, mistakes) is left to tensor_einsum.notation, which reads these too. */
#include "reading.h"

#include <stdbool.h>
#include <string.h>

enum { CHARACTERS = 1024, UNKNOWN = -1, MANY_OF_ONE = 20 }; /* those that opt_einsum names 884 labels with */

/* Where the reading is, and what it has met: numbers of labels by character, characters and extents by label. */
typedef struct {
    PyObject *text, *shapes;
    int kind;
    const void *data;
    Py_ssize_t at, length;
    int16_t numbers[CHARACTERS];
    Py_UCS4 names[CHARACTERS];
    PyObject *extents[CHARACTERS]; /* borrowed from the shapes */
    int16_t met[CHARACTERS];
    int labels;
} Reader;

/* Letters and digits of ASCII, and whatever else is no space and no surrogate, as these characters go. */
static inline bool is_label(Py_UCS4 character) {
    if (character < 0x80)
        return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
               (character >= '0' && character <= '9');
    return character < CHARACTERS && !Py_UNICODE_ISSPACE(character);
}

/* The labels from here to what is none, as a tuple; NULL, perhaps with an error set, where they are not as usual.
 * Of an operand labels may be new and have extents of a shape, of the output they are known and the shape is NULL. */
static PyObject *labels_of(Reader *reader, PyObject *shape) {
    Py_ssize_t begin = reader->at;
    while (reader->at < reader->length && is_label(PyUnicode_READ(reader->kind, reader->data, reader->at)))
        reader->at++;
    Py_ssize_t count = reader->at - begin;
    if (shape && (!PyTuple_Check(shape) || PyTuple_GET_SIZE(shape) != count)) return NULL;
    PyObject *term = PyTuple_New(count);
    for (Py_ssize_t i = 0; term && i < count; i++) {
        Py_UCS4 character = PyUnicode_READ(reader->kind, reader->data, begin + i);
        int number = reader->numbers[character];
        PyObject *extent = shape ? PyTuple_GET_ITEM(shape, i) : NULL;
        if (number == UNKNOWN && shape) {
            number = reader->numbers[character] = (int16_t)reader->labels++;
            reader->names[number] = character;
            reader->extents[number] = extent;
            reader->met[number] = 0;
        }
        bool known = number != UNKNOWN;
        if (known && shape) {
            int equal = reader->extents[number] == extent
                            ? 1
                            : PyObject_RichCompareBool(reader->extents[number], extent, Py_EQ);
            known = equal > 0;
            if (reader->met[number] < 2) reader->met[number]++;
        }
        PyObject *label = known ? PyLong_FromLong(number) : NULL;
        if (!label) Py_CLEAR(term);
        if (term) PyTuple_SET_ITEM(term, i, label);
    }
    return term;
}

static PyObject *inputs_of(Reader *reader) {
    Py_ssize_t count = PyTuple_GET_SIZE(reader->shapes);
    PyObject *inputs = PyTuple_New(count);
    for (Py_ssize_t i = 0; inputs && i < count; i++) {
        PyObject *term = labels_of(reader, PyTuple_GET_ITEM(reader->shapes, i));
        if (term) PyTuple_SET_ITEM(inputs, i, term);
        bool more = i + 1 < count;
        bool comma = reader->at < reader->length && PyUnicode_READ(reader->kind, reader->data, reader->at) == ',';
        if (!term || comma != more) Py_CLEAR(inputs);
        reader->at += comma;
    }
    return inputs;
}

/* NumPy's: the labels that occur once, sorted. */
static PyObject *implicit_output(const Reader *reader) {
    PyObject *output = PyList_New(0);
    for (int character = 0; output && character < CHARACTERS; character++) {
        int number = reader->numbers[character];
        if (number == UNKNOWN || reader->met[number] > 1) continue;
        PyObject *label = PyLong_FromLong(number);
        if (!label || PyList_Append(output, label) < 0) Py_CLEAR(output);
        Py_XDECREF(label);
    }
    PyObject *result = output ? PyList_AsTuple(output) : NULL;
    Py_XDECREF(output);
    return result;
}

static PyObject *output_of(Reader *reader) {
    if (reader->at == reader->length) return implicit_output(reader);
    bool arrow = reader->at + 1 < reader->length && PyUnicode_READ(reader->kind, reader->data, reader->at) == '-' &&
                 PyUnicode_READ(reader->kind, reader->data, reader->at + 1) == '>';
    if (!arrow) return NULL;
    reader->at += 2;
    PyObject *output = labels_of(reader, NULL);
    if (output && reader->at < reader->length) Py_CLEAR(output);
    return output;
}

static PyObject *names_of(const Reader *reader) {
    PyObject *names = PyTuple_New(reader->labels);
    for (int i = 0; names && i < reader->labels; i++) {
        PyObject *name = PyUnicode_FromOrdinal((int)reader->names[i]);
        if (!name) Py_CLEAR(names);
        if (names) PyTuple_SET_ITEM(names, i, name);
    }
    return names;
}

static PyObject *extents_of(const Reader *reader) {
    PyObject *extents = PyTuple_New(reader->labels);
    int ones = 0;
    for (int i = 0; extents && i < reader->labels; i++) {
        PyTuple_SET_ITEM(extents, i, Py_NewRef(reader->extents[i]));
        int large = 0;
        ones += PyLong_Check(reader->extents[i]) && PyLong_AsLongAndOverflow(reader->extents[i], &large) == 1;
    }
    if (ones > MANY_OF_ONE) Py_CLEAR(extents);
    return extents;
}

PyObject *read_plain(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (count != 2 || !PyUnicode_Check(arguments[0]) || !PyTuple_Check(arguments[1]))
        return PyErr_Format(PyExc_TypeError, "read_plain takes a text and a tuple of shapes");
    Reader reader;
    reader.text = arguments[0];
    reader.shapes = arguments[1];
    reader.kind = PyUnicode_KIND(reader.text);
    reader.data = PyUnicode_DATA(reader.text);
    reader.at = 0;
    reader.length = PyUnicode_GET_LENGTH(reader.text);
    reader.labels = 0;
    memset(reader.numbers, 0xff, sizeof reader.numbers);
    PyObject *inputs = inputs_of(&reader), *output = NULL, *names = NULL, *extents = NULL, *result = NULL;
    if (inputs) output = output_of(&reader);
    if (output) names = names_of(&reader);
    if (names) extents = extents_of(&reader); /* NULL where many are 1 */
    if (extents) result = PyTuple_Pack(4, inputs, output, names, extents);
    Py_XDECREF(inputs);
    Py_XDECREF(output);
    Py_XDECREF(names);
    Py_XDECREF(extents);
    if (!result && !PyErr_Occurred()) Py_RETURN_NONE;
    return result;
}
