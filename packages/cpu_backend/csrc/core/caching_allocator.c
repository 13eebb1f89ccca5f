/* The caching allocator: one list per size class, newest first within a class, and one list of all by age.
 *
 * What is kept is described in the first bytes of the buffer itself, so that keeping one needs no memory. Buffers of
 * 2 MiB or more are aligned to huge pages and ask for them (transparent ones, on Linux). When poisoning is on, a buffer
 * that is given back is filled with one byte and says so in its description; whoever takes it looks for other bytes.
 */
#include "core/caching_allocator.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

enum { ALIGNMENT = 64, CLASSES = 4 * 64, POISON = 0xDB };
/* Bytes of scratch that come from the cache: the system's allocator may give larger blocks back each time. */
enum { CACHED_SCRATCH = 1 << 14 };
enum { HUGE_PAGE = 1 << 21 };
enum { FIRST_LIMIT = 1 << 28, ALWAYS_KEPT = 1 << 25 }; /* bytes; the second whatever was in use, within the limit */

typedef struct Kept Kept;
struct Kept {
    Kept *newer, *older; /* of all classes */
    Kept *above, *below; /* of this class */
    size_t bytes;        /* of the class */
    int class_index;
    bool poisoned; /* every byte behind this description is POISON */
};
_Static_assert(sizeof(Kept) <= ALLOCATOR_SMALLEST, "the description of a buffer lies in the buffer");

static struct {
    pthread_mutex_t lock;
    Kept *top[CLASSES];
    Kept *newest, *oldest;
    AllocatorStats stats;
    atomic_bool poisoning;
} allocator = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void renew_lock(void) { pthread_mutex_init(&allocator.lock, NULL); }
static void lock(void) { pthread_mutex_lock(&allocator.lock); }
static void unlock(void) { pthread_mutex_unlock(&allocator.lock); }

/* When the module is loaded. A fork must not happen while another thread is half-way through a list. */
__attribute__((constructor)) static void prepare(void) {
    allocator.stats.limit_bytes = FIRST_LIMIT;
    pthread_atfork(lock, unlock, renew_lock);
}

/* The class of a size: quarter steps between powers of two. Sets the size that the class really has. */
static int class_of(size_t bytes, size_t *rounded) {
    if (bytes < ALLOCATOR_SMALLEST) bytes = ALLOCATOR_SMALLEST;
    int power = 63 - __builtin_clzll((unsigned long long)(bytes - 1)); /* 2^power < bytes <= 2^(power + 1) */
    size_t quarter = (size_t)1 << (power - 2);
    size_t steps = (bytes + quarter - 1) / quarter; /* 5 to 8 quarters */
    *rounded = steps * quarter;
    return 4 * power + (int)steps - 5;
}

static void unlink_kept(Kept *kept) {
    if (kept->newer) kept->newer->older = kept->older;
    else allocator.newest = kept->older;
    if (kept->older) kept->older->newer = kept->newer;
    else allocator.oldest = kept->newer;
    if (kept->above) kept->above->below = kept->below;
    else allocator.top[kept->class_index] = kept->below;
    if (kept->below) kept->below->above = kept->above;
    allocator.stats.kept_bytes -= (int64_t)kept->bytes;
    allocator.stats.kept_buffers--;
}

static void link_kept(Kept *kept) {
    kept->newer = NULL;
    kept->older = allocator.newest;
    if (allocator.newest) allocator.newest->newer = kept;
    else allocator.oldest = kept;
    allocator.newest = kept;
    kept->above = NULL;
    kept->below = allocator.top[kept->class_index];
    if (kept->below) kept->below->above = kept;
    allocator.top[kept->class_index] = kept;
    allocator.stats.kept_bytes += (int64_t)kept->bytes;
    allocator.stats.kept_buffers++;
}

/* Unlinks the oldest buffers until the rest fits; the caller frees them after it has released the lock. */
static Kept *evict(void) {
    Kept *dropped = NULL;
    int64_t most = 2 * allocator.stats.peak_bytes < ALWAYS_KEPT ? ALWAYS_KEPT : 2 * allocator.stats.peak_bytes;
    if (most > allocator.stats.limit_bytes) most = allocator.stats.limit_bytes;
    while (allocator.oldest && allocator.stats.kept_bytes > most) {
        Kept *oldest = allocator.oldest;
        unlink_kept(oldest);
        allocator.stats.evictions++;
        oldest->older = dropped;
        dropped = oldest;
    }
    return dropped;
}

static void free_all(Kept *dropped) {
    while (dropped) {
        Kept *next = dropped->older;
        free(dropped);
        dropped = next;
    }
}

static void *fresh(size_t bytes) {
    void *buffer = aligned_alloc(bytes >= HUGE_PAGE ? (size_t)HUGE_PAGE : (size_t)ALIGNMENT,
                                 bytes >= HUGE_PAGE ? (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE : bytes);
#if defined(__linux__)
    if (buffer != NULL && bytes >= HUGE_PAGE) madvise(buffer, bytes, MADV_HUGEPAGE); /* only advice: may fail */
#endif
    return buffer;
}

static void require_poison(const Kept *kept) {
    const unsigned char *bytes = (const unsigned char *)kept;
    for (size_t i = sizeof(Kept); i < kept->bytes; i++)
        if (bytes[i] != POISON) {
            fprintf(stderr, "tensor_cpu: a buffer of %zu bytes was written to at byte %zu after it was given back\n",
                    kept->bytes, i);
            abort();
        }
}

/* Once a buffer has been had: what was only asked for does not count. */
static void note_use(int64_t bytes) {
    allocator.stats.used_bytes += bytes;
    allocator.stats.used_buffers++;
    if (allocator.stats.used_bytes > allocator.stats.peak_bytes)
        allocator.stats.peak_bytes = allocator.stats.used_bytes;
}

void *allocator_acquire(size_t bytes) {
    size_t rounded;
    if (bytes > SIZE_MAX / 4) return NULL;
    int class_index = class_of(bytes, &rounded);
    lock();
    Kept *kept = allocator.top[class_index];
    if (kept) unlink_kept(kept), allocator.stats.hits++;
    else allocator.stats.misses++;
    if (kept) note_use((int64_t)rounded);
    unlock();
    if (kept) {
        if (kept->poisoned) require_poison(kept);
        return kept;
    }
    void *buffer = fresh(rounded);
    if (buffer == NULL) { /* what is kept may be what is missing */
        allocator_clear();
        buffer = fresh(rounded);
    }
    if (buffer == NULL) return NULL;
    lock();
    note_use((int64_t)rounded);
    unlock();
    return buffer;
}

void allocator_release(void *buffer, size_t bytes) {
    if (buffer == NULL) return;
    size_t rounded;
    int class_index = class_of(bytes, &rounded);
    bool poisoned = atomic_load_explicit(&allocator.poisoning, memory_order_relaxed);
    if (poisoned) memset(buffer, POISON, rounded);
    Kept *kept = buffer;
    kept->poisoned = poisoned;
    kept->bytes = rounded;
    kept->class_index = class_index;
    lock();
    allocator.stats.used_bytes -= (int64_t)rounded;
    allocator.stats.used_buffers--;
    link_kept(kept);
    Kept *dropped = evict();
    unlock();
    free_all(dropped);
}

void *scratch_acquire(size_t bytes) {
    if (bytes >= CACHED_SCRATCH) return allocator_acquire(bytes);
    char *block = malloc(bytes + ALIGNMENT); /* aligned_alloc() takes a slower path */
    if (block == NULL) return NULL;
    char *scratch = block + ALIGNMENT - (uintptr_t)block % ALIGNMENT;
    ((void **)scratch)[-1] = block; /* there is room: malloc aligns to at least two pointers */
    return scratch;
}

void scratch_release(void *scratch, size_t bytes) {
    if (bytes >= CACHED_SCRATCH) allocator_release(scratch, bytes);
    else if (scratch != NULL) free(((void **)scratch)[-1]);
}

AllocatorStats allocator_stats(void) {
    lock();
    AllocatorStats stats = allocator.stats;
    unlock();
    return stats;
}

void allocator_set_limit(int64_t bytes) {
    lock();
    allocator.stats.limit_bytes = bytes < 0 ? 0 : bytes;
    Kept *dropped = evict();
    unlock();
    free_all(dropped);
}

void allocator_clear(void) {
    lock();
    int64_t limit = allocator.stats.limit_bytes, evictions = allocator.stats.evictions;
    allocator.stats.limit_bytes = 0;
    Kept *dropped = evict();
    allocator.stats.limit_bytes = limit;
    allocator.stats.evictions = evictions; /* asked for, not forced */
    allocator.stats.peak_bytes = allocator.stats.used_bytes;
    unlock();
    free_all(dropped);
}

void allocator_set_poisoning(bool on) { atomic_store_explicit(&allocator.poisoning, on, memory_order_relaxed); }
