/* The caching allocator. Buffers below a mebibyte: one list per size class, newest first within a class, and one list of
 * all by age. Larger ones: spans (core/spans.h), which are cut and joined.
 *
 * What is kept is described in the first bytes of the buffer itself, so that keeping one needs no memory. Spans of 2 MiB
 * or more ask for huge pages (transparent ones, on Linux). When poisoning is on, a buffer that is given back is filled
 * with one byte and says so in its description; whoever takes it looks for other bytes.
 */
#include "core/caching_allocator.h"
#include "core/spans.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64, CLASSES = 4 * 64, POISON = 0xDB };
/* Bytes of scratch that come from the cache: the system's allocator may give larger blocks back each time. */
enum { CACHED_SCRATCH = 1 << 14 };
/* Bytes. Of small buffers at most the second is kept. Spans that are kept make, with all that is used, at most what was
 * in use at one time, a 32nd of that and ALLOCATOR_SPARE. */
enum { FIRST_LIMIT = 1 << 28, SMALL_KEPT = 1 << 25 };

/* What a buffer is for: results and copies of operands, or work of threads on a part of them. */
typedef enum { DATA, WORK } Use;

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
    int64_t small_bytes;               /* of what is kept, in size classes; the rest is spans */
    int64_t thread_bytes, most_in_use; /* of work of threads, now; with that, at one time */
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
    allocator.small_bytes -= (int64_t)kept->bytes;
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
    allocator.small_bytes += (int64_t)kept->bytes;
    allocator.stats.kept_buffers++;
}

/* What leaves; it is freed by free_all(), once the lock is released. */
typedef struct {
    Kept *small;
    Span *spans;
} Dropped;

static void drop_spans(Dropped *dropped, int64_t bytes) {
    const int64_t before = spans_count();
    size_t got = 0;
    Span *list = bytes > 0 ? spans_drop((size_t)bytes, &got) : NULL;
    if (list == NULL) return;
    Span *last = list;
    for (allocator.stats.evictions++; last->next; last = last->next) allocator.stats.evictions++;
    last->next = dropped->spans;
    dropped->spans = list;
    allocator.stats.kept_bytes -= (int64_t)got;
    allocator.stats.kept_buffers -= before - spans_count();
}

/* Unlinks what does not fit the limits any more: of small buffers the oldest, then of spans. */
static Dropped evict(void) {
    Dropped dropped = {NULL, NULL};
    const int64_t limit = allocator.stats.limit_bytes;
    while (allocator.oldest && allocator.small_bytes > smaller(limit, SMALL_KEPT)) {
        Kept *oldest = allocator.oldest;
        unlink_kept(oldest);
        allocator.stats.evictions++;
        oldest->older = dropped.small;
        dropped.small = oldest;
    }
    drop_spans(&dropped, allocator.stats.kept_bytes - limit);
    return dropped;
}

static int64_t in_use(void) { return allocator.stats.used_bytes + allocator.thread_bytes; }

/* Unlinks spans to make room for a buffer that none of them holds, so that there is never much more than the buffers in
 * use at one time need. */
static Dropped make_room(int64_t bytes, int64_t spare) {
    Dropped dropped = {NULL, NULL};
    const int64_t used = in_use() + bytes;
    const int64_t peak = used > allocator.most_in_use ? used : allocator.most_in_use;
    const int64_t most = peak + peak / ALLOCATOR_SPARE_SHARE + spare;
    drop_spans(&dropped, used + allocator.stats.kept_bytes - allocator.small_bytes - most);
    return dropped;
}

static void free_all(Dropped dropped) {
    while (dropped.small) {
        Kept *next = dropped.small->older;
        free(dropped.small);
        dropped.small = next;
    }
    spans_free(dropped.spans);
}

static void require_poison(const void *buffer, size_t described, size_t size) {
    const unsigned char *bytes = buffer;
    for (size_t i = described; i < size; i++)
        if (bytes[i] != POISON) {
            fprintf(stderr, "tensor_cpu: a buffer of %zu bytes was written to at byte %zu after it was given back\n",
                    size, i);
            abort();
        }
}

static void keep_most(int64_t *most, int64_t now) {
    if (now > *most) *most = now;
}

/* Once a buffer has been had: what was only asked for does not count. */
static void note_use(int64_t bytes, Use use) {
    AllocatorStats *stats = &allocator.stats;
    stats->used_buffers++;
    if (use == WORK) keep_most(&stats->thread_peak_bytes, allocator.thread_bytes += bytes);
    else keep_most(&stats->peak_bytes, stats->used_bytes += bytes);
    keep_most(&allocator.most_in_use, in_use());
}

static void note_return(int64_t bytes, Use use) {
    *(use == WORK ? &allocator.thread_bytes : &allocator.stats.used_bytes) -= bytes;
    allocator.stats.used_buffers--;
}

/* At an address, if there is one and it is free; else outside of a range, if there is one. */
static void *acquire_large(void *place, const void *range, size_t range_bytes, size_t bytes, Use use) {
    const size_t rounded = spans_rounded(bytes);
    lock();
    const int64_t before = spans_count();
    Span *span = place ? spans_take_at(place, rounded) : NULL;
    if (span == NULL) span = spans_take(rounded, range, range_bytes);
    Dropped dropped = {NULL, NULL};
    if (span) {
        allocator.stats.hits++;
        allocator.stats.kept_bytes -= (int64_t)rounded;
        allocator.stats.kept_buffers -= before - spans_count();
        note_use((int64_t)rounded, use);
    } else {
        allocator.stats.misses++;
        dropped = make_room((int64_t)rounded, ALLOCATOR_SPARE);
    }
    unlock();
    free_all(dropped);
    if (span) {
        if (span->poisoned) require_poison(span, sizeof(Span), rounded);
        return span;
    }
    void *buffer = spans_map(rounded);
    if (buffer == NULL) { /* what is kept may be what is missing */
        allocator_clear();
        buffer = spans_map(rounded);
    }
    if (buffer == NULL) return NULL;
    lock();
    note_use((int64_t)rounded, use);
    unlock();
    return buffer;
}

void *allocator_acquire_at(void *place, size_t bytes) { return acquire_large(place, NULL, 0, bytes, DATA); }

void *allocator_acquire_outside(const void *range, size_t range_bytes, size_t bytes) {
    return bytes < ALLOCATOR_LARGE ? allocator_acquire(bytes) : acquire_large(NULL, range, range_bytes, bytes, DATA);
}

void *allocator_reserve(size_t bytes, size_t largest) {
    const size_t rounded = spans_rounded(bytes);
    Dropped dropped = {NULL, NULL};
    lock();
    void *found = spans_find(rounded);
    const bool pieces = allocator.stats.kept_bytes >= (int64_t)rounded && spans_find(spans_rounded(largest)) != NULL;
    const bool fits = (int64_t)rounded <= allocator.stats.limit_bytes && !pieces;
    if (found == NULL && fits) dropped = make_room((int64_t)rounded, 0);
    unlock();
    free_all(dropped);
    if (found != NULL || !fits) return found;
    void *mapped = spans_map(rounded);
    if (mapped == NULL) return NULL;
    lock();
    const int64_t before = spans_count();
    allocator.stats.misses++;
    spans_keep(mapped, rounded, false, POISON);
    allocator.stats.kept_bytes += (int64_t)rounded;
    allocator.stats.kept_buffers += spans_count() - before;
    dropped = evict();
    unlock();
    free_all(dropped);
    return mapped;
}

static void release_large(void *buffer, size_t bytes, Use use) {
    const size_t rounded = spans_rounded(bytes);
    const bool poisoned = atomic_load_explicit(&allocator.poisoning, memory_order_relaxed);
    if (poisoned) memset(buffer, POISON, rounded);
    lock();
    const int64_t before = spans_count();
    note_return((int64_t)rounded, use);
    spans_keep(buffer, rounded, poisoned, POISON);
    allocator.stats.kept_bytes += (int64_t)rounded;
    allocator.stats.kept_buffers += spans_count() - before;
    Dropped dropped = evict();
    unlock();
    free_all(dropped);
}

void allocator_release_at(void *buffer, size_t bytes) {
    if (buffer != NULL) release_large(buffer, bytes, DATA);
}

/* Of a size class, of which what was asked for counts as used: nobody touches the rest. */
static void *acquire(size_t bytes, Use use) {
    size_t rounded;
    if (bytes > SIZE_MAX / 4) return NULL;
    if (bytes >= ALLOCATOR_LARGE) return acquire_large(NULL, NULL, 0, bytes, use);
    int class_index = class_of(bytes, &rounded);
    lock();
    Kept *kept = allocator.top[class_index];
    if (kept) unlink_kept(kept), allocator.stats.hits++;
    else allocator.stats.misses++;
    if (kept) note_use((int64_t)bytes, use);
    unlock();
    if (kept) {
        if (kept->poisoned) require_poison(kept, sizeof(Kept), kept->bytes);
        return kept;
    }
    void *buffer = aligned_alloc(ALIGNMENT, rounded);
    if (buffer == NULL) { /* what is kept may be what is missing */
        allocator_clear();
        buffer = aligned_alloc(ALIGNMENT, rounded);
    }
    if (buffer == NULL) return NULL;
    lock();
    note_use((int64_t)bytes, use);
    unlock();
    return buffer;
}

static void release(void *buffer, size_t bytes, Use use) {
    if (buffer == NULL) return;
    if (bytes >= ALLOCATOR_LARGE) {
        release_large(buffer, bytes, use);
        return;
    }
    size_t rounded;
    int class_index = class_of(bytes, &rounded);
    bool poisoned = atomic_load_explicit(&allocator.poisoning, memory_order_relaxed);
    if (poisoned) memset(buffer, POISON, rounded);
    Kept *kept = buffer;
    kept->poisoned = poisoned;
    kept->bytes = rounded;
    kept->class_index = class_index;
    lock();
    note_return((int64_t)bytes, use);
    link_kept(kept);
    Dropped dropped = evict();
    unlock();
    free_all(dropped);
}

void *allocator_acquire(size_t bytes) { return acquire(bytes, DATA); }
void allocator_release(void *buffer, size_t bytes) { release(buffer, bytes, DATA); }

static void *acquire_any(size_t bytes, Use use) {
    if (bytes >= CACHED_SCRATCH) return acquire(bytes, use);
    char *block = malloc(bytes + ALIGNMENT); /* aligned_alloc() takes a slower path */
    if (block == NULL) return NULL;
    char *scratch = block + ALIGNMENT - (uintptr_t)block % ALIGNMENT;
    ((void **)scratch)[-1] = block; /* there is room: malloc aligns to at least two pointers */
    return scratch;
}

static void release_any(void *scratch, size_t bytes, Use use) {
    if (bytes >= CACHED_SCRATCH) release(scratch, bytes, use);
    else if (scratch != NULL) free(((void **)scratch)[-1]);
}

void *scratch_acquire(size_t bytes) { return acquire_any(bytes, DATA); }
void scratch_release(void *scratch, size_t bytes) { release_any(scratch, bytes, DATA); }
void *block_scratch_acquire(size_t bytes) { return acquire_any(bytes, WORK); }
void block_scratch_release(void *scratch, size_t bytes) { release_any(scratch, bytes, WORK); }

AllocatorStats allocator_stats(void) {
    lock();
    AllocatorStats stats = allocator.stats;
    unlock();
    return stats;
}

void allocator_set_limit(int64_t bytes) {
    lock();
    allocator.stats.limit_bytes = bytes < 0 ? 0 : bytes;
    Dropped dropped = evict();
    unlock();
    free_all(dropped);
}

void allocator_clear(void) {
    lock();
    int64_t limit = allocator.stats.limit_bytes, evictions = allocator.stats.evictions;
    allocator.stats.limit_bytes = 0;
    Dropped dropped = evict();
    allocator.stats.limit_bytes = limit;
    allocator.stats.evictions = evictions; /* asked for, not forced */
    allocator.stats.peak_bytes = allocator.stats.used_bytes;
    allocator.stats.thread_peak_bytes = allocator.thread_bytes;
    allocator.most_in_use = in_use();
    unlock();
    free_all(dropped);
}

void allocator_set_poisoning(bool on) { atomic_store_explicit(&allocator.poisoning, on, memory_order_relaxed); }
