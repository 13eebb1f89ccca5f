/* Bytes that lie together, moved as memmove() moves them, but for one case in which that is slow. */
#ifndef TENSOR_CPU_MOVED_BYTES_H
#define TENSOR_CPU_MOVED_BYTES_H

#include "core/common.h"

#include <string.h>

/* glibc (2.36, for one) moves so many bytes by one instruction, "rep movsb", of which AMD's processors (Zen 3 and 4)
 * make ten times as much where the target begins fewer bytes past the source, modulo a page, than a vector has
 * (https://sourceware.org/bugzilla/show_bug.cgi?id=30994). Large buffers all begin with a page, so that is every line
 * that moves on by an element or three. */
enum { MOVED_BY_ONE_INSTRUCTION = 1 << 11, ALIASING_PAGE = 1 << 12, ALIASING_VECTOR = 32 };

static inline void move_bytes(void *target, const void *source, size_t bytes) {
    const size_t distance = (uintptr_t)target - (uintptr_t)source; /* of what begins below the source, a huge one */
    if (bytes < MOVED_BY_ONE_INSTRUCTION || (distance - 1) % ALIASING_PAGE >= ALIASING_VECTOR - 1 || distance < bytes) {
        memmove(target, source, bytes);
        return;
    }
    /* From the front, which is right for a target below its source as well: that is almost a page away at least. */
    char *to = target;
    const char *from = source;
    for (; bytes >= CACHE_LINE; bytes -= CACHE_LINE, to += CACHE_LINE, from += CACHE_LINE) memcpy(to, from, CACHE_LINE);
    memcpy(to, from, bytes);
}

#endif
