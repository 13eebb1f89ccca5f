/* The thread pool: workers sleep on a condition, and take ranges of the one job there is from an atomic counter.
 *
 * A scheduler may queue a worker behind the thread that wakes it, on one processor, though another one is idle, and
 * then it gets to run when the work is done (seen on Linux 6.18 with two processors, most often after another library
 * had used both). Workers therefore keep clear of the processor from which the latest job came, unless more of them
 * work than would be left processors.
 *
 * Workers start when the first job needs them. After a fork the child has none, and starts its own when needed.
 */
#include "core/threads.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif

enum { RANGES_PER_THREAD = 4 };
enum { STACK_BYTES = 1 << 21 }; /* of a worker; LAPACK runs there, and systems differ in what they give unasked */

#if defined(__linux__)
/* Which processors the workers may use. */
typedef struct {
    bool known;
    cpu_set_t allowed;
    pid_t workers[MOST_THREADS];
    int count;
} Clearance;
#else
typedef char Clearance;
#endif

static struct {
    pthread_mutex_t lock;   /* guards everything below but the atomics */
    pthread_cond_t begin;   /* a job has come */
    pthread_cond_t end;     /* a worker has left the job */
    pthread_mutex_t caller; /* held by the thread whose job it is */
    ParallelBody body;
    void *context;
    Index parts, step;
    atomic_llong next;  /* first part that nobody has taken */
    unsigned long jobs; /* a worker joins each job once */
    int wanted;         /* workers that the job still admits */
    int active;         /* workers inside the job */
    int started;        /* workers that exist */
    bool registered;    /* the handler of forks */
    Clearance clearance;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .begin = PTHREAD_COND_INITIALIZER,
          .end = PTHREAD_COND_INITIALIZER,
          .caller = PTHREAD_MUTEX_INITIALIZER};

static atomic_int threads = 1;
static atomic_bool chosen = false;

static void take_ranges(void) {
    for (;;) {
        Index begin = atomic_fetch_add_explicit(&pool.next, pool.step, memory_order_relaxed);
        if (begin >= pool.parts) return;
        Index end = begin + pool.step < pool.parts ? begin + pool.step : pool.parts;
        pool.body(pool.context, begin, end);
    }
}

#if defined(__linux__)
/* How many processors the calling thread may use; INT_MAX where the system does not tell. */
static int caller_processors(void) {
    cpu_set_t mine;
    return sched_getaffinity(0, sizeof mine, &mine) == 0 ? CPU_COUNT(&mine) : INT_MAX;
}

/* Both under the lock. A system that refuses changes nothing but the speed. */
static void place_workers(int count) {
    Clearance *clearance = &pool.clearance;
    const int here = sched_getcpu();
    cpu_set_t mine, allowed;
    if (sched_getaffinity(0, sizeof mine, &mine) != 0) return;
    allowed = mine;
    if (here >= 0 && here < CPU_SETSIZE) CPU_CLR((size_t)here, &allowed);
    if (CPU_COUNT(&allowed) < count) allowed = mine;
    if (clearance->known && CPU_EQUAL(&allowed, &clearance->allowed)) return;
    clearance->known = true;
    clearance->allowed = allowed;
    for (int k = 0; k < clearance->count; k++) sched_setaffinity(clearance->workers[k], sizeof allowed, &allowed);
}

static void join_workers(void) {
    Clearance *clearance = &pool.clearance;
    clearance->workers[clearance->count++] = (pid_t)syscall(SYS_gettid);
    if (clearance->known) sched_setaffinity(0, sizeof clearance->allowed, &clearance->allowed);
}
#else
static int caller_processors(void) { return INT_MAX; }
static void place_workers(int count) { (void)count; }
static void join_workers(void) {}
#endif

static void *work(void *unused) {
    (void)unused;
    unsigned long seen = 0;
    pthread_mutex_lock(&pool.lock);
    join_workers();
    for (;;) {
        while (pool.jobs == seen || pool.wanted == 0) {
            seen = pool.jobs;
            pthread_cond_wait(&pool.begin, &pool.lock);
        }
        seen = pool.jobs;
        pool.wanted--;
        pool.active++;
        pthread_mutex_unlock(&pool.lock);
        take_ranges();
        pthread_mutex_lock(&pool.lock);
        if (--pool.active == 0) pthread_cond_signal(&pool.end);
    }
    return NULL;
}

static void forget_workers(void) { /* in the child of a fork, where only the forking thread lives on */
    pthread_mutex_init(&pool.lock, NULL);
    pthread_mutex_init(&pool.caller, NULL);
    pthread_cond_init(&pool.begin, NULL);
    pthread_cond_init(&pool.end, NULL);
    pool.started = pool.active = pool.wanted = 0;
    pool.clearance = (Clearance){0};
}

/* All but those that a fault raises in the thread itself. */
static void signals_of_others(sigset_t *signals) {
    static const int OWN[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
    sigfillset(signals);
    for (size_t i = 0; i < sizeof OWN / sizeof *OWN; i++) sigdelset(signals, OWN[i]);
}

static void start_workers(int count) { /* under the lock; fewer than asked for is no error */
    if (pool.started >= count) return;
    if (!pool.registered) pool.registered = pthread_atfork(NULL, NULL, forget_workers) == 0;
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) return;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigset_t blocked, former; /* a new thread blocks what its maker does */
    signals_of_others(&blocked);
    if (pthread_sigmask(SIG_BLOCK, &blocked, &former) == 0) {
        pthread_t thread;
        while (pool.started < count && pthread_create(&thread, &attributes, work, NULL) == 0) pool.started++;
        pthread_sigmask(SIG_SETMASK, &former, NULL);
    }
    pthread_attr_destroy(&attributes);
}

void parallel_for(Index parts, Index grain, ParallelBody body, void *context) {
    if (parts <= 0) return;
    if (grain < 1) grain = 1;
    int count = parts / grain < 2 ? 1 : threads_for_caller();
    if (parts / grain < count) count = (int)(parts / grain);
    if (count < 2 || pthread_mutex_trylock(&pool.caller) != 0) {
        body(context, 0, parts);
        return;
    }
    pthread_mutex_lock(&pool.lock);
    place_workers(count - 1);
    start_workers(count - 1);
    pool.body = body;
    pool.context = context;
    pool.parts = parts;
    pool.step = parts / ((Index)count * RANGES_PER_THREAD);
    if (pool.step < grain) pool.step = grain;
    atomic_store(&pool.next, 0);
    pool.wanted = count - 1;
    pool.jobs++;
    pthread_cond_broadcast(&pool.begin);
    pthread_mutex_unlock(&pool.lock);

    take_ranges();

    pthread_mutex_lock(&pool.lock);
    pool.wanted = 0; /* who has not woken up yet need not */
    while (pool.active > 0) pthread_cond_wait(&pool.end, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
    pthread_mutex_unlock(&pool.caller);
}

int threads_for_caller(void) {
    const int count = threads_get();
    if (count < 2 || atomic_load_explicit(&chosen, memory_order_relaxed)) return count;
    const int processors = caller_processors();
    return processors < count ? processors : count;
}

int threads_get(void) { return atomic_load_explicit(&threads, memory_order_relaxed); }

void threads_set(int count, bool by_choice) {
    if (count < 1) count = 1;
    if (count > MOST_THREADS) count = MOST_THREADS;
    atomic_store_explicit(&threads, count, memory_order_relaxed);
    atomic_store_explicit(&chosen, by_choice, memory_order_relaxed);
}
