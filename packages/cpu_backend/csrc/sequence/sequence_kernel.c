/* Makes kernels of sequences (sequence.h): reads their steps from Python. */
#include "core/arguments.h"
#include "sequence/sequence_draft.h"
#include "core/topics.h"

#include <stdlib.h>

enum { MOST_STEPS = 1 << 24, FEWEST_STEPS = 2 /* that compute, for a sequence to be worth it */ };
enum { OTHER_KERNEL_BYTES = 200 }; /* what a kernel is counted for whose size is not known */

static void release(void *memory) {
    Sequence *sequence = memory;
    for (int i = 0; sequence->steps != NULL && i < sequence->step_count; i++) Py_XDECREF(sequence->steps[i].kernel);
    Py_XDECREF(sequence->failed);
    free(sequence->steps);
    free(sequence->stretches);
    free(sequence->owner_bytes);
    free(sequence->owners);
    free(sequence->readings);
    free(sequence->results);
    free(sequence);
}

/* A kernel, and the slots that it reads: (kernel, first, second), -1 for what is not there. */
static bool step_read(Step *step, PyObject *item, int number, int slots) {
    if (!PyTuple_Check(item) || PyTuple_GET_SIZE(item) != 1 + MOST_READ) {
        PyErr_Format(PyExc_TypeError, "bind_sequence: expected a kernel and %d slots, found %R", MOST_READ, item);
        return false;
    }
    *step = (Step){.number = number, .result = slots, .owner = -1};
    for (int i = 0; i < MOST_READ; i++) {
        const long slot = PyLong_AsLong(PyTuple_GET_ITEM(item, 1 + i));
        if (slot == -1 && PyErr_Occurred()) return false;
        if (slot < -1 || slot >= slots) return sequence_refuse("reads a slot that nothing has filled", number);
        if (slot < 0) continue;
        if (i > step->read_count) return sequence_refuse("has a second operand and no first", number);
        step->read[step->read_count++] = (int)slot;
    }
    step->kernel = Py_NewRef(PyTuple_GET_ITEM(item, 0));
    if (Py_TYPE(step->kernel) != &Kernel_Type) return true;
    const Kernel *kernel = (Kernel *)step->kernel;
    if (kernel->compute == NULL) return true;
    if (kernel->operand_count != step->read_count)
        return sequence_refuse("has another number of operands than its kernel", number);
    step->compute = kernel->compute;
    step->plan = kernel->plan;
    step->form = kernel->result;
    return true;
}

static bool steps_read(Sequence *sequence, PyObject *steps) {
    PyObject *items = PySequence_Fast(steps, "bind_sequence: expected a sequence of steps");
    if (items == NULL) return false;
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(items);
    bool good = count <= MOST_STEPS;
    if (!good) PyErr_Format(PyExc_ValueError, "bind_sequence: %zd steps are too many", count);
    sequence->steps = good ? calloc((size_t)count + 1, sizeof *sequence->steps) : NULL;
    if (good && sequence->steps == NULL) {
        PyErr_NoMemory();
        good = false;
    }
    for (int i = 0; good && i < (int)count; i++) {
        sequence->step_count++;
        good = step_read(sequence->steps + i, PySequence_Fast_GET_ITEM(items, i), i, sequence->operand_count + i);
    }
    Py_DECREF(items);
    return good;
}

static bool results_read(Sequence *sequence, PyObject *results) {
    const int slots = sequence->slot_count = sequence->operand_count + sequence->step_count;
    sequence->is_single = PyLong_Check(results);
    if (!sequence->is_single && !PyTuple_Check(results)) {
        PyErr_Format(PyExc_TypeError, "bind_sequence: expected a slot or a tuple of slots, found %R", results);
        return false;
    }
    sequence->result_count = sequence->is_single ? 1 : (int)PyTuple_GET_SIZE(results);
    sequence->results = calloc((size_t)sequence->result_count + 1, sizeof *sequence->results);
    if (sequence->results == NULL) {
        PyErr_NoMemory();
        return false;
    }
    for (int i = 0; i < sequence->result_count; i++) {
        const long slot = PyLong_AsLong(sequence->is_single ? results : PyTuple_GET_ITEM(results, i));
        if (slot == -1 && PyErr_Occurred()) return false;
        if (slot < 0 || slot >= slots) {
            PyErr_Format(PyExc_ValueError, "bind_sequence: slot %ld is no result", slot);
            return false;
        }
        sequence->results[i] = (int)slot;
    }
    return true;
}

/* Bytes that live as long as the sequence: kernels that are used twice are counted twice. */
static size_t bytes_of(const Sequence *sequence) {
    size_t bytes = sizeof *sequence;
    for (int i = 0; i < sequence->step_count; i++) {
        PyObject *kernel = sequence->steps[i].kernel;
        bytes += Py_TYPE(kernel) == &Kernel_Type ? sizeof(Kernel) + ((const Kernel *)kernel)->more_bytes
                                                 : OTHER_KERNEL_BYTES;
        bytes += sizeof(Step) + sizeof(Stretch) + sizeof(size_t) + sizeof(int) + MOST_READ * sizeof(Reading);
    }
    return bytes;
}

static int computing_steps(const Sequence *sequence) {
    int count = 0;
    for (int i = 0; i < sequence->step_count; i++) count += sequence->steps[i].compute != NULL;
    return count;
}

/* Whether the only result is an array that a step makes before it computes, and which one that is. */
static bool find_made(Sequence *sequence) {
    sequence->made_slot = -1;
    for (int i = 0; sequence->is_single && i < sequence->step_count; i++) {
        const Step *step = sequence->steps + i;
        if (step->result != sequence->results[0] || step->home != IN_ARRAY) continue;
        sequence->made = *step->form;
        sequence->made_slot = step->result;
    }
    return sequence->made_slot >= 0;
}

/* bind_sequence(number of operands, steps, results, failed): a kernel of all steps; None where few of them compute. */
static PyObject *bind_sequence(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (!arguments_count("bind_sequence", count, 4, "a number of operands, steps, results and a function")) return NULL;
    const long operands = PyLong_AsLong(arguments[0]);
    if (operands == -1 && PyErr_Occurred()) return NULL;
    if (operands < 0 || operands > MOST_STEPS)
        return PyErr_Format(PyExc_ValueError, "bind_sequence: there are no %ld operands", operands);
    Sequence *sequence = calloc(1, sizeof *sequence);
    if (sequence == NULL) return PyErr_NoMemory();
    sequence->operand_count = (int)operands;
    sequence->failed = Py_NewRef(arguments[3]);
    const bool read = steps_read(sequence, arguments[1]) && results_read(sequence, arguments[2]);
    const bool pays = read && computing_steps(sequence) >= FEWEST_STEPS;
    if (!pays || !sequence_plan(sequence)) {
        release(sequence);
        if (pays || !read) return NULL;
        Py_RETURN_NONE;
    }
    const size_t held = (size_t)sequence->owner_count * sizeof(void *);
    sequence->space_bytes = (size_t)rounded_up((Index)(sequence_addresses(sequence) + held), CACHE_LINE);
    sequence->space_bytes += sequence->arena_bytes;
    const long long entries = (long long)(bytes_of(sequence) / sizeof(int64_t));
    const bool makes = find_made(sequence);
    PyObject *kernel = kernel_with_tables(kernel_new("sequence", sequence_call, sequence, release), entries);
    return makes ? kernel_makes(kernel, &sequence->made, false) : kernel;
}

/* sequence_facts(kernel): what a sequence is made of, for tests. */
static PyObject *sequence_facts(PyObject *module, PyObject *kernel) {
    (void)module;
    if (Py_TYPE(kernel) != &Kernel_Type || ((Kernel *)kernel)->call != sequence_call)
        return PyErr_Format(PyExc_TypeError, "%R is no sequence", kernel);
    const Sequence *sequence = kernel_plan(kernel);
    int forks = 0;
    for (int i = 0; i < sequence->stretch_count; i++)
        forks += sequence->stretches[i].middle < sequence->stretches[i].end;
    return Py_BuildValue("{s:i,s:i,s:i,s:n,s:n}", "steps", sequence->step_count, "stretches", sequence->stretch_count,
                         "forks", forks, "arena_bytes", (Py_ssize_t)sequence->arena_bytes, "region_bytes",
                         (Py_ssize_t)sequence->region_bytes);
}

PyMethodDef sequence_functions[] = {
    {"sequence_facts", sequence_facts, METH_O, "Steps, stretches and forks of a sequence, bytes of arena and region."},
    {"bind_sequence", (PyCFunction)(void (*)(void))bind_sequence, METH_FASTCALL,
     "A kernel that runs others one after another; None where that is no gain."},
    {NULL, NULL, 0, NULL},
};
