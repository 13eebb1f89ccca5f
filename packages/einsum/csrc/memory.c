/* Chunks, from which pieces are taken in order. */
#include "memory.h"

enum { ALIGNMENT = 64, SMALLEST_CHUNK = 1 << 16 };

struct Chunk {
    Chunk *older;
    size_t used, room;
    char *start;
};

static void free_newest(Memory *memory) {
    Chunk *chunk = memory->chunks;
    memory->chunks = chunk->older;
    free(chunk);
}

void *memory_take(Memory *memory, size_t count, size_t size) {
    Chunk *chunk = memory->chunks;
    if (count > (SIZE_MAX >> 1) / size) longjmp(*memory->out, 1);
    size_t bytes = (count * size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if (!chunk || chunk->room - chunk->used < bytes) {
        size_t room = chunk ? 2 * chunk->room : SMALLEST_CHUNK;
        if (room > SMALLEST_CHUNK << 6) room = SMALLEST_CHUNK << 6;
        if (room < bytes) room = bytes;
        Chunk *newer = malloc(sizeof *newer + ALIGNMENT + room);
        if (!newer) longjmp(*memory->out, 1);
        uintptr_t behind = (uintptr_t)(newer + 1);
        *newer = (Chunk){chunk, 0, room, (char *)(newer + 1) + (-behind & (ALIGNMENT - 1))};
        memory->chunks = chunk = newer;
    }
    void *piece = chunk->start + chunk->used;
    chunk->used += bytes;
    return piece;
}

void *memory_zeros(Memory *memory, size_t count, size_t size) {
    return memset(memory_take(memory, count, size), 0, count * size);
}

Mark memory_mark(const Memory *memory) { return (Mark){memory->chunks, memory->chunks ? memory->chunks->used : 0}; }

void memory_release(Memory *memory, Mark mark) {
    while (memory->chunks != mark.chunk) free_newest(memory);
    if (mark.chunk) mark.chunk->used = mark.used;
}

void memory_free(Memory *memory) {
    while (memory->chunks) free_newest(memory);
}

void ints_push(Memory *memory, Ints *ints, int item) {
    if (ints->count == ints->room) {
        ints->room = 2 * ints->room + 6;
        int *items = TAKE(memory, int, ints->room);
        if (ints->count) memcpy(items, ints->items, (size_t)ints->count * sizeof *items);
        ints->items = items;
    }
    ints->items[ints->count++] = item;
}

void ints_drop(Ints *ints, int item) {
    for (int i = 0; i < ints->count; i++) {
        if (ints->items[i] == item) {
            ints->items[i] = ints->items[--ints->count];
            return;
        }
    }
}
