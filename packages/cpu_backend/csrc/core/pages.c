/* Moving pages: one call of the system per huge page, because a range that was moved together may be several mappings
 * to the system, and one call moves no more than one. */
#include "core/pages.h"

#if PAGES_MOVE
#include <stdint.h>
#include <sys/mman.h>

char *pages_map(size_t bytes) {
    char *range = mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (range == MAP_FAILED) return NULL;
    const size_t before = (HUGE_PAGE - (uintptr_t)range % HUGE_PAGE) % HUGE_PAGE;
    if (before > 0) munmap(range, before);
    munmap(range + before + bytes, HUGE_PAGE - before);
    range += before;
    madvise(range, bytes, MADV_HUGEPAGE); /* only advice: may fail */
    return range;
}

void pages_unmap(char *range, size_t bytes) { munmap(range, bytes); }

size_t pages_move(char *from, char *into, size_t bytes) {
    size_t moved = 0;
    while (moved < bytes && mremap(from + moved, HUGE_PAGE, HUGE_PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, into + moved) ==
                                (void *)(into + moved))
        moved += HUGE_PAGE;
    return moved;
}
#endif
