/* Computes what the pair kernel was bound for (pair_plan.h): the rectangles of the result, shared among the threads. */
#include "contraction/pair_plan.h"
#include "core/caching_allocator.h"
#include "core/threads.h"
#include "copy/permute.h"

#include <string.h>

typedef struct {
    const PairPlan *plan;
    const char *first, *second;
    char *result;
} Call;

/* So many bytes at once: a size that the compiler knows takes a fifth of the time. */
#define GATHER(BYTES)                                                                                                  \
    for (Index k = 0; k < depth; k++) memcpy(packed + k * (BYTES), second + along[k] * (BYTES), BYTES);                \
    break

/* Copies the factors of a sum, which all sums share, one behind the other. */
static void pack_factors(const PairPlan *plan, const char *second, char *packed) {
    const Index *along = plan->tile.along_second, depth = plan->tile.depth;
    switch (ELEMENT_BYTES[plan->result.type]) {
    case 1: GATHER(1);
    case 4: GATHER(4);
    case 8: GATHER(8);
    default: GATHER(16);
    }
}

/* What waits in a buffer to be written past the cache, and where. */
typedef struct {
    char *buffer, *target;
    Index bytes;
} Staged;

static void flush(Staged *staged) {
    if (staged->bytes > 0) SIMD_CHOICE(copy_kernels)->stream_run(staged->buffer, staged->target, staged->bytes);
    staged->bytes = 0;
}

/* Computes a rectangle beside the result. Where its rows follow one another, it waits for others that follow it. The
 * tile is changed: a copy, made of what was just written, would wait for all that is on its way to memory. */
static void compute_staged(const PairPlan *plan, PairLoop *loop, PairTile *tile, const char *first, const char *second,
                           char *result, Staged *staged) {
    const Index item = ELEMENT_BYTES[plan->result.type], row_bytes = tile->lanes * item;
    tile->row_result = tile->lanes;
    const bool waits = plan->rows_are_a_run || tile->rows == 1;
    if (!waits || result != staged->target + staged->bytes ||
        staged->bytes + tile->rows * row_bytes > plan->staged_bytes)
        flush(staged);
    if (staged->bytes == 0) staged->target = result;
    if (!waits) ask_for_ends(result, plan->tile.row_result * item, tile->rows, row_bytes);
    loop(tile, first, second, staged->buffer + staged->bytes);
    if (waits) staged->bytes += tile->rows * row_bytes;
    for (Index row = 0; !waits && row < tile->rows; row++)
        SIMD_CHOICE(copy_kernels)
            ->stream_run(staged->buffer + row * row_bytes, result + row * plan->tile.row_result * item, row_bytes);
}

/* A vector that is no line of the cache is loaded from two, by each row: all of them are copied to where they are lines. */
static const char *in_lines(const PairPlan *plan, const PairTile *tile, const char *first, char *aligned) {
    if (aligned == NULL || (uintptr_t)first % CACHE_LINE == 0) return first;
    return memcpy(aligned, first, (size_t)(tile->lanes * ELEMENT_BYTES[plan->result.type]));
}

/* Where a part begins in each array; parts are rectangles, some of them for each step of the walk. */
typedef struct {
    StridedWalk walk;
    Index block; /* of the rectangles of this step */
    Index row, lane_block, offset[ROLES];
} Place;

static void settle(const PairPlan *plan, Place *place) {
    place->row = place->block / plan->lane_blocks * plan->tile.rows;
    place->lane_block = place->block % plan->lane_blocks;
    for (int role = 0; role < ROLES; role++)
        place->offset[role] =
            place->walk.offset[role] + place->row * plan->row.stride[role] + place->lane_block * plan->lane_step[role];
}

static void step(const PairPlan *plan, Place *place) {
    if (++place->block == plan->row_blocks * plan->lane_blocks) {
        place->block = 0;
        group_walk_step(&place->walk, &plan->outer);
    }
    settle(plan, place);
}

static void start(const PairPlan *plan, Place *place, Index part) {
    const Index blocks = plan->row_blocks * plan->lane_blocks;
    place->block = part % blocks;
    group_walk_start(&place->walk, &plan->outer, part / blocks);
    settle(plan, place);
}

/* A part ahead of the one that is computed, and its number. */
typedef struct {
    Place place;
    Index number;
} Ahead;

/* From the factors of a part in an operand to those that come next; 0 where there are none. */
static Index look_ahead(const PairPlan *plan, Ahead *ahead, const Place *here, Index part, Index end, int role) {
    for (; ahead->number < end && (ahead->number <= part || ahead->place.offset[role] == here->offset[role]);
         ahead->number++)
        step(plan, &ahead->place);
    return ahead->number < end ? ahead->place.offset[role] - here->offset[role] : 0;
}

static void compute(void *context, Index begin, Index end) {
    const Call *call = context;
    const PairPlan *plan = call->plan;
    Staged staged = {.buffer = plan->staged_bytes > 0 ? block_scratch_acquire((size_t)plan->staged_bytes) : NULL};
    char *const aligned = plan->aligned_bytes > 0 ? block_scratch_acquire((size_t)plan->aligned_bytes) : NULL;
    char *const packed = plan->packed_bytes > 0 ? block_scratch_acquire((size_t)plan->packed_bytes) : NULL;
    const Index bytes = ELEMENT_BYTES[plan->result.type];
    Place place;
    start(plan, &place, begin);
    Ahead ahead[2];
    for (int role = FIRST; role <= SECOND; role++) {
        if (plan->asks[role]) ahead[role].place = place;
        ahead[role].number = begin;
    }
    PairTile tile = plan->tile;
    if (staged.buffer != NULL) tile.streams = false;
    if (packed != NULL) pack_factors(plan, call->second, packed);
    tile.second_is_run = packed != NULL;
    /* Without memory to pack factors, they are gathered. */
    PairLoop *const loop = plan->packed_bytes > 0 && packed == NULL
                               ? SIMD_CHOICE(pair_kernels)->of_type[plan->result.type].tables
                               : plan->loop;
    for (Index part = begin; part < end; part++) {
        for (int role = FIRST; role <= SECOND; role++)
            if (plan->asks[role]) tile.ahead[role] = look_ahead(plan, &ahead[role], &place, part, end, role);
        tile.rows = smaller(plan->row.extent - place.row, plan->tile.rows);
        tile.lanes = smaller(plan->lanes - place.lane_block * plan->tile.lanes, plan->tile.lanes);
        const char *first = in_lines(plan, &tile, call->first + place.offset[FIRST] * bytes, aligned);
        const char *second = packed != NULL ? packed : call->second + place.offset[SECOND] * bytes;
        char *result = call->result + place.offset[RESULT] * bytes;
        if (staged.buffer != NULL) compute_staged(plan, loop, &tile, first, second, result, &staged);
        else loop(&tile, first, second, result);
        if (part + 1 < end) step(plan, &place);
    }
    if (staged.buffer != NULL) flush(&staged);
    if (plan->tile.streams) SIMD_CHOICE(copy_kernels)->finish_stream();
    if (staged.buffer != NULL) block_scratch_release(staged.buffer, (size_t)plan->staged_bytes);
    if (aligned != NULL) block_scratch_release(aligned, (size_t)plan->aligned_bytes);
    if (packed != NULL) block_scratch_release(packed, (size_t)plan->packed_bytes);
}

bool pair_run(const void *pair, const char *const *operands, char *result) {
    const PairPlan *plan = pair;
    Call call = {plan, operands[plan->swapped], operands[!plan->swapped], result};
    const Index parts = plan->outer.size * plan->row_blocks * plan->lane_blocks;
    const Index work = plan->tile.rows * plan->tile.lanes * plan->tile.depth;
    if (plan->terms < WORTH_RELEASING_THE_GIL) compute(&call, 0, parts);
    else parallel_for(parts, 1 + WORTH_A_THREAD / work, compute, &call);
    return true;
}
