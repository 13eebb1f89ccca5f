/* Spans: kept memory of large buffers, cut and joined so that what one buffer leaves serves another of any size.
 *
 * A span is a run of whole grains that nobody uses, described in its own first bytes. A request takes the front of the
 * smallest span that is large enough, and the rest stays; a buffer that comes back joins the spans on either side of
 * it. So what is kept is never lost between sizes, as it would be in lists of one size each. Nothing here locks: the
 * caching allocator does.
 */
#ifndef TENSOR_CPU_SPANS_H
#define TENSOR_CPU_SPANS_H

#include "core/common.h"

enum { SPAN_GRAIN = 1 << 15 }; /* bytes; of a buffer of a mebibyte, less than a thirtieth is unused */

typedef struct Span Span;
struct Span {
    Span *next; /* by address; of a list of spans to be freed, in any order */
    size_t bytes;
    uint64_t age;  /* the larger, the later it came back */
    bool poisoned; /* every byte behind this description is what poisoned buffers are filled with */
};

static inline size_t spans_rounded(size_t bytes) { return (bytes + SPAN_GRAIN - 1) / SPAN_GRAIN * SPAN_GRAIN; }

/* So many bytes, a multiple of the grain, off the smallest span that has them and lies outside of a range (of 0 bytes for
 * none); NULL if none has. What is taken is described as a span for the moment. */
Span *spans_take(size_t bytes, const void *avoided, size_t avoided_bytes);

/* The same at one address, whole grains behind the beginning of a span; NULL if not all of it is kept. */
Span *spans_take_at(void *start, size_t bytes);

/* Where the smallest span begins that has so many bytes; NULL if none has. */
void *spans_find(size_t bytes);

/* Keep a buffer of so many bytes, a multiple of the grain; `poison` fills where two poisoned ones are joined. */
void spans_keep(void *start, size_t bytes, bool poisoned, unsigned char poison);

/* Unlinks the oldest spans, or the end of one, until so many bytes are together or none are left: a list to be given
 * to spans_free(), `*got` bytes in all. */
Span *spans_drop(size_t bytes, size_t *got);
int64_t spans_count(void);

/* Memory of whole grains from the operating system, NULL if there is none; in large pages where that is possible. */
void *spans_map(size_t bytes);
/* Gives a list from spans_drop() back to the operating system. */
void spans_free(Span *list);

#endif
