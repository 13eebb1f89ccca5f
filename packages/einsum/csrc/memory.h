/* Memory of one worker: taken piece by piece, given back all at once to a mark. Running out ends the worker's work. */
#ifndef SEARCH_MEMORY_H
#define SEARCH_MEMORY_H

#include "common.h"
#include <setjmp.h>

typedef struct Chunk Chunk;

typedef struct {
    Chunk *chunks; /* the newest first */
    jmp_buf *out;  /* where to go when there is no more */
} Memory;

typedef struct {
    Chunk *chunk;
    size_t used;
} Mark;

void *memory_take(Memory *memory, size_t count, size_t size); /* aligned to 64 bytes */
void *memory_zeros(Memory *memory, size_t count, size_t size);
Mark memory_mark(const Memory *memory);
void memory_release(Memory *memory, Mark mark); /* gives back all that was taken since */
void memory_free(Memory *memory);

#define TAKE(memory, type, count) ((type *)memory_take(memory, (size_t)(count), sizeof(type)))
#define ZEROS(memory, type, count) ((type *)memory_zeros(memory, (size_t)(count), sizeof(type)))

/* Ints that grow; what they outgrow stays taken until the mark. */
typedef struct {
    int *items, count, room;
} Ints;

void ints_push(Memory *memory, Ints *ints, int item);
void ints_drop(Ints *ints, int item); /* the first one that is equal; the last takes its place */

#endif
