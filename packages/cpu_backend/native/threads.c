/* The thread pool: workers sleep on a condition, and take ranges of the one job there is from an atomic counter.
 *
 * A scheduler may queue a worker behind the thread that wakes it, on one processor, though another one is idle, and
 * then it gets to run when the work is done (seen on Linux 6.18 with two processors, most often after another library
 * had used both). Workers therefore keep clear of the processor from which the latest job came.
 *
 * Workers start when the first job needs them. After a fork the child has none, and starts its own when needed.
 */
#include "threads.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif

enum { MOST_THREADS = 256, RANGES_PER_THREAD = 4 };

#if defined(__linux__)
/* Which processors the workers may use. */
typedef struct {
    bool known;
    cpu_set_t others; /* than the caller's */
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

static void take_ranges(void) {
    for (;;) {
        Index begin = atomic_fetch_add_explicit(&pool.next, pool.step, memory_order_relaxed);
        if (begin >= pool.parts) return;
        Index end = begin + pool.step < pool.parts ? begin + pool.step : pool.parts;
        pool.body(pool.context, begin, end);
    }
}

#if defined(__linux__)
/* Both under the lock. A processor that cannot be avoided, or a system that refuses, changes nothing but the speed. */
static void keep_workers_clear(void) {
    Clearance *clearance = &pool.clearance;
    const int here = sched_getcpu();
    cpu_set_t others;
    if (here < 0 || here >= CPU_SETSIZE || sched_getaffinity(0, sizeof others, &others) != 0) return;
    CPU_CLR(here, &others);
    if (CPU_COUNT(&others) == 0 || (clearance->known && CPU_EQUAL(&others, &clearance->others))) return;
    clearance->known = true;
    clearance->others = others;
    for (int k = 0; k < clearance->count; k++) sched_setaffinity(clearance->workers[k], sizeof others, &others);
}

static void join_workers(void) {
    Clearance *clearance = &pool.clearance;
    clearance->workers[clearance->count++] = (pid_t)syscall(SYS_gettid);
    if (clearance->known) sched_setaffinity(0, sizeof clearance->others, &clearance->others);
}
#else
static void keep_workers_clear(void) {}
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

static void start_workers(int count) { /* under the lock; fewer than asked for is no error */
    if (!pool.registered) pool.registered = pthread_atfork(NULL, NULL, forget_workers) == 0;
    pthread_attr_t detached;
    if (pthread_attr_init(&detached) != 0) return;
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    while (pool.started < count) {
        pthread_t thread;
        if (pthread_create(&thread, &detached, work, NULL) != 0) break;
        pool.started++;
    }
    pthread_attr_destroy(&detached);
}

void parallel_for(Index parts, Index grain, ParallelBody body, void *context) {
    if (parts <= 0) return;
    int count = threads_get();
    if (grain < 1) grain = 1;
    if (parts / grain < count) count = (int)(parts / grain);
    if (count < 2 || pthread_mutex_trylock(&pool.caller) != 0) {
        body(context, 0, parts);
        return;
    }
    pthread_mutex_lock(&pool.lock);
    keep_workers_clear();
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

int threads_get(void) { return atomic_load_explicit(&threads, memory_order_relaxed); }

void threads_set(int count) {
    if (count < 1) count = 1;
    if (count > MOST_THREADS) count = MOST_THREADS;
    atomic_store_explicit(&threads, count, memory_order_relaxed);
}
