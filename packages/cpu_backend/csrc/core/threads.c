/* The thread pool: workers take ranges of the one job there is from an atomic counter.
 *
 * Nobody waits for who has not begun: a job has a *door* with seats, one for each worker that it admits, and the caller
 * closes it when no range is left. Whoever has come through it works on ranges of its own; only for those is there
 * anything to wait for. So a worker that does not get to run, for another process has the processor, costs nothing.
 *
 * Waking a sleeping thread takes the scheduler from 20 microseconds to some hundreds, which is as long as many a job. A
 * worker therefore looks for the next job for a while before it sleeps, provided that it is known (on Linux) to have a
 * processor which its caller does not need; so does a caller who waits for the last ranges. Steps of a contraction follow each other
 * within that while, and a program that computes nothing uses no processor.
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
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif

enum { RANGES_PER_THREAD = 4 };
enum {
    LOOK = 200,
    LOOKS = 16
}; /* microseconds that a thread looks for what it waits for; looks between two of the clock */
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

/* A job's door: how many workers are inside, and above that how many it still admits. */
static const unsigned long INSIDE = 0xffffffff, SEAT = 0x100000000;
_Static_assert(sizeof(unsigned long) == 8, "the seats lie above 32 bits");

static struct {
    pthread_mutex_t caller; /* held by the thread whose job it is */
    ParallelBody body;      /* read by those inside, and written while there is nobody inside */
    void *context;
    Index parts, step;
    atomic_llong next; /* first part that nobody has taken */
    atomic_ulong door;
    atomic_int looking;   /* workers that look for a job and do not sleep */
    atomic_bool waits;    /* the caller sleeps until nobody is inside */
    atomic_bool looks;    /* there is a processor for each of the workers, and another one for the caller */
    pthread_mutex_t lock; /* guards everything below */
    pthread_cond_t begin; /* there are seats */
    pthread_cond_t end;   /* nobody is inside */
    int started;          /* workers that exist */
    bool registered;      /* the handler of forks */
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
    const bool is_clear = CPU_COUNT(&allowed) >= count;
    atomic_store_explicit(&pool.looks, is_clear && pool.started <= CPU_COUNT(&allowed), memory_order_relaxed);
    if (!is_clear) allowed = mine;
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

/* Microseconds of a clock that never goes back. */
static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000LL + time.tv_nsec / 1000;
}

static void pause_processor(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Looks for a while until the door is so: somebody admitted, or nobody inside. Whether it came to that. */
static bool comes(unsigned long part, bool wanted) {
    if (!atomic_load_explicit(&pool.looks, memory_order_relaxed)) return false;
    const long long until = now() + LOOK;
    do {
        for (int k = 0; k < LOOKS; k++) {
            if (((atomic_load_explicit(&pool.door, memory_order_relaxed) & part) != 0) == wanted) return true;
            pause_processor();
        }
    } while (now() < until);
    return false;
}

static bool enter(void) {
    unsigned long door = atomic_load(&pool.door);
    while (door >= SEAT)
        if (atomic_compare_exchange_weak(&pool.door, &door, door - SEAT + 1)) return true;
    return false;
}

/* Nothing is left to do: closes the door behind it. */
static void leave(void) {
    unsigned long door = atomic_load(&pool.door);
    while (!atomic_compare_exchange_weak(&pool.door, &door, (door & INSIDE) - 1)) continue;
    if ((door & INSIDE) > 1 || !atomic_load(&pool.waits)) return;
    pthread_mutex_lock(&pool.lock);
    pthread_cond_signal(&pool.end);
    pthread_mutex_unlock(&pool.lock);
}

/* Who is about to sleep is counted as awake until then, and looks once more after that: who opens the door and then
 * counts, or the one who sleeps, sees what the other did. */
static void sleep_until_admitted(void) {
    pthread_mutex_lock(&pool.lock);
    atomic_fetch_sub(&pool.looking, 1);
    while (atomic_load(&pool.door) < SEAT) pthread_cond_wait(&pool.begin, &pool.lock);
    atomic_fetch_add(&pool.looking, 1);
    pthread_mutex_unlock(&pool.lock);
}

static void *work(void *unused) {
    (void)unused;
    pthread_mutex_lock(&pool.lock);
    join_workers();
    pthread_mutex_unlock(&pool.lock);
    for (;;) {
        while (enter()) {
            atomic_fetch_sub(&pool.looking, 1);
            take_ranges();
            atomic_fetch_add(&pool.looking, 1);
            leave();
        }
        if (!comes(~INSIDE, true)) sleep_until_admitted();
    }
    return NULL;
}

static void forget_workers(void) { /* in the child of a fork, where only the forking thread lives on */
    pthread_mutex_init(&pool.lock, NULL);
    pthread_mutex_init(&pool.caller, NULL);
    pthread_cond_init(&pool.begin, NULL);
    pthread_cond_init(&pool.end, NULL);
    pool.started = 0;
    atomic_store(&pool.door, 0);
    atomic_store(&pool.looking, 0);
    atomic_store(&pool.waits, false);
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
        while (pool.started < count && pthread_create(&thread, &attributes, work, NULL) == 0) {
            atomic_fetch_add(&pool.looking, 1);
            pool.started++;
        }
        pthread_sigmask(SIG_SETMASK, &former, NULL);
    }
    pthread_attr_destroy(&attributes);
}

static void open_door(int seats) {
    atomic_store(&pool.door, (unsigned long)seats * SEAT);
    const int asleep = seats - atomic_load(&pool.looking);
    if (asleep <= 0) return;
    pthread_mutex_lock(&pool.lock);
    for (int k = 0; k < asleep; k++) pthread_cond_signal(&pool.begin);
    pthread_mutex_unlock(&pool.lock);
}

static void close_door(void) {
    if ((atomic_fetch_and(&pool.door, INSIDE) & INSIDE) == 0 || comes(INSIDE, false)) {
        atomic_thread_fence(memory_order_acquire); /* of what the others wrote */
        return;
    }
    pthread_mutex_lock(&pool.lock);
    atomic_store(&pool.waits, true);
    while (atomic_load(&pool.door) > 0) pthread_cond_wait(&pool.end, &pool.lock);
    atomic_store(&pool.waits, false);
    pthread_mutex_unlock(&pool.lock);
}

void parallel_for(Index parts, Index grain, ParallelBody body, void *context) {
    if (parts <= 0) return;
    if (grain < 1) grain = 1;
    const Index grains = parts / grain;
    const int count = grains < 2 ? 1 : (int)smaller(grains, threads_for_caller());
    if (count < 2 || pthread_mutex_trylock(&pool.caller) != 0) {
        body(context, 0, parts);
        return;
    }
    pool.body = body;
    pool.context = context;
    pool.parts = parts;
    pool.step = parts / ((Index)count * RANGES_PER_THREAD);
    /* Where there are few, equal ones: the same elements then meet the same processor's cache in the next call. */
    if (pool.step < grain) pool.step = parts < 2 * count * grain ? pieces(parts, count) : grain;
    atomic_store(&pool.next, 0);
    pthread_mutex_lock(&pool.lock);
    start_workers(count - 1);
    place_workers(count - 1);
    pthread_mutex_unlock(&pool.lock);
    open_door(count - 1);
    take_ranges();
    close_door();
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
