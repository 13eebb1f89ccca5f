/* The caching allocator: buffers that are kept for the next use instead of going back to the operating system.
 *
 * A page that a process gets for the first time has to be found and cleared; for a large result that costs more than
 * computing it. Buffers are aligned to 64 bytes. Those below a mebibyte come in size classes, four per doubling, so that
 * at most a fifth of one is unused; the smallest class is 64 KiB. Larger ones are whole grains of 32 KiB, and what one
 * leaves serves others of any size: it is cut and joined (core/spans.h). Buffers that nobody uses count against a limit.
 * Small ones are at most 32 MiB; large ones, together with those in use, at most what was in use at one time, and a
 * little: room for a new one is made first. The one given back first leaves first. Safe to call from any thread, with
 * or without the GIL.
 */
#ifndef TENSOR_CPU_CACHING_ALLOCATOR_H
#define TENSOR_CPU_CACHING_ALLOCATOR_H

#include "core/common.h"

typedef struct {
    int64_t used_bytes, used_buffers; /* taken and not given back; blocks' bytes apart */
    int64_t kept_bytes, kept_buffers; /* waiting for the next use */
    int64_t limit_bytes;              /* of what is kept */
    int64_t hits, misses, evictions;  /* since the process started */
    /* Most that was in use at one time, since allocator_clear(): by results and copies, and by threads for their work. */
    int64_t peak_bytes, thread_peak_bytes;
} AllocatorStats;

enum {
    ALLOCATOR_SMALLEST = 1 << 16, /* bytes; the system's allocator is as fast below, and keeps what it has */
    ALLOCATOR_LARGE = 1 << 20,    /* whole grains from here on */
    ALLOCATOR_SPARE = 1 << 24,    /* kept beside what was in use at one time, */
    ALLOCATOR_SPARE_SHARE = 32    /* and such a part of that */
};

/* A buffer of at least so many bytes with any contents, or NULL. */
void *allocator_acquire(size_t bytes);

/* Give back what allocator_acquire returned for this size. */
void allocator_release(void *buffer, size_t bytes);

/* Buffers at chosen addresses, for callers who know beforehand which ones they need, and when. allocator_reserve() finds
 * or maps memory for so many bytes in a row, which stays free for everybody; NULL if it cannot be kept, or as much is kept
 * in pieces, of which one holds the largest buffer: mapping anew would give them back. A buffer is taken
 * at an address there if that is free, else anywhere (at NULL, too), always of whole grains; and goes back by the
 * function beside it. A buffer of a mebibyte and more is like those of allocator_acquire(). */
void *allocator_reserve(size_t bytes, size_t largest);
void *allocator_acquire_at(void *place, size_t bytes);
void allocator_release_at(void *buffer, size_t bytes);

/* As allocator_acquire(), but not from what is kept of this range. */
void *allocator_acquire_outside(const void *range, size_t range_bytes, size_t bytes);

/* Workspace of any size, aligned to 64 bytes: from the cache where that is worth it, else from the system's allocator.
 * NULL when memory is short; give it back with the same size. */
void *scratch_acquire(size_t bytes);
void scratch_release(void *scratch, size_t bytes);

/* Workspace of one thread for one piece of work. Threads may have little stack, so no function takes more of it than
 * LARGEST_FRAME of setup.py, which has the compiler warn of it: what fits into `little`, LITTLE_WORKSPACE bytes on the
 * caller's stack that are aligned to 64, lies there, and all else is scratch. */
enum { LITTLE_WORKSPACE = 1 << 13 };
static inline void *workspace_acquire(char *little, size_t bytes) {
    return bytes <= LITTLE_WORKSPACE ? little : scratch_acquire(bytes);
}
static inline void workspace_release(void *workspace, size_t bytes) {
    if (bytes > LITTLE_WORKSPACE) scratch_release(workspace, bytes);
}

/* As these two, for one block of a large operation, such as the panels of a product: some MiB at most, however large the
 * operands are, so it counts apart, in `thread_peak_bytes`. */
void *block_scratch_acquire(size_t bytes);
void block_scratch_release(void *scratch, size_t bytes);
static inline void *block_acquire(char *little, size_t bytes) {
    return bytes <= LITTLE_WORKSPACE ? little : block_scratch_acquire(bytes);
}
static inline void block_release(void *block, size_t bytes) {
    if (bytes > LITTLE_WORKSPACE) block_scratch_release(block, bytes);
}

AllocatorStats allocator_stats(void);
void allocator_clear(void); /* every kept buffer goes back to the operating system; the peaks are forgotten */
/* What no longer fits leaves at once; less than nothing is nothing. The first limit is small: tensor_cpu.system.memory,
 * which knows what the machine and its control groups have, sets another. */
void allocator_set_limit(int64_t bytes);

/* Overwrite buffers that are given back from now on, and stop the process when one of them was written to before its
 * next use. */
void allocator_set_poisoning(bool on);

#endif
