/* The loops of the pair kernel, each on rectangles of the kind that it takes, beside three loops. */
#include "contraction/pair.h"
#include "fuzz.h"

enum { SCALED, SHARED, BOTH, TABLES, RUNS, KINDS };

static Index *offsets_drawn(Index count, int kind) { /* 0: neighbours; 1: one and the same; else anywhere */
    Index *offsets = room_for(count * (Index)sizeof(Index));
    for (Index i = 0; i < count; i++) offsets[i] = kind == 0 ? i : kind == 1 ? 0 : draw(0, 2 * count);
    return offsets;
}

static Index largest(const Index *offsets, Index count) {
    Index most = 0;
    for (Index i = 0; i < count; i++) most = offsets[i] > most ? offsets[i] : most;
    return most;
}

void fuzz_pairs(void) {
    const ElementType type = draw_type();
    const Index item = ELEMENT_BYTES[type];
    const PairLoops *loops = &SIMD_CHOICE(pair_kernels)->of_type[type];
    const int kind = (int)draw(0, KINDS - 1);
    PairLoop *const all[KINDS] = {loops->scaled, loops->shared, loops->both, loops->tables, loops->runs};
    const bool any = kind >= TABLES; /* lanes anywhere */
    const Index most = any ? smaller(PAIR_TABLE, PAIR_TABLE_BYTES / item) : 300;
    PairTile tile = {
        .lanes = draw(1, one_in(3) ? most : 40), .rows = draw(1, 9), .depth = draw(1, one_in(4) ? 200 : 12)};
    const int first_kind = any ? (int)draw(0, 2) : 0;
    const int second_kind = any ? (int)draw(0, 2) : kind == BOTH ? 0 : 1;
    tile.across_first = offsets_drawn(tile.lanes, first_kind);
    tile.across_second = offsets_drawn(tile.lanes, second_kind);
    tile.along_first = offsets_drawn(tile.depth, kind == RUNS ? 0 : (int)draw(0, 2));
    tile.along_second = offsets_drawn(tile.depth, kind == RUNS ? 0 : (int)draw(0, 2));
    tile.row_first = kind == SHARED ? 0 : draw(0, 50);
    tile.row_second = draw(0, 50);
    tile.row_result = tile.lanes + draw(0, 5);
    tile.first_is_table = first_kind != 0;
    tile.second_is_constant = second_kind == 1;
    tile.second_is_table = second_kind == 2;
    tile.streams = !any && one_in(4);
    tile.folds = kind == BOTH && one_in(2);
    const Index spans[3] = {
        largest(tile.across_first, tile.lanes) + largest(tile.along_first, tile.depth) +
            (tile.rows - 1) * tile.row_first + 1,
        largest(tile.across_second, tile.lanes) + largest(tile.along_second, tile.depth) +
            (tile.rows - 1) * tile.row_second + 1,
        (tile.rows - 1) * tile.row_result + tile.lanes,
    };
    const char *first = numbers_drawn(type, spans[0]), *second = numbers_drawn(type, spans[1]);
    char *result = bytes_drawn(spans[2] * item), *before = room_for(spans[2] * item);
    memcpy(before, result, (size_t)(spans[2] * item));
    all[kind](&tile, first, second, result);
    for (Index row = 0; row < tile.rows; row++)
        for (Index lane = 0; lane < tile.row_result; lane++) {
            const Index place = row * tile.row_result + lane;
            if (place >= spans[2]) break;
            if (lane >= tile.lanes) { /* a gap */
                CHECK(memcmp(result + place * item, before + place * item, (size_t)item) == 0);
                continue;
            }
            Number sum = {0, 0};
            for (Index k = 0; k < tile.depth; k++) {
                const Index x = row * tile.row_first + tile.along_first[k] + tile.across_first[lane];
                const Index y = row * tile.row_second + tile.along_second[k] + tile.across_second[lane];
                sum = number_plus(
                    type, sum,
                    number_times(type, number_read(type, first + x * item), number_read(type, second + y * item)));
            }
            CHECK(number_equal(number_read(type, result + place * item), sum));
            if (type == BOOL) CHECK(result[place] == 0 || result[place] == 1);
        }
}
