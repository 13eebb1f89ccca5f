/* Forks: two branches of a tree of steps that run side by side, each in one thread.
 *
 * Steps that are too short to be shared among threads leave all but one of them idle, however many there are: a chain of
 * matrices of 64 x 64 takes as long with two threads as with one. Of every row of steps that compute, the pair of
 * branches is taken that saves most by the kernels' own estimates, and enough for waking a thread; the rest runs as it
 * did, with threads inside the steps. A branch is closed: of what it reads and makes, nobody else reads anything but its
 * result. So no two threads touch the same place, and what a step computes does not depend on who runs it. What is alive
 * at one time may be no more than in the order of the steps, but for ROOM.
 */
#include "sequence/sequence_draft.h"

#include "core/threads.h"

#include <stdlib.h>
#include <string.h>

static const double LEAST_SAVED = 100000, LEAST_SHARE = 0.1; /* nanoseconds; of the time of all steps in the row */
static const double LONGEST_BRANCH = 50000000,
                    LONGEST_STEP = 10000000; /* nanoseconds; nobody looks at signals in one */
enum { ROOM = 1 << 20 };                     /* bytes */

/* Of the branch that ends in a step. */
typedef struct {
    double alone, shared; /* nanoseconds: in one thread, and with threads inside steps */
    size_t alive, peak;   /* bytes: what is left of it, and the most at one time */
    bool closed;
    int branch; /* that it has become a part of, 0 for none */
} Branch;

static const Kernel *kernel_of(const Step *step) { return (const Kernel *)step->kernel; }

/* Whether the step may be one of a row: it computes, and gives no object. */
static bool is_plain(const Draft *draft, int number) {
    return draft->maker[number].compute != NULL && !draft->needs_object[draft->maker[number].result];
}

/* Threads of a step that is shared: as many as now, two if there is one for now. */
static double sharing_threads(void) {
    const int threads = threads_for_caller();
    return threads > 2 ? threads : 2;
}

static size_t bytes_of(const Draft *draft, int number) { return draft->maker[number].form->bytes; }

/* The number of the step that made an operand; -1 for operands of the sequence. */
static int made_by(const Draft *draft, const Step *step, int place) {
    return step->read[place] - draft->sequence->operand_count < 0 ? -1
                                                                  : step->read[place] - draft->sequence->operand_count;
}

static void measure(const Draft *draft, Branch *branches, int begin, int number) {
    const Step *step = draft->maker + number;
    const double takes = kernel_of(step)->nanoseconds;
    Branch here = {.alone = takes, .closed = takes < LONGEST_STEP};
    here.shared = takes < kernel_of(step)->shared_from ? takes : takes / sharing_threads();
    for (int i = 0; i < step->read_count; i++) {
        const int other = made_by(draft, step, i);
        if (other < 0 || reads_again(step, i)) continue;
        here.closed = here.closed && draft->readers[step->read[i]] == 1;
        if (other < begin) {
            here.closed = here.closed && is_plain(draft, other); /* no thread of a branch may drop an object */
            continue;
        }
        const Branch *read = branches + other;
        here.closed = here.closed && read->closed;
        here.alone += read->alone;
        here.shared += read->shared;
        if (here.alive + read->peak > here.peak) here.peak = here.alive + read->peak;
        here.alive += read->alive;
    }
    if (here.alive + bytes_of(draft, number) > here.peak) here.peak = here.alive + bytes_of(draft, number);
    here.alive = bytes_of(draft, number);
    branches[number] = here;
}

/* What two branches save side by side; 0 where they must not be. */
static double saved(const Draft *draft, const Branch *branches, int begin, int number) {
    const Step *step = draft->maker + number;
    if (step->read_count < 2 || step->read[0] == step->read[1]) return 0.0;
    const int first = made_by(draft, step, 0), second = made_by(draft, step, 1);
    if (first < begin || second < begin) return 0.0;
    const Branch *a = branches + first, *b = branches + second;
    if (draft->readers[step->read[0]] != 1 || draft->readers[step->read[1]] != 1 || !a->closed || !b->closed)
        return 0.0;
    const double longer = a->alone > b->alone ? a->alone : b->alone;
    return longer > LONGEST_BRANCH ? 0.0 : a->shared + b->shared - longer;
}

static void mark(const Draft *draft, Branch *branches, int begin, int number, int branch) {
    branches[number].branch = branch;
    for (int i = number; i >= begin; i--) {
        if (branches[i].branch != branch) continue;
        for (int k = 0; k < draft->maker[i].read_count; k++) {
            const int other = made_by(draft, draft->maker + i, k);
            if (other >= begin) branches[other].branch = branch;
        }
    }
}

/* The most bytes of results alive at one time, of the steps of a row in the order given; both branches at once. */
static size_t peak_of(const Draft *draft, const Branch *branches, const int *order, int begin, int end,
                      size_t together) {
    size_t now = 0, peak = 0;
    bool met = false;
    for (int i = begin; i < end; i++) {
        const Step *step = draft->maker + order[i];
        if (branches[order[i]].branch > 0) {
            if (!met && now + together > peak) peak = now + together;
            met = true;
        }
        now += bytes_of(draft, order[i]);
        if (now > peak) peak = now;
        for (int k = 0; k < step->read_count; k++) {
            const int other = made_by(draft, step, k);
            if (other >= begin && !reads_again(step, k) && draft->readers[step->read[k]] == 1)
                now -= bytes_of(draft, other);
        }
    }
    return peak;
}

/* Puts the branches of a step before it, behind all else that comes before it. */
static void put_side_by_side(const Draft *draft, Branch *branches, int *order, int begin, int end, int number) {
    int place = begin;
    for (int branch = 0; branch <= 2; branch++)
        for (int i = begin; i < number; i++)
            if (branches[i].branch == branch) order[place++] = i;
    for (int i = number; i < end; i++) order[place++] = i;
    for (int i = begin; i < number; i++) draft->maker[i].branch = branches[i].branch;
}

/* A row of plain steps; the step behind it may join two branches, too. */
static void fork_row(Draft *draft, Branch *branches, int begin, int end, int *order) {
    const bool is_joined = end < draft->sequence->step_count && draft->maker[end].compute != NULL;
    double best = 0.0, all = 0.0;
    int at = -1;
    for (int number = begin; number < end + is_joined; number++) {
        if (number < end) measure(draft, branches, begin, number);
        all += kernel_of(draft->maker + number)->nanoseconds;
        const double saving = saved(draft, branches, begin, number);
        if (saving > best) {
            best = saving;
            at = number;
        }
    }
    if (at < 0 || best < LEAST_SAVED || best < LEAST_SHARE * all) return;
    const Step *step = draft->maker + at;
    const int first = made_by(draft, step, 0), second = made_by(draft, step, 1);
    const size_t before = peak_of(draft, branches, draft->order, begin, end, 0);
    mark(draft, branches, begin, first, 1);
    mark(draft, branches, begin, second, 2);
    put_side_by_side(draft, branches, order, begin, end, at);
    if (peak_of(draft, branches, order, begin, end, branches[first].peak + branches[second].peak) <= before + ROOM) {
        memcpy(draft->order + begin, order + begin, (size_t)(end - begin) * sizeof *order);
    } else {
        for (int i = begin; i < end; i++) draft->maker[i].branch = 0;
    }
}

bool sequence_fork(Draft *draft) {
    const int count = draft->sequence->step_count;
    Branch *branches = calloc((size_t)count + 1, sizeof *branches);
    int *order = calloc((size_t)count + 1, sizeof *order);
    if (branches != NULL && order != NULL) {
        for (int begin = 0; begin < count;) {
            int end = begin;
            while (end < count && is_plain(draft, end)) end++;
            if (end - begin > 2) fork_row(draft, branches, begin, end, order);
            begin = end + 1;
        }
    } else {
        PyErr_NoMemory();
    }
    const bool good = branches != NULL && order != NULL;
    free(branches);
    free(order);
    return good;
}
