/* Plans sequences (sequence.h): which results need an object, where the others lie, and what runs in one stretch.
 *
 * The arena's places are given out in the order of the steps, each the first that is free and large enough, so that it
 * is about as large as all that lies in it at one time. It holds results of less than ALLOCATOR_SMALLEST bytes, and is
 * never larger than LARGEST_ARENA, or twice that where two branches have arenas of their own in it: a call takes all of
 * it from the first step to the last, beside buffers that come and go. Offsets are multiples of a cache line.
 */
#include "sequence/sequence_draft.h"

#include "core/caching_allocator.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_ARENA = 1 << 20 };              /* bytes */
static const double LONGEST_STRETCH = 1000000; /* nanoseconds, after which signals are looked at */

bool sequence_refuse(const char *what, int number) {
    PyErr_Format(PyExc_ValueError, "bind_sequence: step %d %s", number, what);
    return false;
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
    const Operand *operand = ((Kernel *)step->kernel)->operands + place;
    const Reach *reach = &operand->reach;
    return operand->type == made->type && (reach->size == 0 || (reach->low >= 0 && reach->high < made->size));
}

/* Forwards: views become what they are views of, and every slot learns how many read it. */
static bool find_readers(Draft *draft) {
    Sequence *sequence = draft->sequence;
    for (int slot = 0; slot < sequence->slot_count; slot++) draft->root[slot] = slot;
    for (int i = 0; i < sequence->step_count; i++) {
        Step *step = sequence->steps + i;
        const bool is_same = step->compute == NULL && step->home == SAME_ADDRESS;
        for (int k = 0; k < step->read_count; k++) {
            step->read[k] = draft->root[step->read[k]];
            draft->readers[step->read[k]] += !is_same && !reads_again(step, k);
            if (step->compute == NULL) continue;
            draft->is_computed_from[step->read[k]] = true;
            if (!suits(draft, step, k)) return sequence_refuse("reads another array than it was bound to", i);
        }
        if (is_same) draft->root[step->result] = step->read[0];
    }
    for (int i = 0; i < sequence->result_count; i++) draft->readers[sequence->results[i]]++;
    return true;
}

/* In the order in which steps run: who reads each slot last. */
static void find_last_readers(Draft *draft) {
    Sequence *sequence = draft->sequence;
    for (int place = 0; place < sequence->step_count; place++) {
        const Step *step = draft->maker + draft->order[place];
        draft->last_read[step->result] = place;
        if (step->compute == NULL && step->home == SAME_ADDRESS) continue; /* which is no step */
        for (int k = 0; k < step->read_count; k++) draft->last_read[step->read[k]] = place;
    }
    for (int i = 0; i < sequence->result_count; i++) draft->last_read[sequence->results[i]] = INT_MAX;
}

/* The first place that is free; -1 where there is none that ends within so many bytes. */
static Index arena_take(Draft *draft, size_t bytes, Index most) {
    const Index size = rounded_up(bytes > 0 ? (Index)bytes : 1, CACHE_LINE);
    Index begin = 0;
    int at = 0;
    for (; at < draft->used_count && draft->used[at].begin - begin < size; at++) begin = draft->used[at].end;
    if (begin + size > most) return -1;
    memmove(draft->used + at + 1, draft->used + at, (size_t)(draft->used_count - at) * sizeof *draft->used);
    draft->used[at] = (Interval){begin, begin + size};
    draft->used_count++;
    if ((size_t)(begin + size) > draft->sequence->arena_bytes) draft->sequence->arena_bytes = (size_t)(begin + size);
    return begin;
}

/* What several steps of two branches read comes back once for each of them; only the first finds it there. */
static void arena_give_back(Draft *draft, Index begin) {
    int at = 0;
    while (at < draft->used_count && draft->used[at].begin != begin) at++;
    if (at == draft->used_count) return;
    draft->used_count--;
    memmove(draft->used + at, draft->used + at + 1, (size_t)(draft->used_count - at) * sizeof *draft->used);
}

static void own(Sequence *sequence, Step *step, size_t bytes) {
    step->place = -1;
    step->owner = sequence->owner_count++;
    sequence->owner_bytes[step->owner] = bytes;
    sequence->owners[step->result] = step->owner;
}

static void choose_home(Draft *draft, Step *step) {
    Sequence *sequence = draft->sequence;
    step->is_address_read = draft->is_computed_from[step->result] || step->compute != NULL;
    if (step->compute != NULL && !draft->needs_object[step->result]) {
        const size_t bytes = step->form->bytes;
        const Index most = step->branch > 0 ? LARGEST_ARENA / 2 : LARGEST_ARENA;
        step->place = bytes < ALLOCATOR_SMALLEST ? arena_take(draft, bytes, most) : -1;
        step->home = step->place >= 0 ? IN_ARENA : IN_BUFFER;
        if (step->home == IN_BUFFER) own(sequence, step, bytes);
        return;
    }
    if (step->compute != NULL) step->home = IN_ARRAY;
    own(sequence, step, 0);
}

/* What nobody reads after this step, or at all, goes. In the arena, a branch gives back what is its own; the rest of what
 * it reads goes when both are done, and what is left of both with the step that joins them. */
static void drop_after(Draft *draft, Step *step, int place) {
    const int operands = draft->sequence->operand_count;
    const int seen[] = {step->result, step->read[0], step->read[1]};
    for (int i = 0; i < 1 + step->read_count; i++) {
        const int slot = seen[i];
        if (slot < operands || draft->last_read[slot] != place || (i > 0 && reads_again(step, i - 1))) continue;
        const Step *made = draft->maker + slot - operands;
        if (made->home != IN_ARENA) step->dropped[step->dropped_count++] = made->owner;
        else if (made->branch == step->branch) arena_give_back(draft, made->place);
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

/* The arena of a branch is laid out by itself, and then becomes one place in the arena around it: while both branches
 * run, nothing of it serves anything else. */
static void enter_branch(Draft *draft) {
    Interval *const inner = draft->outer;
    draft->outer = draft->used;
    draft->outer_count = draft->used_count;
    draft->outer_bytes = draft->sequence->arena_bytes;
    draft->used = inner;
    draft->used_count = 0;
    draft->sequence->arena_bytes = 0;
}

/* Answers where the place begins. */
static Index leave_branch(Draft *draft, int first) {
    Sequence *sequence = draft->sequence;
    Interval *const inner = draft->used;
    const size_t bytes = sequence->arena_bytes;
    draft->used = draft->outer;
    draft->used_count = draft->outer_count;
    draft->outer = inner;
    sequence->arena_bytes = draft->outer_bytes;
    const Index begin = arena_take(draft, bytes, 2 * LARGEST_ARENA);
    for (int kept = first; kept < sequence->kept_count; kept++) {
        Step *step = sequence->steps + kept;
        if (step->home == IN_ARENA) step->place += begin;
        draft->maker[step->number] = *step;
    }
    return begin;
}

/* What the branches have read of the arena around them, and nobody else reads. */
static void give_back_read(Draft *draft, int first) {
    const Sequence *sequence = draft->sequence;
    for (int kept = first; kept < sequence->kept_count; kept++)
        for (int k = 0; k < sequence->steps[kept].read_count; k++) {
            const int number = sequence->steps[kept].read[k] - sequence->operand_count;
            if (number < 0 || reads_again(sequence->steps + kept, k)) continue;
            const Step *made = draft->maker + number;
            if (made->branch == 0 && made->home == IN_ARENA) arena_give_back(draft, made->place);
        }
}

static bool begins_stretch(const Sequence *sequence, const Step *step, double time) {
    const Step *before = sequence->kept_count > 0 ? sequence->steps + sequence->kept_count - 1 : NULL;
    if (before == NULL || before->compute == NULL || step->compute == NULL || step->home == IN_ARRAY) return true;
    if ((before->branch == 0) != (step->branch == 0)) return true;
    return step->branch == 0 && (time >= LONGEST_STRETCH || drops_object(sequence, before));
}

/* Adds the step to what runs; `time` is that of its stretch. */
static void keep(Sequence *sequence, const Step *step, double *time) {
    if (begins_stretch(sequence, step, *time)) {
        sequence->stretches[sequence->stretch_count++].begin = sequence->kept_count;
        *time = 0.0;
    }
    Stretch *stretch = sequence->stretches + sequence->stretch_count - 1;
    *time += step->compute != NULL ? ((Kernel *)step->kernel)->nanoseconds : 0.0;
    sequence->steps[sequence->kept_count++] = *step;
    add_readings(sequence, sequence->kept_count - 1);
    stretch->end = sequence->kept_count;
    if (step->branch < 2) stretch->middle = stretch->end;
    stretch->lets_go = *time >= WORTH_NO_GIL;
}

/* Leaves out the steps that are none, finds a home for the results of the others, and cuts stretches. */
static void arrange(Draft *draft) {
    Sequence *sequence = draft->sequence;
    double time = 0.0;
    int first = 0, fork = 0, branch = 0; /* kept steps with which the branch, and the first of two, began */
    Index block[2] = {-1, -1};
    for (int place = 0; place < sequence->step_count; place++) {
        Step step = draft->maker[draft->order[place]];
        if (step.compute == NULL && step.home == SAME_ADDRESS) {
            Py_CLEAR(step.kernel);
            continue;
        }
        if (step.branch != branch) {
            if (branch > 0) block[branch - 1] = leave_branch(draft, first);
            if (branch == 0) fork = sequence->kept_count;
            first = sequence->kept_count;
            if (step.branch > 0) enter_branch(draft);
            else give_back_read(draft, fork);
            branch = step.branch;
        }
        choose_home(draft, &step);
        draft->maker[step.number] = step;
        drop_after(draft, &step, place);
        keep(sequence, &step, &time);
        for (int k = 0; branch == 0 && k < 2; k++) { /* this step has joined them */
            if (block[k] >= 0) arena_give_back(draft, block[k]);
            block[k] = -1;
        }
    }
    sequence->step_count = sequence->kept_count;
}

bool sequence_plan(Sequence *sequence) {
    const size_t steps = (size_t)sequence->step_count + 1, slots = (size_t)sequence->operand_count + steps;
    Draft draft = {.sequence = sequence};
    draft.root = calloc(slots, sizeof *draft.root);
    draft.readers = calloc(slots, sizeof *draft.readers);
    draft.last_read = calloc(slots, sizeof *draft.last_read);
    draft.order = calloc(steps, sizeof *draft.order);
    draft.outer = calloc(2 * steps, sizeof *draft.outer);
    draft.needs_object = calloc(slots, sizeof *draft.needs_object);
    draft.is_computed_from = calloc(slots, sizeof *draft.is_computed_from);
    draft.maker = calloc(steps, sizeof *draft.maker);
    draft.used = calloc(2 * steps, sizeof *draft.used);
    sequence->stretches = calloc(steps, sizeof *sequence->stretches);
    sequence->owner_bytes = calloc(steps, sizeof *sequence->owner_bytes);
    sequence->owners = calloc(slots, sizeof *sequence->owners);
    sequence->readings = calloc(MOST_READ * steps, sizeof *sequence->readings);
    bool good = draft.root && draft.readers && draft.last_read && draft.order && draft.outer && draft.needs_object &&
                draft.is_computed_from && draft.maker && draft.used && sequence->stretches && sequence->owner_bytes &&
                sequence->owners && sequence->readings;
    if (!good) PyErr_NoMemory();
    if (good) find_objects(&draft);
    if (good) good = find_readers(&draft);
    if (good) {
        memcpy(draft.maker, sequence->steps, (size_t)sequence->step_count * sizeof *draft.maker);
        for (int i = 0; i < sequence->step_count; i++) draft.order[i] = i;
        good = sequence_fork(&draft);
    }
    if (good) {
        find_last_readers(&draft);
        arrange(&draft);
        good = sequence_place(sequence);
    }
    free(draft.root);
    free(draft.readers);
    free(draft.order);
    free(draft.outer);
    free(draft.last_read);
    free(draft.needs_object);
    free(draft.is_computed_from);
    free(draft.maker);
    free(draft.used);
    return good;
}
