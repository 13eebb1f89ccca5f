/* Runs sequences (sequence.h). Whatever goes wrong, everything that steps have made is given back. */
#include "sequence/sequence.h"

#include "core/caching_allocator.h"
#include "core/threads.h"

#include <stdlib.h>
#include <string.h>

/* A call in progress; the GIL is not needed to read it. */
typedef struct {
    const Sequence *sequence;
    PyObject *const *arguments;
    char **address; /* of every slot */
    void **held;    /* by owner: an object or a buffer, NULL for none */
    char *arena;
    char *region;    /* NULL for none */
    PyObject *given; /* the array of the result, from who called; NULL for none */
} Run;

static char *place_of(const Run *run, const Step *step) {
    return run->region != NULL && step->place >= 0 ? run->region + step->place : NULL;
}

static void *buffer_acquire(const Run *run, const Step *step) {
    const size_t bytes = step->form->bytes;
    if (bytes < ALLOCATOR_SMALLEST) return aligned_alloc(64, (size_t)rounded_up((Index)bytes, 64));
    return run->sequence->region_bytes > 0 ? allocator_acquire_at(place_of(run, step), bytes)
                                           : allocator_acquire(bytes);
}

static void buffer_release(const Run *run, void *buffer, size_t bytes) {
    if (bytes < ALLOCATOR_SMALLEST) free(buffer);
    else if (run->sequence->region_bytes > 0) allocator_release_at(buffer, bytes);
    else allocator_release(buffer, bytes);
}

/* What has no place stays out of the region, which would not be found again while somebody keeps it. */
static PyObject *new_array(const Run *run, const Step *step) {
    if (run->given != NULL && step->result == run->sequence->made_slot) return Py_NewRef(run->given);
    const size_t bytes = step->form->bytes;
    if (run->region == NULL || bytes < ALLOCATOR_LARGE) return array_new(step->form);
    char *place = place_of(run, step);
    void *buffer = place ? allocator_acquire_at(place, bytes)
                         : allocator_acquire_outside(run->region, run->sequence->region_bytes, bytes);
    return array_in_buffer(step->form, buffer);
}

static bool is_buffer(const Run *run, int owner) { return run->sequence->owner_bytes[owner] > 0; }

static void drop(const Run *run, int owner) {
    void *held = run->held[owner];
    run->held[owner] = NULL;
    if (held == NULL) return;
    if (is_buffer(run, owner)) buffer_release(run, held, run->sequence->owner_bytes[owner]);
    else Py_DECREF((PyObject *)held);
}

/* What a step reads last; of a step that computes without the GIL, only buffers. */
static void drop_read(const Run *run, const Step *step, bool buffers) {
    for (int i = 0; i < step->dropped_count; i++)
        if (is_buffer(run, step->dropped[i]) == buffers) drop(run, step->dropped[i]);
}

static PyObject *object_in(const Run *run, int slot) {
    const Sequence *sequence = run->sequence;
    if (slot < sequence->operand_count) return run->arguments[slot];
    return run->held[sequence->owners[slot]];
}

static bool compute_step(const Run *run, const Step *step) {
    char *target = run->address[step->result]; /* of an array that is there already */
    if (step->home == IN_ARENA) target = run->arena + step->place;
    if (step->home == IN_BUFFER) target = run->held[step->owner] = buffer_acquire(run, step);
    if (target == NULL) return false;
    run->address[step->result] = target;
    const char *operands[MOST_READ];
    for (int i = 0; i < step->read_count; i++) operands[i] = run->address[step->read[i]];
    if (!step->compute(step->plan, operands, target)) return false;
    if (step->dropped_count > 0) drop_read(run, step, true);
    return true;
}

/* The steps from begin on; answers which one was out of memory, or the end. */
static int compute_steps(const Run *run, int begin, int end) {
    while (begin < end && compute_step(run, run->sequence->steps + begin)) begin++;
    return begin;
}

/* A fork in progress. */
typedef struct {
    const Run *run;
    const Stretch *stretch;
    int done[2];
} Fork;

static void compute_branches(void *context, Index begin, Index end) {
    Fork *fork = context;
    const Stretch *stretch = fork->stretch;
    for (Index branch = begin; branch < end; branch++)
        fork->done[branch] = branch == 0 ? compute_steps(fork->run, stretch->begin, stretch->middle)
                                         : compute_steps(fork->run, stretch->middle, stretch->end);
}

/* Answers what compute_steps() does: of two steps that failed, the one that comes first in the order that was given. */
static int compute_stretch(const Run *run, const Stretch *stretch) {
    if (stretch->middle == stretch->end) return compute_steps(run, stretch->begin, stretch->end);
    Fork fork = {run, stretch, {stretch->begin, stretch->middle}};
    parallel_for(2, 1, compute_branches, &fork);
    const Step *steps = run->sequence->steps;
    const bool first = fork.done[0] < stretch->middle, second = fork.done[1] < stretch->end;
    if (first && second) return fork.done[steps[fork.done[0]].number > steps[fork.done[1]].number];
    return first ? fork.done[0] : fork.done[1];
}

/* Takes the object. */
static bool hold(const Run *run, const Step *step, PyObject *object) {
    if (object == NULL) return false;
    run->held[step->owner] = object;
    if (!step->is_address_read) return true;
    if (is_array(object)) run->address[step->result] = array_data(object);
    else PyErr_Format(PyExc_TypeError, "a native kernel takes arrays, found %s", Py_TYPE(object)->tp_name);
    return is_array(object);
}

static bool call_step(const Run *run, const Step *step) {
    PyObject *objects[MOST_READ];
    for (int i = 0; i < step->read_count; i++) objects[i] = object_in(run, step->read[i]);
    return hold(run, step, PyObject_Vectorcall(step->kernel, objects, (size_t)step->read_count, NULL));
}

/* Answers the step that failed, with an exception set; or the end. */
static int run_stretch(const Run *run, const Stretch *stretch) {
    const Step *first = run->sequence->steps + stretch->begin, *last = run->sequence->steps + stretch->end - 1;
    int done = stretch->begin;
    if (first->compute == NULL) {
        if (!call_step(run, first)) return done;
        drop_read(run, first, true);
        done++;
    } else {
        if (first->home == IN_ARRAY && !hold(run, first, new_array(run, first))) return done;
        if (stretch->lets_go) {
            Py_BEGIN_ALLOW_THREADS;
            done = compute_stretch(run, stretch);
            Py_END_ALLOW_THREADS;
        } else {
            done = compute_stretch(run, stretch);
        }
        if (done < stretch->end) PyErr_NoMemory();
    }
    if (done == stretch->end) drop_read(run, last, false);
    return done;
}

/* What is raised for what a step raised; exceptions that are no errors, such as KeyboardInterrupt, stay what they are. */
static void fail(const Sequence *sequence, int number) {
    if (!PyErr_ExceptionMatches(PyExc_Exception)) return;
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    if (traceback != NULL) PyException_SetTraceback(error, traceback);
    PyObject *raised = PyObject_CallFunction(sequence->failed, "iO", number, error);
    if (raised != NULL && PyExceptionInstance_Check(raised)) PyErr_SetObject((PyObject *)Py_TYPE(raised), raised);
    else if (raised != NULL) PyErr_Format(PyExc_TypeError, "%R is no exception", raised);
    Py_XDECREF(raised);
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(traceback);
}

static bool run_all(const Run *run) {
    const Sequence *sequence = run->sequence;
    for (int i = 0; i < sequence->reading_count; i++) {
        const Reading *reading = sequence->readings + i;
        const Step *step = sequence->steps + reading->step;
        if (!kernel_takes_array(step->kernel, run->arguments[reading->operand], reading->place)) {
            fail(sequence, step->number);
            return false;
        }
        run->address[reading->operand] = array_data(run->arguments[reading->operand]);
    }
    for (int i = 0; i < sequence->stretch_count; i++) {
        const Stretch *stretch = sequence->stretches + i;
        const int done = run_stretch(run, stretch);
        if (done < stretch->end) {
            fail(sequence, sequence->steps[done].number);
            return false;
        }
        if (i + 1 < sequence->stretch_count && PyErr_CheckSignals() < 0) return false;
    }
    return true;
}

static PyObject *results_of(const Run *run) {
    const Sequence *sequence = run->sequence;
    if (sequence->is_single) return Py_NewRef(object_in(run, sequence->results[0]));
    PyObject *results = PyTuple_New(sequence->result_count);
    for (int i = 0; results != NULL && i < sequence->result_count; i++)
        PyTuple_SET_ITEM(results, i, Py_NewRef(object_in(run, sequence->results[i])));
    return results;
}

PyObject *sequence_call(PyObject *self, PyObject *const *arguments, size_t flagged_count, PyObject *names) {
    const Sequence *sequence = kernel_plan(self);
    if (!kernel_takes(self, flagged_count, names, sequence->operand_count)) return NULL;
    /* Taken before anything runs: signals and other steps may call this very sequence, for results of their own. */
    PyObject *given = array_is_given(&sequence->made) ? array_new(&sequence->made) : NULL;
    char *space = scratch_acquire(sequence->space_bytes);
    if (space == NULL) {
        Py_XDECREF(given);
        return PyErr_NoMemory();
    }
    const size_t addresses = sequence_addresses(sequence), held = (size_t)sequence->owner_count * sizeof(void *);
    Run run = {.sequence = sequence,
               .arguments = arguments,
               .given = given,
               .address = (char **)(void *)space,
               .held = (void **)(void *)(space + addresses),
               .arena = space + sequence->space_bytes - sequence->arena_bytes,
               .region = sequence->region_bytes > 0 ? allocator_reserve(sequence->region_bytes, sequence->largest_bytes)
                                                    : NULL};
    memset(run.held, 0, held);
    PyObject *results = run_all(&run) ? results_of(&run) : NULL;
    for (int owner = 0; owner < sequence->owner_count; owner++) drop(&run, owner);
    scratch_release(space, sequence->space_bytes);
    Py_XDECREF(given);
    return results;
}
