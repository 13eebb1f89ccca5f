/* What drivers draw: numbers, memory and layouts. */
#include "fuzz.h"
#include "main.h"

#if defined(__SANITIZE_ADDRESS__)
#define ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ADDRESS_SANITIZER 1
#endif
#endif
#ifdef ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

enum { MOST_BLOCKS = 256 };

static uint64_t state;
static struct {
    char *memory;
    size_t bytes;
} blocks[MOST_BLOCKS];
static int block_count;

/* Sebastiano Vigna's splitmix64. */
static uint64_t next(void) {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void example_begin(uint64_t seed) { state = seed; }

void example_end(void) {
    for (int i = 0; i < block_count; i++) {
        ASAN_UNPOISON_MEMORY_REGION(blocks[i].memory, blocks[i].bytes);
        free(blocks[i].memory);
    }
    block_count = 0;
}

Index draw(Index low, Index high) { return low + (Index)(next() % (uint64_t)(high - low + 1)); }

ElementType draw_type(void) { return (ElementType)draw(0, ELEMENT_TYPES - 1); }

static void *keep(char *memory, size_t bytes) {
    CHECK(memory != NULL && block_count < MOST_BLOCKS);
    blocks[block_count].memory = memory;
    blocks[block_count++].bytes = bytes;
    return memory;
}

void *room_for(Index bytes) { return keep(malloc((size_t)bytes), (size_t)bytes); }

void *aligned_room(Index bytes) {
    const size_t whole = (size_t)rounded_up(bytes, 64);
    char *memory = keep(aligned_alloc(64, whole ? whole : 64), whole);
    ASAN_POISON_MEMORY_REGION(memory + bytes, whole - (size_t)bytes);
    return memory;
}

void *bytes_drawn(Index bytes) {
    unsigned char *memory = room_for(bytes);
    for (Index i = 0; i < bytes; i++) memory[i] = (unsigned char)next();
    return memory;
}

static bool is_integer(ElementType type) { return type == I32 || type == I64; }
static bool has_parts(ElementType type) { return type == C32 || type == C64; }

/* What a result of wrapping arithmetic is in the type. */
static Number in_type(ElementType type, uint64_t re, uint64_t im) {
    if (type == BOOL) return (Number){re != 0, 0};
    if (type == I32) return (Number){(int32_t)(uint32_t)re, 0};
    return (Number){(int64_t)re, (int64_t)im};
}

Number number_drawn(ElementType type) {
    if (type == BOOL) return (Number){draw(0, 1), 0};
    if (is_integer(type) && one_in(4)) return in_type(type, next(), 0);
    return (Number){draw(-3, 3), has_parts(type) ? draw(-3, 3) : 0};
}

Number unit_drawn(ElementType type) {
    const int64_t sign = one_in(3) ? -1 : 1;
    return has_parts(type) && one_in(2) ? (Number){0, sign} : (Number){sign, 0};
}

Number number_read(ElementType type, const void *element) {
    float f[2];
    double d[2];
    int32_t narrow;
    int64_t wide;
    switch (type) {
    case F32: memcpy(f, element, 4); return (Number){(int64_t)f[0], 0};
    case F64: memcpy(d, element, 8); return (Number){(int64_t)d[0], 0};
    case C32: memcpy(f, element, 8); return (Number){(int64_t)f[0], (int64_t)f[1]};
    case C64: memcpy(d, element, 16); return (Number){(int64_t)d[0], (int64_t)d[1]};
    case I32: memcpy(&narrow, element, 4); return (Number){narrow, 0};
    case I64: memcpy(&wide, element, 8); return (Number){wide, 0};
    default: return (Number){*(const unsigned char *)element != 0, 0};
    }
}

void number_write(ElementType type, void *element, Number value) {
    const float f[2] = {(float)value.re, (float)value.im};
    const double d[2] = {(double)value.re, (double)value.im};
    const int32_t narrow = (int32_t)value.re;
    const unsigned char truth = value.re ? (unsigned char)(one_in(2) ? 1 : draw(1, 255)) : 0;
    const void *const from[ELEMENT_TYPES] = {f, d, f, d, &narrow, &value.re, &truth};
    memcpy(element, from[type], (size_t)ELEMENT_BYTES[type]);
}

Number number_plus(ElementType type, Number x, Number y) {
    if (type == BOOL) return (Number){x.re | y.re, 0};
    return in_type(type, (uint64_t)x.re + (uint64_t)y.re, (uint64_t)x.im + (uint64_t)y.im);
}

Number number_times(ElementType type, Number x, Number y) {
    if (type == BOOL) return (Number){x.re & y.re, 0};
    const uint64_t a = (uint64_t)x.re, b = (uint64_t)x.im, c = (uint64_t)y.re, d = (uint64_t)y.im;
    return in_type(type, a * c - b * d, a * d + b * c);
}

void *numbers_drawn(ElementType type, Index count) {
    char *elements = room_for(count * ELEMENT_BYTES[type]);
    for (Index i = 0; i < count; i++) number_write(type, elements + i * ELEMENT_BYTES[type], number_drawn(type));
    return elements;
}

static void shuffle(int *order, int count) {
    for (int i = 0; i < count; i++) order[i] = i;
    for (int i = count - 1; i > 0; i--) {
        int j = (int)draw(0, i), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

Layout layout_drawn(int rank, const Index *extents, bool repeats) {
    Layout layout = {.span = 1};
    int order[MAX_RANK];
    Index step = one_in(4) ? draw(1, 3) : 1;
    shuffle(order, rank);
    if (one_in(2))
        for (int i = 0; i < rank; i++) order[i] = rank - 1 - i; /* compact, if nothing else is drawn */
    for (int i = 0; i < rank; i++) {
        const int axis = order[i];
        layout.strides[axis] = repeats && one_in(5) ? 0 : one_in(4) ? -step : step;
        const Index reach = (extents[axis] ? extents[axis] - 1 : 0) * step;
        if (layout.strides[axis] == 0) continue;
        layout.span += reach;
        if (layout.strides[axis] < 0) layout.first += reach;
        step = (reach + step) + (one_in(5) ? draw(0, 7) : 0);
    }
    const Index lead = one_in(3) ? draw(0, 9) : 0; /* so that the first element lies anywhere in a cache line */
    layout.first += lead;
    layout.span += lead;
    return layout;
}

Tables tables_drawn(Index rows, Index columns) {
    const Index extents[2] = {rows, columns};
    const Layout layout = layout_drawn(2, extents, false);
    Tables tables = {room_for(rows * (Index)sizeof(Index)), room_for(columns * (Index)sizeof(Index)), layout.span};
    const Index places[2] = {one_in(2) ? layout.first : 0, 0};
    for (Index i = 0; i < rows; i++) tables.rows[i] = places[0] + i * layout.strides[0];
    for (Index j = 0; j < columns; j++) tables.columns[j] = layout.first - places[0] + j * layout.strides[1];
    for (Index k = one_in(2) ? draw(0, rows) : 0; k > 0; k--) { /* rows in any order */
        const Index i = draw(0, rows - 1), j = draw(0, rows - 1), kept = tables.rows[i];
        tables.rows[i] = tables.rows[j];
        tables.rows[j] = kept;
    }
    return tables;
}

bool next_index(int rank, const Index *extents, Index *index) {
    for (int axis = rank - 1; axis >= 0; axis--) {
        if (++index[axis] < extents[axis]) return true;
        index[axis] = 0;
    }
    return false;
}

Index place_of(int rank, const Index *strides, const Index *index) {
    Index place = 0;
    for (int axis = 0; axis < rank; axis++) place += strides[axis] * index[axis];
    return place;
}
