/* Spans in one list by address. There are tens of them, each of a mebibyte or more as a rule: looking through all costs
 * nothing beside what is done with the memory. */
#include "core/spans.h"

#include <string.h>
#include <sys/mman.h>

#if !defined(MAP_ANONYMOUS)
#define MAP_ANONYMOUS MAP_ANON
#endif

enum { HUGE_PAGE = 1 << 21 };

static Span *first;
static uint64_t clock_of_ages;
static int64_t count;

static Span *end_of(Span *span) { return (Span *)((char *)span + span->bytes); }

/* What points to the smallest span of so many bytes that does not touch a range; NULL if there is none. */
static Span **smallest(size_t bytes, const char *avoided, size_t avoided_bytes) {
    Span **best = NULL;
    for (Span **place = &first; *place; place = &(*place)->next) {
        Span *span = *place;
        if (span->bytes < bytes || (best != NULL && span->bytes >= (*best)->bytes)) continue;
        const bool touches = (char *)span < avoided + avoided_bytes && avoided < (char *)end_of(span);
        if (avoided_bytes == 0 || !touches) best = place;
    }
    return best;
}

/* The front of a span, which is unlinked; the rest stays. */
static Span *take_front(Span **place, size_t bytes) {
    Span *found = *place;
    if (found->bytes > bytes) {
        Span *rest = (Span *)((char *)found + bytes);
        *rest = (Span){found->next, found->bytes - bytes, found->age, found->poisoned};
        *place = rest;
        found->bytes = bytes;
    } else {
        *place = found->next;
        count--;
    }
    return found;
}

Span *spans_take(size_t bytes, const void *avoided, size_t avoided_bytes) {
    Span **best = smallest(bytes, avoided, avoided_bytes);
    return best == NULL ? NULL : take_front(best, bytes);
}

Span *spans_take_at(void *start, size_t bytes) {
    Span *wanted = start;
    Span **place = &first;
    while (*place && end_of(*place) <= wanted) place = &(*place)->next;
    Span *span = *place;
    if (span == NULL || span > wanted || (char *)end_of(span) < (char *)start + bytes) return NULL;
    if (span < wanted) { /* the part before it stays by itself */
        const size_t before = (size_t)((char *)wanted - (char *)span);
        *wanted = (Span){span->next, span->bytes - before, span->age, span->poisoned};
        span->next = wanted;
        span->bytes = before;
        count++;
        place = &span->next;
    }
    return take_front(place, bytes);
}

void *spans_find(size_t bytes) {
    Span **best = smallest(bytes, NULL, 0);
    return best == NULL ? NULL : *best;
}

/* Joins a span with the next one, if they touch. */
static void join(Span *span, unsigned char poison) {
    Span *next = span->next;
    if (next == NULL || end_of(span) != next) return;
    const Span other = *next;
    span->poisoned = span->poisoned && other.poisoned;
    if (span->poisoned) memset((void *)next, poison, sizeof(Span));
    span->next = other.next;
    span->bytes += other.bytes;
    if (other.age > span->age) span->age = other.age;
    count--;
}

void spans_keep(void *start, size_t bytes, bool poisoned, unsigned char poison) {
    Span *before = NULL, *span = start;
    for (Span *other = first; other && other < span; other = other->next) before = other;
    *span = (Span){before ? before->next : first, bytes, ++clock_of_ages, poisoned};
    *(before ? &before->next : &first) = span;
    count++;
    join(span, poison);
    if (before) join(before, poison);
}

Span *spans_drop(size_t bytes, size_t *got) {
    Span *dropped = NULL;
    bytes = spans_rounded(bytes);
    for (*got = 0; first && *got < bytes;) {
        Span **oldest = &first;
        for (Span **place = &first; *place; place = &(*place)->next)
            if ((*place)->age < (*oldest)->age) oldest = place;
        Span *span = *oldest;
        const size_t wanted = bytes - *got;
        if (span->bytes > wanted) { /* its end alone */
            span->bytes -= wanted;
            span = end_of(span);
            span->bytes = wanted;
        } else {
            *oldest = span->next;
            count--;
        }
        *got += span->bytes;
        span->next = dropped;
        dropped = span;
    }
    return dropped;
}

int64_t spans_count(void) { return count; }

void *spans_map(size_t bytes) {
    const size_t aligned = bytes >= HUGE_PAGE ? HUGE_PAGE : SPAN_GRAIN;
    char *start = mmap(NULL, bytes + aligned, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) return NULL;
    char *buffer = start + (aligned - (uintptr_t)start % aligned) % aligned;
    if (buffer > start) munmap(start, (size_t)(buffer - start));
    if (start + aligned > buffer) munmap(buffer + bytes, (size_t)(start + aligned - buffer));
#if defined(MADV_HUGEPAGE)
    if (bytes >= HUGE_PAGE) madvise(buffer, bytes, MADV_HUGEPAGE); /* only advice: may fail */
#endif
    return buffer;
}

void spans_free(Span *list) {
    while (list) {
        Span *next = list->next;
        munmap(list, list->bytes);
        list = next;
    }
}
