/* Counts calls of the library, and lends it threads (blas_threads.h). */
#include "core/blas_threads.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

/* Calls in flight, and above them whether a fork is waiting, and whether one of the calls has lent threads. */
static const unsigned long CALLS = 0xffffffff, FORK = 0x100000000, LENT = 0x200000000;

static struct {
    _Atomic(BlasControl) control;
    int (*get)(void);
    void (*set)(int);
    int (*set_here)(int); /* of the calling thread; answers the former count */
    SetAffinity *place;
    bool registered; /* the handlers of forks */
    atomic_ulong calls;
    pthread_mutex_t gate; /* held by a fork */
} state = {.gate = PTHREAD_MUTEX_INITIALIZER};

_Static_assert(sizeof(unsigned long) == 8, "the flags lie above 32 bits");

void blas_enter(void) {
    unsigned long calls = atomic_load(&state.calls);
    for (;;) {
        if (calls & FORK) {
            pthread_mutex_lock(&state.gate);
            pthread_mutex_unlock(&state.gate);
            calls = atomic_load(&state.calls);
        } else if (atomic_compare_exchange_weak(&state.calls, &calls, calls + 1)) {
            return;
        }
    }
}

void blas_leave(void) { atomic_fetch_sub(&state.calls, 1); }

static void before_fork(void) {
    const struct timespec moment = {.tv_nsec = 50000};
    pthread_mutex_lock(&state.gate);
    atomic_fetch_or(&state.calls, FORK);
    while (atomic_load(&state.calls) & CALLS) nanosleep(&moment, NULL);
}

static void after_fork_in_parent(void) {
    atomic_fetch_and(&state.calls, ~FORK);
    pthread_mutex_unlock(&state.gate);
}

/* Only the forking thread lives on, and no call was in flight. */
static void after_fork_in_child(void) {
    atomic_store(&state.calls, 0);
    pthread_mutex_init(&state.gate, NULL);
}

/* Handlers run in the reverse order before a fork: ours, registered after the library's, are through when an OpenBLAS
 * ends its threads. */
void blas_control(BlasControl control, int (*getter)(void), void (*setter)(int), int (*setter_here)(int),
                  SetAffinity *place) {
    state.control = control;
    state.get = getter;
    state.set = setter;
    state.set_here = setter_here;
    state.place = place;
    if (control == OURS) setter(1);
    if (!state.registered)
        state.registered = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0;
}

/* A library with another count than the one we gave it is called by others, and theirs from now on. */
static bool is_still_ours(int count) {
    if (state.control == OURS && state.get() != count) state.control = SHARED;
    return state.control == OURS;
}

/* Nobody borrows while another call is in flight, so that what this says holds until the caller leaves. */
bool blas_works_alone(void) {
    if (state.control == PER_CALLER) return true;
    if (state.control == OURS) return !(atomic_load(&state.calls) & LENT) && is_still_ours(1);
    return state.get != NULL && state.get() == 1;
}

int blas_alone_begin(void) { return state.control == PER_CALLER ? state.set_here(1) : 0; }

void blas_alone_end(int former) {
    if (state.control == PER_CALLER) state.set_here(former);
}

/* The library's threads stay where the thread was allowed that started them: they follow who borrows them. */
static void place_threads(int count) {
#if defined(__linux__)
    cpu_set_t mine;
    if (state.place == NULL || sched_getaffinity(0, sizeof mine, &mine) != 0) return;
    for (int k = 0; k < count - 1; k++) state.place(k, sizeof mine, &mine);
#else
    (void)count;
#endif
}

bool blas_borrow_threads(int count, int *lent) {
    *lent = 0;
    if (state.control == PER_CALLER) {
        *lent = state.set_here(count);
        return true;
    }
    unsigned long alone = 1;
    if (state.control != OURS || count < 2) return false;
    if (!atomic_compare_exchange_strong(&state.calls, &alone, 1 | LENT)) return false;
    if (!is_still_ours(1)) {
        atomic_fetch_and(&state.calls, ~LENT);
        return false;
    }
    sigset_t all, former; /* the library's threads are started here, and shall take no signal of the program's */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &former);
    state.set(count);
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    *lent = state.get();
    place_threads(*lent);
    return true;
}

void blas_return_threads(int lent) {
    if (state.control == PER_CALLER) {
        state.set_here(lent); /* the former count */
    } else {
        if (is_still_ours(lent)) state.set(1);
        atomic_fetch_and(&state.calls, ~LENT);
    }
}

int blas_threads(void) { return state.get == NULL ? 0 : state.get(); }
