/* The pair kernel: broadcast, multiply and sum, for contractions that are no good matrix products.
 *
 * result[i...] = sum over k... of first[i..., k...] * second[i..., k...], where each operand has any strides, 0 along
 * axes that it lacks. That covers products of hyper-edges (labels of both operands and of the result), outer products,
 * stacks of tiny matrix products, and integers and Bool, for which there is no BLAS.
 *
 * The result is computed in rectangles: *lanes* along its innermost axis, where neighbours form vectors, times *rows*
 * along one more axis. Sums stay in registers, which needs each lane's factors to be neighbours or all the same; other
 * lanes are gathered through tables of offsets, a few hundred at a time. Where rows share their vectors, four are
 * computed at once, which is the register blocking of a matrix product without its packing. The remaining axes are
 * walked. Rectangles are the parts that threads share; the sum of an element never depends on how they are shared.
 * Products are added up in the order of k; in vectors where they lie in runs, a few at a time in rows from memory.
 *
 * The plan holds two tables of the contracted axes and two of up to PAIR_TABLE lanes, of 8 bytes an entry (groups.h):
 * 16 MiB at most, sums of more than LONGEST_TABLE products being refused.
 */
#include "contraction/pair.h"
#include "core/arguments.h"
#include "contraction/groups.h"
#include "core/caching_allocator.h"
#include "core/kernel.h"
#include "core/threads.h"
#include "core/topics.h"
#include "copy/permute.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_LANES = 4096, TILE_WORK = 1 << 15, WORTH_A_THREAD = 1 << 18, WORTH_RELEASING_THE_GIL = 1 << 14 };
enum { SHORTEST_STAGED = 2 * CACHE_LINE, STAGED_BYTES = 1 << 14, SHORT_SUM = 4, FOLLOWED_RUNS = 4, ROWS_TO_ALIGN = 4 };

typedef struct {
    ArrayForm result;
    PairLoop *loop;
    PairTile tile; /* a whole one */
    bool asks[2];  /* for the factors of the next rectangle in each operand, from memory */
    double terms;  /* products of the whole result */
    bool swapped;  /* the first operand of the tile is the second of the call */
    Group outer;   /* the axes that are walked */
    GroupAxis row; /* axis of the rectangles' rows; its extent is that of the whole result */
    Index lanes;   /* in a row of the whole result; a rectangle has tile.lanes of them, the last one the rest */
    Index lane_step[ROLES]; /* offsets from a rectangle to the next one along the lanes */
    Index row_blocks, lane_blocks;
    Index *tables[4]; /* along and across, of the first and the second operand */
    /* Of a large result whose rows are no whole lines of the cache: rectangles go through a buffer, and from there past
     * the cache, all but the lines in part at the ends of runs. */
    Index staged_bytes;  /* of the buffer; 0 for none */
    bool rows_are_a_run; /* they follow one another in the result */
    Index aligned_bytes; /* of the vectors that all rows of a rectangle load; 0 where they are read as they lie */
} PairPlan;

typedef struct {
    const PairPlan *plan;
    const char *first, *second;
    char *result;
} Call;

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
static void compute_staged(const PairPlan *plan, PairTile *tile, const char *first, const char *second, char *result,
                           Staged *staged) {
    const Index item = ELEMENT_BYTES[plan->result.type], row_bytes = tile->lanes * item;
    tile->row_result = tile->lanes;
    const bool waits = plan->rows_are_a_run || tile->rows == 1;
    if (!waits || result != staged->target + staged->bytes ||
        staged->bytes + tile->rows * row_bytes > plan->staged_bytes)
        flush(staged);
    if (staged->bytes == 0) staged->target = result;
    if (!waits) ask_for_ends(result, plan->tile.row_result * item, tile->rows, row_bytes);
    plan->loop(tile, first, second, staged->buffer + staged->bytes);
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
    Staged staged = {.buffer = plan->staged_bytes > 0 ? scratch_acquire((size_t)plan->staged_bytes) : NULL};
    char *const aligned = plan->aligned_bytes > 0 ? scratch_acquire((size_t)plan->aligned_bytes) : NULL;
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
    for (Index part = begin; part < end; part++) {
        for (int role = FIRST; role <= SECOND; role++)
            if (plan->asks[role]) tile.ahead[role] = look_ahead(plan, &ahead[role], &place, part, end, role);
        tile.rows = smaller(plan->row.extent - place.row, plan->tile.rows);
        tile.lanes = smaller(plan->lanes - place.lane_block * plan->tile.lanes, plan->tile.lanes);
        const char *first = in_lines(plan, &tile, call->first + place.offset[FIRST] * bytes, aligned);
        const char *second = call->second + place.offset[SECOND] * bytes;
        char *result = call->result + place.offset[RESULT] * bytes;
        if (staged.buffer != NULL) compute_staged(plan, &tile, first, second, result, &staged);
        else plan->loop(&tile, first, second, result);
        if (part + 1 < end) step(plan, &place);
    }
    if (staged.buffer != NULL) flush(&staged);
    if (plan->tile.streams) SIMD_CHOICE(copy_kernels)->finish_stream();
    if (staged.buffer != NULL) scratch_release(staged.buffer, (size_t)plan->staged_bytes);
    if (aligned != NULL) scratch_release(aligned, (size_t)plan->aligned_bytes);
}

static bool compute_pair(const void *pair, const char *const *operands, char *result) {
    const PairPlan *plan = pair;
    Call call = {plan, operands[plan->swapped], operands[!plan->swapped], result};
    const Index parts = plan->outer.size * plan->row_blocks * plan->lane_blocks;
    const Index work = plan->tile.rows * plan->tile.lanes * plan->tile.depth;
    if (plan->terms < WORTH_RELEASING_THE_GIL) compute(&call, 0, parts);
    else parallel_for(parts, 1 + WORTH_A_THREAD / work, compute, &call);
    return true;
}

static void release(void *memory) {
    PairPlan *plan = memory;
    for (int i = 0; i < 4; i++) free(plan->tables[i]);
    free(plan);
}

static void swap_operands(PairPlan *plan, Group *kept, Group *contracted) {
    Group *groups[] = {kept, contracted};
    plan->swapped = true;
    for (int i = 0; i < 2; i++)
        for (int axis = 0; axis < groups[i]->rank; axis++) {
            Index *stride = groups[i]->axes[axis].stride, first = stride[FIRST];
            stride[FIRST] = stride[SECOND];
            stride[SECOND] = first;
        }
}

static GroupAxis take_axis(Group *group, int place) {
    GroupAxis taken = group->axes[place];
    group->rank--;
    group->size /= taken.extent;
    for (int axis = place; axis < group->rank; axis++) group->axes[axis] = group->axes[axis + 1];
    return taken;
}

/* Takes the innermost axes as lanes, and of the last of them a part if need be; chooses the loop for them. Returns
 * those of a rectangle whose factors need a table. */
static Group take_lanes(PairPlan *plan, Group *kept, const PairLoops *loops) {
    const GroupAxis none = {1, {0, 0, 0}};
    GroupAxis inner = kept->rank ? kept->axes[kept->rank - 1] : none, last = none;
    const Index first = inner.stride[FIRST], second = inner.stride[SECOND];
    const bool direct = first == 1 && (second == 0 || second == 1) && inner.extent >= FEWEST_LANES;
    const Index table = PAIR_TABLE_BYTES / ELEMENT_BYTES[plan->result.type];
    const Index most = direct ? MOST_LANES : smaller(PAIR_TABLE, table);
    Group lanes = {.size = 1};
    Index part = 1; /* of the last axis */
    while (kept->rank && (part == last.extent) && lanes.size * 2 <= most && !(direct && lanes.rank)) {
        last = take_axis(kept, kept->rank - 1);
        part = smaller(last.extent, most / lanes.size);
        group_add(&lanes, (GroupAxis){part, {last.stride[FIRST], last.stride[SECOND], last.stride[RESULT]}});
    }
    plan->tile.lanes = lanes.size;
    plan->lanes = lanes.size / part * last.extent;
    for (int role = 0; role < ROLES; role++) plan->lane_step[role] = part * last.stride[role];
    if (direct) {
        plan->loop = second == 0 ? loops->scaled : loops->both;
        return (Group){.size = 1};
    }
    plan->loop = loops->tables;
    for (int axis = 0; axis < lanes.rank / 2; axis++) { /* outermost first again */
        GroupAxis outer = lanes.axes[axis];
        lanes.axes[axis] = lanes.axes[lanes.rank - 1 - axis];
        lanes.axes[lanes.rank - 1 - axis] = outer;
    }
    return lanes;
}

/* Whether rows along this axis go on in a result past the cache, where lines in part cost most: but for long sums. */
static bool goes_on(const PairPlan *plan, const GroupAxis *axis) {
    return results_stream(&plan->result) && plan->tile.depth <= SHORT_SUM && plan->lanes == plan->tile.lanes &&
           plan->lanes * ELEMENT_BYTES[plan->result.type] % CACHE_LINE != 0 && axis->stride[RESULT] == plan->lanes;
}

/* Takes one more axis as rows: one that goes on where lanes end; else, if vectors can be shared along one, the longest
 * such axis, else the longest, or in a large result the one that is walked first. */
static void take_rows(PairPlan *plan, Group *kept, const PairLoops *loops) {
    int best = -1;
    bool best_shares = false, best_goes_on = false;
    for (int axis = 0; axis < kept->rank; axis++) {
        /* Without a sum, writing one row after another is what counts. */
        bool shares = plan->loop == loops->scaled && plan->tile.depth > 1 && kept->axes[axis].stride[FIRST] == 0;
        const bool longer = best < 0 || kept->axes[axis].extent >= kept->axes[best].extent;
        /* The axes are given in the order in which they lie near one another; four rows share vectors. */
        const bool nearer = plan->result.bytes > CACHED_BYTES && (!shares || kept->axes[axis].extent >= 4);
        const bool goes = goes_on(plan, kept->axes + axis);
        if (best < 0 || goes ||
            (!best_goes_on && ((shares && !best_shares) || (shares == best_shares && (longer || nearer))))) {
            best = axis;
            best_shares = shares;
            best_goes_on = goes;
        }
    }
    plan->row = best < 0 ? (GroupAxis){1, {0, 0, 0}} : take_axis(kept, best);
    if (best_shares) plan->loop = loops->shared;
    Index rows = TILE_WORK / (plan->tile.lanes * plan->tile.depth) / 4 * 4;
    if (rows < 4) rows = 4;
    plan->tile.rows = smaller(plan->row.extent, rows);
    plan->tile.row_first = plan->row.stride[FIRST];
    plan->tile.row_second = plan->row.stride[SECOND];
    plan->tile.row_result = plan->row.stride[RESULT];
}

/* Whether rectangles pass through a buffer, and which. */
static void choose_staging(PairPlan *plan) {
    PairTile *tile = &plan->tile;
    const Index bytes = ELEMENT_BYTES[plan->result.type];
    plan->rows_are_a_run = tile->row_result == plan->lanes && plan->lanes == tile->lanes;
    const Index run = plan->rows_are_a_run ? tile->lanes * tile->rows : tile->lanes;
    tile->streams = results_stream(&plan->result);
    if (!tile->streams || run * bytes < SHORTEST_STAGED) return;
    if (plan->loop != SIMD_CHOICE(pair_kernels)->of_type[plan->result.type].tables &&
        tile->lanes * bytes % CACHE_LINE == 0 && tile->row_result * bytes % CACHE_LINE == 0)
        return;
    const Index rows = STAGED_BYTES / (tile->lanes * bytes) / 4 * 4;
    tile->rows = smaller(tile->rows, rows < 4 ? 4 : rows);
    plan->staged_bytes = tile->lanes * tile->rows * bytes;
    if (plan->staged_bytes < STAGED_BYTES) plan->staged_bytes = STAGED_BYTES;
}

static int make_tables(PairPlan *plan, const Group *contracted, const Group *lanes) {
    const Group *groups[] = {contracted, contracted, lanes, lanes};
    for (int i = 0; i < 4; i++) {
        plan->tables[i] = group_table(groups[i], i % 2 ? SECOND : FIRST);
        if (plan->tables[i] == NULL) return -1;
    }
    PairTile *tile = &plan->tile;
    tile->along_first = plan->tables[0];
    tile->along_second = plan->tables[1];
    tile->across_first = plan->tables[2];
    tile->across_second = plan->tables[3];
    tile->first_is_table = tile->second_is_table = false;
    tile->second_is_constant = true;
    for (Index lane = 0; lane < lanes->size; lane++) {
        tile->first_is_table |= tile->across_first[lane] != lane;
        tile->second_is_table |= tile->across_second[lane] != lane;
        tile->second_is_constant &= tile->across_second[lane] == 0;
    }
    if (tile->second_is_constant) tile->second_is_table = false;
    return 0;
}

/* Whether the products of a rectangle read so many runs of an operand that processors do not follow them; a single run
 * of an elementwise product ends where the rectangle does. */
static bool reads_many_runs(const PairTile *tile, const Index *along) {
    Index runs = 1;
    for (Index k = 1; k < tile->depth && runs < FOLLOWED_RUNS; k++) runs += along[k] - along[k - 1] != tile->lanes;
    return tile->depth == 1 || runs == FOLLOWED_RUNS;
}

/* Whether long sums are folded, or else factors of the next rectangle asked for: in runs of operands beyond the cache. */
static void choose_asking(PairPlan *plan, const Reach reach[2]) {
    PairTile *tile = &plan->tile;
    const bool both = plan->loop == SIMD_CHOICE(pair_kernels)->of_type[plan->result.type].both;
    const bool in_runs[2] = {!tile->first_is_table, both || !(tile->second_is_table || tile->second_is_constant)};
    for (int role = FIRST; role <= SECOND; role++) {
        const Reach *of_role = &reach[plan->swapped ? SECOND - role : role];
        const bool leaves_cache = (of_role->high - of_role->low) * ELEMENT_BYTES[plan->result.type] > CACHED_BYTES;
        plan->asks[role] = in_runs[role] && leaves_cache &&
                           reads_many_runs(tile, role == FIRST ? tile->along_first : tile->along_second);
        tile->folds |= both && leaves_cache && tile->depth >= 2 * FOLDED_DEPTH &&
                       tile->lanes * ELEMENT_BYTES[plan->result.type] >= LEAST_FOLDED_BYTES;
    }
    if (tile->folds) plan->asks[FIRST] = plan->asks[SECOND] = false;
}

/* Whether vectors of the first operand are worth a copy: without a sum, each row loads them again. */
static void choose_alignment(PairPlan *plan) {
    const PairTile *tile = &plan->tile;
    const Index row_bytes = tile->lanes * ELEMENT_BYTES[plan->result.type];
    if (tile->depth == 1 && tile->row_first == 0 && tile->rows >= ROWS_TO_ALIGN && row_bytes >= 4 * CACHE_LINE &&
        plan->loop == SIMD_CHOICE(pair_kernels)->of_type[plan->result.type].scaled && !plan->asks[FIRST])
        plan->aligned_bytes = row_bytes;
}

/* Whether the second operand has longer runs of neighbours along the innermost axis. */
static bool prefers_second(const Group *kept) {
    if (kept->rank == 0) return false;
    const Index *stride = kept->axes[kept->rank - 1].stride;
    return stride[FIRST] == 0 || (stride[SECOND] == 1 && stride[FIRST] != 1);
}

static PyObject *bind_pair(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    Group kept, contracted;
    if (!arguments_count("bind_pair", count == 5 ? 4 : count, 4, "a type, a shape and two groups of axes")) return NULL;
    PairPlan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) return PyErr_NoMemory();
    if (array_form_read(&plan->result, arguments[1], arguments[0]) < 0 || group_read(&kept, arguments[2]) < 0 ||
        group_read(&contracted, arguments[3]) < 0 ||
        !groups_make_result((const Group *[]){&kept}, 1, plan->result.size)) {
        release(plan);
        return NULL;
    }
    if (contracted.size > LONGEST_TABLE) { /* before anything is multiplied by it */
        release(plan);
        return PyErr_Format(PyExc_ValueError, "sums of %lld products are too long", (long long)contracted.size);
    }
    const PairLoops *loops = &SIMD_CHOICE(pair_kernels)->of_type[plan->result.type];
    if (prefers_second(&kept)) swap_operands(plan, &kept, &contracted);
    if (count == 5) plan->tile.conjugates[plan->swapped ? SECOND : FIRST] = PyObject_IsTrue(arguments[4]) == 1;
    plan->tile.depth = contracted.size;
    plan->terms = (double)plan->result.size * (double)contracted.size;
    Group lanes = take_lanes(plan, &kept, loops);
    take_rows(plan, &kept, loops);
    choose_staging(plan);
    plan->outer = kept;
    plan->row_blocks = pieces(plan->row.extent, plan->tile.rows);
    plan->lane_blocks = pieces(plan->lanes, plan->tile.lanes);
    if (make_tables(plan, &contracted, &lanes) < 0) {
        release(plan);
        return NULL;
    }
    const Group *const groups[] = {&kept, &contracted}; /* neither swapping nor taking axes changes what they reach */
    choose_asking(plan, (const Reach[]){groups_reach(groups, 2, FIRST), groups_reach(groups, 2, SECOND)});
    choose_alignment(plan);
    if (plan->loop == loops->tables && contracted.size >= SHORTEST_RUN && group_is_run(&contracted, FIRST) &&
        group_is_run(&contracted, SECOND))
        plan->loop = loops->runs;
    const double nanoseconds = WORTH_NO_GIL / WORTH_RELEASING_THE_GIL * plan->terms;
    PyObject *kernel = kernel_computes(kernel_new("contract_pair", kernel_call, plan, release), compute_pair,
                                       &plan->result, nanoseconds);
    kernel = kernel_shared_from(kernel, 2.0 * WORTH_NO_GIL / WORTH_RELEASING_THE_GIL * WORTH_A_THREAD);
    return kernel_with_groups(kernel, plan->result.type, groups, 2, FIRST, 2 * (contracted.size + lanes.size));
}

PyMethodDef pair_functions[] = {
    {"bind_pair", (PyCFunction)(void (*)(void))bind_pair, METH_FASTCALL,
     "A kernel that multiplies two operands, broadcast along the axes that they lack, and sums over contracted axes."},
    {NULL, NULL, 0, NULL},
};
