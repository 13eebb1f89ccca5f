/* Steps of a path of pairs, from labels and extents: what tensor_einsum.steps builds, for networks without diagonals, axes
 * that broadcast, long names, and numbers beyond 64 bits, which are left to it. */
#include "steps.h"

#include "guard.h"

enum { SMALLER = 4 }; /* tensor_einsum.steps.steps says why */

typedef struct {
    int *labels, count;
} Term;

/* What one step reads and gives: ids of two terms, and its costs. */
typedef struct {
    int first, second;
    int64_t flops, counted, bytes;
} Pair;

typedef struct {
    Memory *memory;
    int operands, steps, labels;
    const int64_t *extents;
    Term *terms; /* of the operands, then of each step */
    Term output;
    Pair *pairs;
    int *counts;              /* terms left with each label, and the output */
    int *summed_by;           /* the step that sums each label, or -1 */
    int *consumer;            /* of each term: the step that reads it, or -1 */
    int *of_a, *of_b, *stamp; /* by label: the last step whose operand has it */
} Steps;

/* What Python asks for. */
typedef struct {
    PyObject *type, *inputs, *output, *names, *extents, *path;
    int itemsize;
} Asked;

static inline bool times(int64_t *number, int64_t factor) {
    return !__builtin_mul_overflow(*number, factor, number) && *number < INT64_MAX / 8;
}

static bool size_of(const Steps *s, Term term, int64_t *size) {
    *size = 1;
    for (int i = 0; i < term.count; i++)
        if (!times(size, s->extents[term.labels[i]])) return false;
    return true;
}

/* Who reads each term, and who sums each label. A label is summed where the term that is made has it for itself. */
static void find_consumers(Steps *s) {
    int *left = TAKE(s->memory, int, s->labels + 1);
    memcpy(left, s->counts, (size_t)s->labels * sizeof *left);
    for (int i = 0; i < s->labels; i++) s->summed_by[i] = s->stamp[i] = -1;
    for (int i = 0; i < s->operands + s->steps; i++) s->consumer[i] = -1;
    for (int k = 0; k < s->steps; k++) {
        Pair *pair = &s->pairs[k];
        Term a = s->terms[pair->first], b = s->terms[pair->second];
        Term made = {TAKE(s->memory, int, a.count + b.count + 1), 0};
        s->consumer[pair->first] = s->consumer[pair->second] = k;
        for (int i = 0; i < a.count; i++) s->stamp[a.labels[i]] = k;
        for (int i = 0; i < b.count; i++)
            if (s->stamp[b.labels[i]] == k) left[b.labels[i]]--;
        for (int i = 0; i < a.count + b.count; i++) {
            int label = i < a.count ? a.labels[i] : b.labels[i - a.count];
            if (i >= a.count && s->stamp[label] == k) continue;
            if (left[label] == 1) s->summed_by[label] = k;
            else made.labels[made.count++] = label;
        }
        s->terms[s->operands + k] = made; /* in any order, until it is arranged */
    }
}

/* Put labels that the consumer sums behind the others, or before them; both stay in order. */
static void gather(const Steps *s, int *labels, int count, int consumer, bool behind, int *spare) {
    int put = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < count; i++)
            if ((s->summed_by[labels[i]] == consumer) == (behind == (pass == 1))) spare[put++] = labels[i];
    memcpy(labels, spare, (size_t)count * sizeof *labels);
}

static int summed_among(const Steps *s, const int *labels, int count, int consumer) {
    int found = 0;
    for (int i = 0; i < count; i++) found += s->summed_by[labels[i]] == consumer;
    return found;
}

/* One step: its labels, in the order that suits its consumer, and its costs; false where a number is too large. */
static bool arrange(Steps *s, int k, int itemsize) {
    Pair *pair = &s->pairs[k];
    Term a = s->terms[pair->first], b = s->terms[pair->second];
    Term *made = &s->terms[s->operands + k];
    for (int i = 0; i < a.count; i++) s->counts[a.labels[i]]--, s->of_a[a.labels[i]] = k;
    for (int i = 0; i < b.count; i++) s->counts[b.labels[i]]--, s->of_b[b.labels[i]] = k;
    int *free_a = TAKE(s->memory, int, 4 * (a.count + b.count) + 4), *free_b = free_a + a.count + b.count + 1;
    int *batch = free_b + a.count + b.count + 1, *spare = batch + a.count + b.count + 1;
    int in_a = 0, in_b = 0, in_both = 0;
    int64_t size = 1, depth = 1, whole = 1;
    bool summed = false, alone_a = false, alone_b = false;
    for (int i = 0; i < a.count; i++) {
        int label = a.labels[i];
        bool both = s->of_b[label] == k;
        if (s->counts[label]) {
            if (both) batch[in_both++] = label;
            else free_a[in_a++] = label;
            if (!times(&size, s->extents[label])) return false;
        } else if (both) {
            summed = true;
            if (!times(&depth, s->extents[label])) return false;
        } else {
            alone_a = true;
            if (!times(&whole, s->extents[label])) return false;
        }
    }
    for (int i = 0; i < b.count; i++) {
        int label = b.labels[i];
        if (s->of_a[label] == k) continue;
        if (s->counts[label]) free_b[in_b++] = label;
        else alone_b = true;
        if (!times(s->counts[label] ? &size : &whole, s->extents[label])) return false;
    }
    int64_t of_a, of_b;
    if (!size_of(s, a, &of_a) || !size_of(s, b, &of_b)) return false;
    if (k == s->steps - 1) {
        *made = s->output;
    } else {
        int consumer = s->consumer[s->operands + k];
        int first = summed_among(s, free_a, in_a, consumer), second = summed_among(s, free_b, in_b, consumer);
        if (first && first < in_a && SMALLER * of_a <= size) gather(s, free_a, in_a, consumer, second > 0, spare);
        if (second && second < in_b && SMALLER * of_b <= size) gather(s, free_b, in_b, consumer, !first, spare);
        made->count = in_a + in_b + in_both;
        memcpy(made->labels, free_a, (size_t)in_a * sizeof(int));
        memcpy(made->labels + in_a, free_b, (size_t)in_b * sizeof(int));
        memcpy(made->labels + in_a + in_b, batch, (size_t)in_both * sizeof(int));
    }
    for (int i = 0; i < made->count; i++) s->counts[made->labels[i]]++;
    pair->bytes = size;
    if (!times(&pair->bytes, itemsize)) return false;
    pair->counted = size;
    if (!times(&pair->counted, depth)) return false;
    pair->flops = pair->counted * (summed ? 2 : 1) + (alone_a ? of_a : 0) + (alone_b ? of_b : 0);
    return times(&pair->counted, whole) && times(&pair->counted, summed || alone_a || alone_b ? 2 : 1);
}

/* Distinct labels of a tuple, below a bound; false, perhaps with an error set, for others. */
static bool read_term(Steps *s, PyObject *tuple, Term *term, int mark) {
    if (!PyTuple_Check(tuple)) return false;
    term->count = (int)PyTuple_GET_SIZE(tuple);
    term->labels = TAKE(s->memory, int, term->count + 1);
    for (int i = 0; i < term->count; i++) {
        long label = PyLong_AsLong(PyTuple_GET_ITEM(tuple, i));
        if (label < 0 || label >= s->labels || s->stamp[label] == mark) return false;
        s->stamp[label] = mark;
        s->counts[label]++;
        term->labels[i] = (int)label;
    }
    return true;
}

static bool read_path(Steps *s, PyObject *path) {
    for (int k = 0; k < s->steps; k++) {
        PyObject *entry = PyTuple_GET_ITEM(path, k);
        if (!PyTuple_Check(entry) || PyTuple_GET_SIZE(entry) != 2) return false;
        long first = PyLong_AsLong(PyTuple_GET_ITEM(entry, 0)), second = PyLong_AsLong(PyTuple_GET_ITEM(entry, 1));
        long terms = s->operands + k;
        if (first < 0 || second < 0 || first >= terms || second >= terms || first == second) return false;
        s->pairs[k].first = (int)first;
        s->pairs[k].second = (int)second;
    }
    return true;
}

static bool read_all(Steps *s, const Asked *asked) {
    int64_t *numbers = TAKE(s->memory, int64_t, s->labels + 1);
    for (int i = 0; i < s->labels; i++) {
        PyObject *extent = PyTuple_GET_ITEM(asked->extents, i);
        if (!PyLong_Check(extent)) return false; /* the mean of slices is a fraction */
        numbers[i] = PyLong_AsLongLong(extent);
        if (numbers[i] < 0) return false;
    }
    s->extents = numbers;
    s->terms = TAKE(s->memory, Term, s->operands + s->steps);
    s->pairs = ZEROS(s->memory, Pair, s->steps);
    s->counts = ZEROS(s->memory, int, s->labels + 1);
    s->stamp = TAKE(s->memory, int, 4 * s->labels + 4);
    s->of_a = s->stamp + s->labels + 1;
    s->of_b = s->of_a + s->labels + 1;
    s->summed_by = s->of_b + s->labels + 1;
    s->consumer = TAKE(s->memory, int, s->operands + s->steps);
    for (int i = 0; i < s->labels; i++) s->stamp[i] = s->of_a[i] = s->of_b[i] = -1;
    for (int i = 0; i < s->operands; i++)
        if (!read_term(s, PyTuple_GET_ITEM(asked->inputs, i), &s->terms[i], i)) return false;
    return read_term(s, asked->output, &s->output, s->operands) && read_path(s, asked->path);
}

static PyObject *picked(Term term, PyObject *from) {
    PyObject *tuple = PyTuple_New(term.count);
    for (int i = 0; tuple && i < term.count; i++)
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(PyTuple_GET_ITEM(from, term.labels[i])));
    return tuple;
}

static PyObject *labels_of(Term term) {
    PyObject *tuple = PyTuple_New(term.count);
    for (int i = 0; tuple && i < term.count; i++) {
        PyObject *label = PyLong_FromLong(term.labels[i]);
        if (!label) Py_CLEAR(tuple);
        if (tuple) PyTuple_SET_ITEM(tuple, i, label);
    }
    return tuple;
}

static Py_UCS4 *write_term(Py_UCS4 *text, Term term, const Py_UCS4 *names) {
    for (int i = 0; i < term.count; i++) *text++ = names[term.labels[i]];
    return text;
}

/* The room that the longest text takes: from here on objects of Python are made, and no memory is taken. */
static Py_UCS4 *room_for_text(const Steps *s) {
    int most = 0;
    for (int k = 0; k < s->steps; k++) {
        const Pair *pair = &s->pairs[k];
        int count = s->terms[pair->first].count + s->terms[pair->second].count + s->terms[s->operands + k].count;
        if (count > most) most = count;
    }
    return TAKE(s->memory, Py_UCS4, most + 3);
}

static PyObject *text_of(Term a, Term b, Term c, const Py_UCS4 *names, Py_UCS4 *text) {
    Py_UCS4 *end = write_term(text, a, names);
    *end++ = ',';
    end = write_term(end, b, names);
    *end++ = '-';
    *end++ = '>';
    end = write_term(end, c, names);
    return PyUnicode_FromKindAndData(PyUnicode_4BYTE_KIND, text, end - text);
}

/* One step as the named tuple; terms has the labels of operands and results as tuples. */
static PyObject *step_of(const Steps *s, int k, const Asked *asked, const Py_UCS4 *names, Py_UCS4 *room,
                         PyObject *terms) {
    const Pair *pair = &s->pairs[k];
    Term made = s->terms[s->operands + k];
    PyObject *text = text_of(s->terms[pair->first], s->terms[pair->second], made, names, room);
    PyObject *fields = !text
                           ? NULL
                           : Py_BuildValue("(s(ii)(OO)ONNLLL)", "contract", pair->first, pair->second,
                                           PyList_GET_ITEM(terms, pair->first), PyList_GET_ITEM(terms, pair->second),
                                           PyList_GET_ITEM(terms, s->operands + k), text, picked(made, asked->extents),
                                           (long long)pair->flops, (long long)pair->counted, (long long)pair->bytes);
    PyObject *arguments = fields ? PyTuple_Pack(1, fields) : NULL;
    PyObject *step = arguments ? PyTuple_Type.tp_new((PyTypeObject *)asked->type, arguments, NULL) : NULL;
    Py_XDECREF(arguments);
    Py_XDECREF(fields);
    return step;
}

static PyObject *all_steps(const Steps *s, const Asked *asked, const Py_UCS4 *names) {
    Py_UCS4 *room = room_for_text(s);
    PyObject *inputs = asked->inputs;
    PyObject *terms = PyList_New(s->operands + s->steps), *result = PyTuple_New(s->steps);
    for (int i = 0; terms && i < s->operands; i++) PyList_SET_ITEM(terms, i, Py_NewRef(PyTuple_GET_ITEM(inputs, i)));
    for (int k = 0; terms && result && k < s->steps; k++) {
        PyObject *made = labels_of(s->terms[s->operands + k]);
        if (made) PyList_SET_ITEM(terms, s->operands + k, made);
        PyObject *step = made ? step_of(s, k, asked, names, room, terms) : NULL;
        if (!step) Py_CLEAR(result);
        if (result) PyTuple_SET_ITEM(result, k, step);
    }
    if (!terms) Py_CLEAR(result);
    Py_XDECREF(terms);
    return result;
}

/* The character of every label; NULL where one has a longer name. */
static const Py_UCS4 *characters_of(Memory *memory, PyObject *names) {
    Py_ssize_t count = PyTuple_GET_SIZE(names);
    Py_UCS4 *characters = TAKE(memory, Py_UCS4, count + 1);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        if (!PyUnicode_Check(name) || PyUnicode_GET_LENGTH(name) != 1) return NULL;
        characters[i] = PyUnicode_READ_CHAR(name, 0);
    }
    return characters;
}

static PyObject *steps_in(Memory *memory, void *data) {
    const Asked *asked = data;
    Steps s = {
        .memory = memory,
        .operands = (int)PyTuple_GET_SIZE(asked->inputs),
        .steps = (int)PyTuple_GET_SIZE(asked->path),
        .labels = (int)PyTuple_GET_SIZE(asked->extents),
    };
    const Py_UCS4 *characters = characters_of(memory, asked->names);
    bool fits = characters && read_all(&s, asked);
    if (fits) find_consumers(&s);
    for (int k = 0; fits && k < s.steps; k++) fits = arrange(&s, k, asked->itemsize);
    if (fits) return all_steps(&s, asked, characters);
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_OverflowError)) return NULL;
    PyErr_Clear(); /* as it is beyond 64 bits */
    Py_RETURN_NONE;
}

PyObject *build_steps(PyObject *module, PyObject *args) {
    Asked asked;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!O!O!O!O!i", &PyType_Type, &asked.type, &PyTuple_Type, &asked.inputs, &PyTuple_Type,
                          &asked.output, &PyTuple_Type, &asked.names, &PyTuple_Type, &asked.extents, &PyTuple_Type,
                          &asked.path, &asked.itemsize))
        return NULL;
    Py_ssize_t operands = PyTuple_GET_SIZE(asked.inputs), steps = PyTuple_GET_SIZE(asked.path);
    Py_ssize_t labels = PyTuple_GET_SIZE(asked.extents);
    if (operands < 2 || steps != operands - 1 || operands > 1 << 24 || labels > 1 << 24 ||
        labels != PyTuple_GET_SIZE(asked.names) || !PyType_IsSubtype((PyTypeObject *)asked.type, &PyTuple_Type))
        Py_RETURN_NONE;
    return with_memory(steps_in, &asked);
}
