/* Counts calls of the library, and lends it threads (blas_threads.h). */
#include "blas_threads.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

/* Calls in flight, and above them whether a fork is waiting. */
static const unsigned long CALLS = 0xffffffff, FORK = 0x100000000;

static struct {
    BlasControl control;
    int (*get)(void);
    void (*set)(int);
    int (*set_here)(int); /* of the calling thread; answers the former count */
    bool registered;      /* the handlers of forks */
    atomic_ulong calls;
    pthread_mutex_t gate; /* held by a fork */
    pthread_mutex_t lent; /* held by the call whose threads the library has */
} state = {.gate = PTHREAD_MUTEX_INITIALIZER, .lent = PTHREAD_MUTEX_INITIALIZER};

_Static_assert(sizeof(unsigned long) == 8, "the flag of a fork lies above 32 bits");

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
    pthread_mutex_init(&state.lent, NULL);
}

/* Handlers run in the reverse order before a fork: ours, registered after the library's, are through when an OpenBLAS
 * ends its threads. */
void blas_control(BlasControl control, int (*getter)(void), void (*setter)(int), int (*setter_here)(int)) {
    state.control = control;
    state.get = getter;
    state.set = setter;
    state.set_here = setter_here;
    if (control == OURS) setter(1);
    if (!state.registered)
        state.registered = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0;
}

bool blas_works_alone(void) {
    return state.control != SHARED || (state.get != NULL && state.get() == 1);
}

int blas_alone_begin(void) { return state.control == PER_CALLER ? state.set_here(1) : 0; }

void blas_alone_end(int former) {
    if (state.control == PER_CALLER) state.set_here(former);
}

int blas_borrow_threads(int count) {
    if (state.control == PER_CALLER) return state.set_here(count);
    if (state.control != OURS || count < 2 || pthread_mutex_trylock(&state.lent) != 0) return 0;
    if ((atomic_load(&state.calls) & CALLS) == 1) {
        sigset_t all, former; /* the library's threads are started here, and shall take no signal of the program's */
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &former);
        state.set(count);
        pthread_sigmask(SIG_SETMASK, &former, NULL);
        return count;
    }
    pthread_mutex_unlock(&state.lent);
    return 0;
}

void blas_return_threads(int former) {
    if (state.control == PER_CALLER) {
        state.set_here(former);
    } else if (former != 0) {
        state.set(1);
        pthread_mutex_unlock(&state.lent);
    }
}

int blas_threads(void) { return state.get == NULL ? 0 : state.get(); }

BlasControl blas_controlled(void) { return state.control; }
