/* The caching allocator: one list per size class, newest first within a class, and one list of all by age.
 *
 * What is kept is described in the first bytes of the buffer itself, so that keeping one needs no memory. Buffers of
 * 2 MiB or more are aligned to huge pages and ask for them (transparent ones, on Linux). A large one is a range of pages
 * (pages.h): when none of its class is kept, it is made of the pages of large ones of other classes, the oldest first,
 * and of new pages only then; what is left of the last one is a loose piece, of no class. When poisoning is on, a buffer
 * that is given back is filled with one byte and says so in its description; whoever takes it looks for other bytes.
 */
#include "core/caching_allocator.h"
#include "core/pages.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

enum { ALIGNMENT = 64, CLASSES = 20 * 64, LOOSE = CLASSES, POISON = 0xDB };
enum { LARGE = 1 << 23 }; /* bytes; what is larger is a range of pages */
static const int64_t MOST_MOVED = (int64_t)1 << 35; /* bytes in ranges: the system counts their parts */
/* Bytes of scratch that come from the cache: the system's allocator may give larger blocks back each time. */
enum { CACHED_SCRATCH = 1 << 14 };
enum { FIRST_LIMIT = 1 << 28, ALWAYS_KEPT = 1 << 25 }; /* bytes; the second whatever was in use, within the limit */

typedef struct Kept Kept;
struct Kept {
    Kept *newer, *older; /* of all classes */
    Kept *above, *below; /* of this class */
    size_t bytes;        /* of the class */
    int class_index;
    bool range;    /* of pages */
    bool poisoned; /* every byte behind this description is POISON */
};
_Static_assert(sizeof(Kept) <= ALLOCATOR_SMALLEST, "the description of a buffer lies in the buffer");

static struct {
    pthread_mutex_t lock;
    Kept *top[CLASSES + 1];
    Kept *newest, *oldest;
    int64_t range_bytes; /* in ranges of pages, used or kept */
    bool stuck;          /* no more pages can be moved */
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

/* The class of a size: quarter steps between powers of two, and above LARGE sixteenths that are whole huge pages. Sets
 * the size that the class really has. */
static int class_of(size_t bytes, size_t *rounded) {
    if (bytes < ALLOCATOR_SMALLEST) bytes = ALLOCATOR_SMALLEST;
    const int power = 63 - __builtin_clzll((unsigned long long)(bytes - 1)); /* 2^power < bytes <= 2^(power + 1) */
    const size_t least = (size_t)1 << power, quarter = least / 4, sixteenth = least / 16;
    const size_t step = bytes <= LARGE ? quarter : sixteenth < HUGE_PAGE ? HUGE_PAGE : sixteenth;
    const size_t steps = (bytes - least + step - 1) / step; /* at least 1 */
    *rounded = least + steps * step;
    return (bytes <= LARGE ? 4 : 20) * power + (int)steps - 1; /* 20 leaves the small ones their numbers */
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
        if (oldest->range) allocator.range_bytes -= (int64_t)oldest->bytes;
        allocator.stats.evictions++;
        oldest->older = dropped;
        dropped = oldest;
    }
    return dropped;
}

static bool is_range(size_t bytes) { return PAGES_MOVE && bytes > LARGE; }

/* Ranges are accounted for under the lock, by their callers. */
static void give_back(void *buffer, size_t bytes, bool range) {
#if PAGES_MOVE
    if (range) {
        pages_unmap(buffer, bytes);
        return;
    }
#endif
    (void)bytes, (void)range;
    free(buffer);
}

static void free_all(Kept *dropped) {
    while (dropped) {
        Kept *next = dropped->older;
        give_back(dropped, dropped->bytes, dropped->range);
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

#if PAGES_MOVE
static void keep_loose(char *piece, size_t bytes, bool poisoned) {
    Kept *kept = (Kept *)piece;
    kept->bytes = bytes;
    kept->class_index = LOOSE;
    kept->range = true;
    kept->poisoned = poisoned;
    lock();
    link_kept(kept);
    unlock();
}

/* Takes large kept buffers, the oldest first, until they have so many bytes; under the lock. */
static Kept *gather(size_t bytes) {
    Kept *taken = NULL, *newer;
    if (allocator.stuck || allocator.range_bytes > MOST_MOVED) return NULL;
    for (Kept *kept = allocator.oldest; kept != NULL && bytes > 0; kept = newer) {
        newer = kept->newer;
        if (!kept->range) continue;
        unlink_kept(kept);
        bytes -= kept->bytes < bytes ? kept->bytes : bytes;
        kept->older = taken;
        taken = kept;
    }
    return taken;
}

/* A range made of the pages of kept ones, and ends the latter; NULL when that cannot be done. */
static char *assemble(Kept *taken, size_t bytes) {
    char *range = pages_map(bytes);
    size_t filled = 0, lost = 0;
    int64_t ended = 0;
    while (taken) {
        Kept *next = taken->older;
        char *piece = (char *)taken;
        const size_t has = taken->bytes, wanted = range == NULL || lost ? 0 : has < bytes - filled ? has : bytes - filled;
        const bool poisoned = taken->poisoned;
        if (poisoned) require_poison(taken);
        const size_t moved = wanted > 0 ? pages_move(piece, range + filled, wanted) : 0;
        filled += moved;
        ended += (int64_t)moved;
        if (moved < wanted) lost = HUGE_PAGE;
        if (moved < has && moved == wanted) {
            keep_loose(piece + moved, has - moved, poisoned);
        } else if (moved < has) {
            pages_unmap(piece + moved, has - moved);
            ended += (int64_t)(has - moved);
        }
        taken = next;
    }
    if (lost) { /* one huge page of the range may be anybody's */
        if (filled > 0) pages_unmap(range, filled);
        if (filled + lost < bytes) pages_unmap(range + filled + lost, bytes - filled - lost);
        range = NULL;
    }
    lock();
    allocator.range_bytes -= ended;
    if (lost) allocator.stuck = true;
    unlock();
    return range;
}
#endif

static void *new_range(size_t bytes) {
    char *range = NULL;
#if PAGES_MOVE
    range = pages_map(bytes);
#endif
    (void)bytes;
    return range;
}

static void *new_buffer(size_t bytes) {
    void *buffer = is_range(bytes) ? new_range(bytes) : fresh(bytes);
    if (buffer == NULL) { /* what is kept may be what is missing */
        allocator_clear();
        buffer = is_range(bytes) ? new_range(bytes) : fresh(bytes);
    }
    return buffer;
}

void *allocator_acquire(size_t bytes) {
    size_t rounded;
    if (bytes > SIZE_MAX / 4) return NULL;
    int class_index = class_of(bytes, &rounded);
    Kept *taken = NULL;
    lock();
    Kept *kept = allocator.top[class_index];
    if (kept) unlink_kept(kept), allocator.stats.hits++;
    else allocator.stats.misses++;
    if (kept) note_use((int64_t)rounded);
#if PAGES_MOVE
    if (!kept && is_range(rounded)) taken = gather(rounded);
#endif
    unlock();
    if (kept) {
        if (kept->poisoned) require_poison(kept);
        return kept;
    }
    void *buffer = NULL;
#if PAGES_MOVE
    if (taken) buffer = assemble(taken, rounded);
#endif
    if (buffer == NULL) buffer = new_buffer(rounded);
    if (buffer == NULL) return NULL;
    lock();
    note_use((int64_t)rounded);
    if (is_range(rounded)) allocator.range_bytes += (int64_t)rounded;
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
    kept->range = is_range(rounded);
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
