/* Plans sequences (sequence.h): which results need an object, where the others lie, and what runs in one stretch.
 *
 * The arena's places are given out in the order of the steps, each the first that is free and large enough, so that it
 * is about as large as all that lies in it at one time. It holds results of less than ALLOCATOR_SMALLEST bytes, and is
 * never larger than LARGEST_ARENA: a call takes all of it from the first step to the last, beside buffers that come and
 * go. Offsets are multiples of a cache line.
 */
#include "core/sequence.h"

#include "core/arguments.h"
#include "core/caching_allocator.h"
#include "core/topics.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_ARENA = 1 << 20, LINE = 64 }; /* bytes */
enum { MOST_STEPS = 1 << 24, FEWEST_STEPS = 2 /* that compute, for a sequence to be worth it */ };
enum { OTHER_KERNEL_BYTES = 200 };             /* what a kernel is counted for whose size is not known */
static const double LONGEST_STRETCH = 1000000; /* nanoseconds, after which signals are looked at */

typedef struct {
    Index begin, end;
} Interval;

/* What is known of slots and steps while the plan is made. */
typedef struct {
    Sequence *sequence;
    int *root;              /* by slot: the slot whose address it has */
    int *last_read;         /* by root: the number of the last step that reads it; INT_MAX for results */
    bool *needs_object;     /* by slot */
    bool *is_computed_from; /* by root: a step reads its address */
    Step *maker;            /* by slot: of all steps, those of SAME_ADDRESS too */
    Interval *used;         /* of the arena, in order */
    int used_count;
} Draft;

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

static bool refuse(const char *what, int number) {
    PyErr_Format(PyExc_ValueError, "bind_sequence: step %d %s", number, what);
    return false;
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
        if (slot < -1 || slot >= slots) return refuse("reads a slot that nothing has filled", number);
        if (slot < 0) continue;
        if (i > step->read_count) return refuse("has a second operand and no first", number);
        step->read[step->read_count++] = (int)slot;
    }
    step->kernel = Py_NewRef(PyTuple_GET_ITEM(item, 0));
    if (Py_TYPE(step->kernel) != &Kernel_Type) return true;
    const Kernel *kernel = (Kernel *)step->kernel;
    if (kernel->compute == NULL) return true;
    if (kernel->operand_count != step->read_count)
        return refuse("has another number of operands than its kernel", number);
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

/* Whether the kernel says that it gives a view that begins where its operand does. */
static bool keeps_address(PyObject *kernel) {
    PyObject *said = PyObject_GetAttrString(kernel, "keeps_address");
    if (said == NULL) PyErr_Clear();
    const bool keeps = said == Py_True;
    Py_XDECREF(said);
    return keeps;
}

/* Backwards: what is called needs objects, unless it is a view of which nobody needs one. */
static void find_objects(Draft *draft) {
    Sequence *sequence = draft->sequence;
    for (int i = 0; i < sequence->result_count; i++) draft->needs_object[sequence->results[i]] = true;
    for (int i = sequence->step_count - 1; i >= 0; i--) {
        Step *step = sequence->steps + i;
        if (step->compute != NULL) continue;
        if (step->read_count == 1 && !draft->needs_object[step->result] && keeps_address(step->kernel)) continue;
        step->home = IN_OBJECT;
        for (int k = 0; k < step->read_count; k++) draft->needs_object[step->read[k]] = true;
    }
}

/* Whether a step that computes finds what it was bound to where another one has computed. */
static bool suits(const Draft *draft, const Step *step, int place) {
    const int slot = step->read[place] - draft->sequence->operand_count;
    if (slot < 0 || draft->sequence->steps[slot].compute == NULL) return true;
    const ArrayForm *made = draft->sequence->steps[slot].form;
    const Operand *operand = (const Operand *)((Kernel *)step->kernel)->operands + place;
    const Reach *reach = &operand->reach;
    return operand->type == made->type && (reach->size == 0 || (reach->low >= 0 && reach->high < made->size));
}

/* Forwards: views become what they are views of, and every slot learns who reads it last. */
static bool find_readers(Draft *draft) {
    Sequence *sequence = draft->sequence;
    for (int slot = 0; slot < sequence->slot_count; slot++) draft->root[slot] = slot;
    for (int i = 0; i < sequence->step_count; i++) {
        Step *step = sequence->steps + i;
        draft->last_read[step->result] = i;
        for (int k = 0; k < step->read_count; k++) {
            step->read[k] = draft->root[step->read[k]];
            draft->last_read[step->read[k]] = i;
            if (step->compute == NULL) continue;
            draft->is_computed_from[step->read[k]] = true;
            if (!suits(draft, step, k)) return refuse("reads another array than it was bound to", i);
        }
        if (step->compute == NULL && step->home == SAME_ADDRESS) draft->root[step->result] = step->read[0];
    }
    for (int i = 0; i < sequence->result_count; i++) draft->last_read[sequence->results[i]] = INT_MAX;
    return true;
}

/* The first place that is free; -1 where there is none. */
static Index arena_take(Draft *draft, size_t bytes) {
    const Index size = rounded_up(bytes > 0 ? (Index)bytes : 1, LINE);
    Index begin = 0;
    int at = 0;
    for (; at < draft->used_count && draft->used[at].begin - begin < size; at++) begin = draft->used[at].end;
    if (begin + size > LARGEST_ARENA) return -1;
    memmove(draft->used + at + 1, draft->used + at, (size_t)(draft->used_count - at) * sizeof *draft->used);
    draft->used[at] = (Interval){begin, begin + size};
    draft->used_count++;
    if ((size_t)(begin + size) > draft->sequence->arena_bytes) draft->sequence->arena_bytes = (size_t)(begin + size);
    return begin;
}

static void arena_give_back(Draft *draft, Index begin) {
    int at = 0;
    while (draft->used[at].begin != begin) at++;
    draft->used_count--;
    memmove(draft->used + at, draft->used + at + 1, (size_t)(draft->used_count - at) * sizeof *draft->used);
}

static void own(Sequence *sequence, Step *step, size_t bytes) {
    step->owner = sequence->owner_count++;
    sequence->owner_bytes[step->owner] = bytes;
    sequence->owners[step->result] = step->owner;
}

static void choose_home(Draft *draft, Step *step) {
    Sequence *sequence = draft->sequence;
    step->is_address_read = draft->is_computed_from[step->result] || step->compute != NULL;
    if (step->compute != NULL && !draft->needs_object[step->result]) {
        const size_t bytes = step->form->bytes;
        step->place = bytes < ALLOCATOR_SMALLEST ? arena_take(draft, bytes) : -1;
        step->home = step->place >= 0 ? IN_ARENA : IN_BUFFER;
        if (step->home == IN_BUFFER) own(sequence, step, bytes);
        return;
    }
    if (step->compute != NULL) step->home = IN_ARRAY;
    own(sequence, step, 0);
}

/* What nobody reads after this step, or at all, goes. */
static void drop_after(Draft *draft, Step *step) {
    const int operands = draft->sequence->operand_count;
    const int seen[] = {step->result, step->read[0], step->read[1]};
    for (int i = 0; i < 1 + step->read_count; i++) {
        const int slot = seen[i];
        if (slot < operands || draft->last_read[slot] != step->number || (i == 2 && slot == seen[1])) continue;
        const Step *made = draft->maker + slot - operands;
        if (made->home == IN_ARENA) arena_give_back(draft, made->place);
        else step->dropped[step->dropped_count++] = made->owner;
    }
}

static bool drops_object(const Sequence *sequence, const Step *step) {
    for (int i = 0; i < step->dropped_count; i++)
        if (sequence->owner_bytes[step->dropped[i]] == 0) return true;
    return false;
}

static void add_readings(Sequence *sequence, int number) {
    const Step *step = sequence->steps + number;
    for (int i = 0; step->compute != NULL && i < step->read_count; i++)
        if (step->read[i] < sequence->operand_count)
            sequence->readings[sequence->reading_count++] = (Reading){number, i, step->read[i]};
}

/* Leaves out the steps that are none, finds a home for the results of the others, and cuts stretches. */
static void arrange(Draft *draft) {
    Sequence *sequence = draft->sequence;
    Stretch *stretch = NULL;
    double time = 0.0;
    int kept = 0;
    for (int i = 0; i < sequence->step_count; i++) {
        Step step = draft->maker[i];
        if (step.compute == NULL && step.home == SAME_ADDRESS) {
            Py_CLEAR(step.kernel);
            continue;
        }
        choose_home(draft, &step);
        draft->maker[i] = step;
        drop_after(draft, &step);
        const double takes = step.compute != NULL ? ((Kernel *)step.kernel)->nanoseconds : 0.0;
        const Step *before = kept > 0 ? sequence->steps + kept - 1 : NULL;
        if (before == NULL || before->compute == NULL || step.compute == NULL || step.home == IN_ARRAY ||
            time >= LONGEST_STRETCH || drops_object(sequence, before)) {
            stretch = sequence->stretches + sequence->stretch_count++;
            stretch->begin = kept;
            time = 0.0;
        }
        time += takes;
        sequence->steps[kept] = step;
        add_readings(sequence, kept);
        kept++;
        stretch->end = kept;
        stretch->lets_go = time >= WORTH_NO_GIL;
    }
    sequence->step_count = kept;
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

static bool plan_steps(Sequence *sequence) {
    const size_t steps = (size_t)sequence->step_count + 1, slots = (size_t)sequence->operand_count + steps;
    Draft draft = {.sequence = sequence};
    draft.root = calloc(slots, sizeof *draft.root);
    draft.last_read = calloc(slots, sizeof *draft.last_read);
    draft.needs_object = calloc(slots, sizeof *draft.needs_object);
    draft.is_computed_from = calloc(slots, sizeof *draft.is_computed_from);
    draft.maker = calloc(steps, sizeof *draft.maker);
    draft.used = calloc(steps, sizeof *draft.used);
    sequence->stretches = calloc(steps, sizeof *sequence->stretches);
    sequence->owner_bytes = calloc(steps, sizeof *sequence->owner_bytes);
    sequence->owners = calloc(slots, sizeof *sequence->owners);
    sequence->readings = calloc(MOST_READ * steps, sizeof *sequence->readings);
    bool good = draft.root && draft.last_read && draft.needs_object && draft.is_computed_from && draft.maker &&
                draft.used && sequence->stretches && sequence->owner_bytes && sequence->owners && sequence->readings;
    if (!good) PyErr_NoMemory();
    if (good) find_objects(&draft);
    if (good) good = find_readers(&draft);
    if (good) {
        memcpy(draft.maker, sequence->steps, (size_t)sequence->step_count * sizeof *draft.maker);
        arrange(&draft);
    }
    free(draft.root);
    free(draft.last_read);
    free(draft.needs_object);
    free(draft.is_computed_from);
    free(draft.maker);
    free(draft.used);
    return good;
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
    if (!pays || !plan_steps(sequence)) {
        release(sequence);
        if (pays || !read) return NULL;
        Py_RETURN_NONE;
    }
    const size_t held = (size_t)sequence->owner_count * sizeof(void *);
    sequence->space_bytes = (size_t)rounded_up((Index)(sequence_addresses(sequence) + held), LINE);
    sequence->space_bytes += sequence->arena_bytes;
    const long long entries = (long long)(bytes_of(sequence) / sizeof(int64_t));
    return kernel_with_tables(kernel_new("sequence", sequence_call, sequence, release), entries);
}

PyMethodDef sequence_functions[] = {
    {"bind_sequence", (PyCFunction)(void (*)(void))bind_sequence, METH_FASTCALL,
     "A kernel that runs others one after another; None where that is no gain."},
    {NULL, NULL, 0, NULL},
};
