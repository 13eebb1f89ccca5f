/* The extension module tensor_einsum._native: functions from numbers to numbers, and the type of cached calls. */
#include "calls.h"
#include "guard.h"
#include "layouts.h"
#include "lives.h"
#include "reading.h"
#include "search.h"
#include "steps.h"

static const char *const METHOD_NAMES[METHODS] = {
    [GREEDY] = "greedy",       [SWEEP] = "sweep",         [DIRECTION] = "direction",
    [BISECTION] = "bisection", [ANNEALING] = "annealing", [EXACT_TREE] = "exact",
};
static const char *const REASONS[] = {
    [EXACT] = "exact",        [BY_ROTATIONS] = "rotations",  [BY_SHARE] = "share",
    [BY_SECONDS] = "seconds", [INTERRUPTED] = "interrupted", [SETTLED] = "settled",
};

/* Numbers below a bound from a tuple; false with an error set. */
static bool read_numbers(PyObject *tuple, int bound, int *numbers) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        long number = PyLong_AsLong(PyTuple_GET_ITEM(tuple, i));
        if (number == -1 && PyErr_Occurred()) return false;
        if (number < 0 || number >= bound) {
            PyErr_Format(PyExc_ValueError, "label %ld of %d", number, bound);
            return false;
        }
        numbers[i] = (int)number;
    }
    return true;
}

/* The network, in memory of the caller's; false with an error set. */
static bool read_network(Memory *memory, PyObject *inputs, PyObject *output, PyObject *bits, Description *network) {
    Py_ssize_t terms = PyTuple_GET_SIZE(inputs), labels = PyTuple_GET_SIZE(bits), total = 0;
    if (terms < 1 || terms > 1 << 24 || labels > 1 << 24) {
        PyErr_SetString(PyExc_ValueError, "too many operands or labels, or none");
        return false;
    }
    int *starts = TAKE(memory, int, terms + 1);
    for (Py_ssize_t i = 0; i < terms; i++) {
        PyObject *term = PyTuple_GET_ITEM(inputs, i);
        if (!PyTuple_Check(term) || total + PyTuple_GET_SIZE(term) > 1 << 28) {
            PyErr_SetString(PyExc_TypeError, "operands are tuples of labels");
            return false;
        }
        starts[i] = (int)total;
        total += PyTuple_GET_SIZE(term);
    }
    starts[terms] = (int)total;
    int *numbers = TAKE(memory, int, total + 1), *kept = TAKE(memory, int, PyTuple_GET_SIZE(output) + 1);
    double *log_extents = TAKE(memory, double, labels + 1);
    bool *in_output = ZEROS(memory, bool, labels + 1);
    for (Py_ssize_t i = 0; i < terms; i++)
        if (!read_numbers(PyTuple_GET_ITEM(inputs, i), (int)labels, numbers + starts[i])) return false;
    if (!read_numbers(output, (int)labels, kept)) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(output); i++) in_output[kept[i]] = true;
    for (Py_ssize_t i = 0; i < labels; i++) {
        log_extents[i] = PyFloat_AsDouble(PyTuple_GET_ITEM(bits, i));
        if (PyErr_Occurred()) return false;
    }
    *network = (Description){(int)terms,  (int)labels, starts, numbers,
                             log_extents, in_output,   kept,   (int)PyTuple_GET_SIZE(output)};
    return true;
}

/* Whether a signal's handler has raised; asked without the interpreter's lock, by the thread that called. */
static bool interrupted(void *data) {
    PyThreadState **state = data;
    PyEval_RestoreThread(*state);
    bool raised = PyErr_CheckSignals() < 0;
    *state = PyEval_SaveThread();
    return raised;
}

static PyObject *pairs(const int *numbers, int count) {
    PyObject *result = PyTuple_New(count);
    for (int i = 0; result && i < count; i++) {
        PyObject *pair = Py_BuildValue("(ii)", numbers[2 * i], numbers[2 * i + 1]);
        if (!pair) Py_CLEAR(result);
        if (pair) PyTuple_SET_ITEM(result, i, pair);
    }
    return result;
}

static PyObject *sliced(const Outcome *outcome) {
    PyObject *result = PyTuple_New(outcome->sliced_count);
    for (int i = 0; result && i < outcome->sliced_count; i++) {
        PyObject *label = PyLong_FromLong(outcome->sliced[i]);
        if (!label) Py_CLEAR(result);
        if (label) PyTuple_SET_ITEM(result, i, label);
    }
    return result;
}

/* Methods that were used: name, times, log2 of the best cost. */
static PyObject *tried(const Outcome *outcome) {
    PyObject *result = PyList_New(0);
    for (int i = 0; result && i < METHODS; i++) {
        if (!outcome->times[i]) continue;
        PyObject *one = Py_BuildValue("(sid)", METHOD_NAMES[i], outcome->times[i], outcome->best[i]);
        if (!one || PyList_Append(result, one) < 0) Py_CLEAR(result);
        Py_XDECREF(one);
    }
    return result;
}

static PyObject *history(const Outcome *outcome) {
    PyObject *result = PyList_New(0);
    for (int i = 0; result && i < outcome->history_count; i++) {
        Progress step = outcome->history[i];
        PyObject *one = Py_BuildValue("(Ldd)", (long long)step.rotations, step.products, step.size);
        if (!one || PyList_Append(result, one) < 0) Py_CLEAR(result);
        Py_XDECREF(one);
    }
    return result;
}

static PyObject *result_of(const Outcome *outcome, int terms) {
    Measure m = outcome->measure;
    return Py_BuildValue("{s:N,s:N,s:(dddd),s:L,s:d,s:N,s:N,s:s}", "path", pairs(outcome->path, terms - 1), "sliced",
                         sliced(outcome), "measure", m.products, m.elements, m.size, m.peak, "rotations",
                         (long long)outcome->rotations, "rotation_seconds", outcome->rotation_seconds, "tried",
                         tried(outcome), "history", history(outcome), "stopped", REASONS[outcome->reason]);
}

typedef struct {
    PyObject *inputs, *output, *bits;
    Request request;
} AskedSearch;

static PyObject *search_in(Memory *memory, void *data) {
    AskedSearch *asked = data;
    Request *request = &asked->request;
    Outcome *outcome = ZEROS(memory, Outcome, 1);
    if (!read_network(memory, asked->inputs, asked->output, asked->bits, &request->network)) return NULL;
    PyThreadState *state = PyEval_SaveThread();
    request->data = &state;
    bool done = search_run(memory, request, outcome);
    PyEval_RestoreThread(state);
    bool raised = PyErr_Occurred(), anytime = request->seconds < INFINITY;
    if (!done && !raised) PyErr_NoMemory();
    if (done && raised && anytime && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt))
        PyErr_Clear(); /* Ctrl-C ends such a search, and not what called it */
    return PyErr_Occurred() ? NULL : result_of(outcome, request->network.terms);
}

static PyObject *search(PyObject *module, PyObject *args) {
    int smallest, timed;
    unsigned long long seed;
    AskedSearch asked = {.request = {.begun = seconds_now(), .interrupted = interrupted}};
    Request *request = &asked.request;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!O!ppdddddddddddKi", &PyTuple_Type, &asked.inputs, &PyTuple_Type, &asked.output,
                          &PyTuple_Type, &asked.bits, &smallest, &timed, &request->element_products,
                          &request->cache.bits, &request->cache.uncached, &request->product_rate,
                          &request->element_rate, &request->step_seconds, &request->rotations, &request->share,
                          &request->seconds, &request->most_rotations, &request->largest, &seed, &request->threads))
        return NULL;
    request->smallest = smallest;
    request->timed = timed;
    request->seed = seed;
    if (request->threads < 1) request->threads = 1;
    return with_memory(search_in, &asked);
}

/* Labels of a tuple, in memory of the caller's; false with an error set. */
static bool read_order(Memory *memory, PyObject *tuple, int labels, Order *order) {
    if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) > 1 << 24) {
        PyErr_SetString(PyExc_TypeError, "labels are tuples of numbers");
        return false;
    }
    order->count = (int)PyTuple_GET_SIZE(tuple);
    int *numbers = TAKE(memory, int, order->count + 1);
    order->labels = numbers;
    return read_numbers(tuple, labels, numbers);
}

static bool read_step(Memory *memory, PyObject *tuple, int labels, int slots, Layout *step) {
    PyObject *order;
    if (!PyTuple_Check(tuple) || !PyArg_ParseTuple(tuple, "iiO", &step->first, &step->second, &order)) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "steps are tuples");
        return false;
    }
    if (step->first < 0 || step->first >= slots || step->second < -1 || step->second >= slots) {
        PyErr_SetString(PyExc_ValueError, "a step reads what is not there yet");
        return false;
    }
    return read_order(memory, order, labels, &step->usual);
}

/* The chosen orders, or None where all are the usual ones. */
static PyObject *chosen_orders(const Layout *steps, Py_ssize_t count) {
    PyObject *result = PyTuple_New(count);
    for (Py_ssize_t i = 0; result && i < count; i++) {
        const Order *order = &steps[i].chosen;
        PyObject *labels = PyTuple_New(order->count);
        for (int k = 0; labels && k < order->count; k++) {
            PyObject *label = PyLong_FromLong(order->labels[k]);
            if (!label) Py_CLEAR(labels);
            if (label) PyTuple_SET_ITEM(labels, k, label);
        }
        if (!labels) Py_CLEAR(result);
        if (labels) PyTuple_SET_ITEM(result, i, labels);
    }
    return result;
}

/* Stops at what is no number, with an error set. */
static void read_extents(PyObject *lengths, double *extents) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(lengths) && !PyErr_Occurred(); i++)
        extents[i] = PyFloat_AsDouble(PyTuple_GET_ITEM(lengths, i));
}

typedef struct {
    PyObject *lengths, *terms, *list;
    double worth;
} AskedLayouts;

static PyObject *layouts_in(Memory *memory, void *data) {
    const AskedLayouts *asked = data;
    PyObject *terms = asked->terms, *list = asked->list;
    const int labels = (int)PyTuple_GET_SIZE(asked->lengths), operands = (int)PyTuple_GET_SIZE(terms);
    const int count = (int)PyList_GET_SIZE(list);
    double *extents = TAKE(memory, double, labels + 1);
    Order *orders = TAKE(memory, Order, operands + 1);
    Layout *steps = TAKE(memory, Layout, count + 1);
    read_extents(asked->lengths, extents);
    for (int i = 0; i < operands && !PyErr_Occurred(); i++)
        read_order(memory, PyTuple_GET_ITEM(terms, i), labels, &orders[i]);
    for (int i = 0; i < count && !PyErr_Occurred(); i++)
        read_step(memory, PyList_GET_ITEM(list, i), labels, operands + i, &steps[i]);
    if (PyErr_Occurred()) return NULL;
    if (layouts_choose(memory, extents, labels, orders, operands, steps, count, asked->worth))
        return chosen_orders(steps, count);
    Py_RETURN_NONE;
}

static PyObject *layouts(PyObject *module, PyObject *args) {
    AskedLayouts asked;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!O!d", &PyTuple_Type, &asked.lengths, &PyTuple_Type, &asked.terms, &PyList_Type,
                          &asked.list, &asked.worth))
        return NULL;
    const Py_ssize_t labels = PyTuple_GET_SIZE(asked.lengths), operands = PyTuple_GET_SIZE(asked.terms);
    if (labels > 1 << 24 || operands > 1 << 24 || PyList_GET_SIZE(asked.list) > 1 << 24)
        return PyErr_Format(PyExc_ValueError, "too many operands, labels or steps");
    return with_memory(layouts_in, &asked);
}

typedef struct {
    PyObject *lengths, *terms[3];
    int closely;
} AskedProduct;

static PyObject *product_cost_in(Memory *memory, void *data) {
    const AskedProduct *asked = data;
    const int labels = (int)PyTuple_GET_SIZE(asked->lengths);
    double numbers[MOST_AXES], strides[3][MOST_AXES];
    memset(strides, 0, sizeof strides);
    Extents extents = {numbers, {strides[0], strides[1], strides[2]}, asked->closely != 0};
    Order orders[3];
    read_extents(asked->lengths, numbers);
    for (int i = 0; i < 3 && !PyErr_Occurred(); i++) read_order(memory, asked->terms[i], labels, &orders[i]);
    if (PyErr_Occurred()) return NULL;
    Factors factors = factors_laid(&extents, orders[0], orders[1]);
    return PyFloat_FromDouble(contraction_cost(&extents, &factors, orders[2], INFINITY));
}

static PyObject *product_cost(PyObject *module, PyObject *args) {
    AskedProduct asked;
    (void)module;
    asked.closely = false;
    if (!PyArg_ParseTuple(args, "O!OOO|p", &PyTuple_Type, &asked.lengths, &asked.terms[0], &asked.terms[1],
                          &asked.terms[2], &asked.closely))
        return NULL;
    if (PyTuple_GET_SIZE(asked.lengths) > MOST_AXES)
        return PyErr_Format(PyExc_ValueError, "%zd labels of at most %d", PyTuple_GET_SIZE(asked.lengths), MOST_AXES);
    return with_memory(product_cost_in, &asked);
}

static PyMethodDef functions[] = {
    {"product_cost", product_cost, METH_VARARGS,
     "What layouts(), or the search of few terms, which looks closely, takes a step to cost, in nanoseconds."},
    {"layouts", layouts, METH_VARARGS, "Choose the orders of the labels of every step's result."},
    {"search", search, METH_VARARGS,
     "Search for a tree; numbers are logarithms to the base 2, and infinite where there is no limit."},
    {"read_plain", (PyCFunction)(void (*)(void))read_plain, METH_FASTCALL, "Read a notation as most are, or None."},
    {"lives", lives, METH_VARARGS, "Bytes alive in every step of a path whose labels are cut, or None."},
    {"excesses", excesses, METH_VARARGS, "Bytes above a limit with one more label cut, for some labels, or None."},
    {"build_steps", build_steps, METH_VARARGS, "The steps of a path of pairs, or None."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)calls_add_to},
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
    {0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "tensor_einsum._native",
    .m_doc = "The native search for contraction orders, and calls of kernels that are known.",
    .m_size = 0,
    .m_methods = functions,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__native(void); /* found by its name */
PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&definition); }
