/* Products without sums of operands that lie in another order than the result: block by block through the second-level
 * cache.
 *
 * result[i...] = first[i...] * second[i...], where an operand may lack axes. One that lies in another order is *turned*: of
 * every block its elements are copied into a buffer, in the order of the result, as a strided copy is (copy/permute.h),
 * and the product reads the buffer. There they are repeated along inner axes that the operand lacks, so that rows of the
 * product are long, whichever axes come first. A block holds long runs of every array, so that lines of the cache are fetched once
 * and whole; and while it is multiplied, the runs of the next one are asked for.
 *
 * Each axis has a part that blocks take of it: all, one element, or some, and then the last block begins early enough to
 * be as large as the others. What it shares with the block before it is written twice, by the same thread, as the two are
 * one step of the walk: four where two axes end so.
 *
 * The plan holds the offsets of the groups of rows in a block and of the runs to be asked for: less than 5 entries for
 * each element of a block, of which there are at most LONGEST_TABLE.
 */
#include "contraction/groups.h"
#include "contraction/pair.h"
#include "core/arguments.h"
#include "core/caching_allocator.h"
#include "core/kernel.h"
#include "core/threads.h"
#include "core/topics.h"
#include "copy/permute.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { WORTH_A_THREAD = 1 << 17 };         /* elements */
enum { SHORT_ROW_BYTES = 8 * CACHE_LINE }; /* several are multiplied together */
static const double NANOSECONDS = 1.0;     /* an element */

enum { OPERANDS = 2 };

typedef struct {
    ArrayForm result;
    PairLoop *loop;
    PairTile tile;               /* rows that are evenly spaced */
    Group walked;                /* from block to block, without the last ones that begin early */
    Index rest[MAX_RANK][ROLES]; /* by its axes: from the last step to the block that begins early, or 0 */
    uint64_t uneven;             /* the axes that have one, a bit each */
    bool swapped;                /* the first operand of the tile is the second of the call */
    CopyPlan *turns[OPERANDS];   /* of the tile's operands; NULL for one that is read as it lies */
    Index block;                 /* elements */
    Index groups, lanes, piece; /* groups of rows in a block, lanes of a row, and those that are multiplied at a time */
    Index lane_step[OPERANDS], run_of_result;
    Index *places[ROLES]; /* where groups begin, in the buffer of an operand that is turned */
    Index runs[OPERANDS], run[OPERANDS], *asked[OPERANDS]; /* of the operands, and their length; 0 for none */
    bool stages;
} TurnedPlan;

typedef struct {
    const TurnedPlan *plan;
    const char *operands[OPERANDS];
    char *result;
    atomic_bool failed; /* for want of memory */
} Call;

/* Where blocks lie. At the ends of uneven axes a step of the walk has a block for every choice among those axes. */
typedef struct {
    StridedWalk walk;
    uint64_t early; /* the axes along which the block begins early */
} BlockWalk;

static void block_offsets(const TurnedPlan *plan, const BlockWalk *blocks, Index offset[ROLES]) {
    for (int role = 0; role < ROLES; role++) offset[role] = blocks->walk.offset[role];
    for (int axis = 0; blocks->early >> axis != 0; axis++)
        if (blocks->early >> axis & 1)
            for (int role = 0; role < ROLES; role++) offset[role] += plan->rest[axis][role];
}

/* Moves to the next block; whether that is one of the next step. */
static bool next_block(const TurnedPlan *plan, BlockWalk *blocks) {
    uint64_t ends = plan->uneven;
    for (int axis = 0; ends >> axis != 0; axis++)
        if (blocks->walk.index[axis] < plan->walked.axes[axis].extent - 1) ends &= ~((uint64_t)1 << axis);
    blocks->early = (blocks->early - ends) & ends; /* the next subset */
    if (blocks->early != 0) return false;
    group_walk_step(&blocks->walk, &plan->walked);
    return true;
}

/* From where an operand is read now, element `at` of a block in the order of the result, to what is asked for meanwhile:
 * of the next block the same element, or if it is turned, the one that is as far in the order of its runs. */
static Index ahead_of(const TurnedPlan *plan, int role, const char *read, const char *next, Index at) {
    const Index between = (Index)((uintptr_t)next - (uintptr_t)read) / ELEMENT_BYTES[plan->result.type];
    if (plan->turns[role] == NULL) return between;
    const Index run = at / plan->run[role];
    return run >= plan->runs[role] ? 0 : between + plan->asked[role][run] + at % plan->run[role];
}

/* Where a block lies in the arrays or buffers, and where the next one does; NULL for what is not asked for. */
typedef struct {
    const char *read[OPERANDS], *next[OPERANDS];
    char *result;
} Block;

/* Multiplies a group of rows of a block, some lanes at a time, for which as many of the next block are asked for. */
static void multiply(const TurnedPlan *plan, PairTile *tile, const Block *block, Index group, char *staged) {
    const Index bytes = ELEMENT_BYTES[plan->result.type], rows = plan->tile.rows, run = plan->run_of_result;
    char *const result = block->result + plan->places[RESULT][group] * bytes;
    char *const target = plan->stages ? staged : result;
    for (Index lane = 0; lane < plan->lanes; lane += plan->piece) {
        const char *from[OPERANDS];
        tile->lanes = smaller(plan->piece, plan->lanes - lane);
        for (int role = 0; role < OPERANDS; role++) {
            from[role] = block->read[role] + (plan->places[role][group] + lane * plan->lane_step[role]) * bytes;
            const char *next = block->next[role];
            if (next != NULL && plan->turns[role] == NULL) next += from[role] - block->read[role];
            tile->ahead[role] =
                next == NULL ? 0 : ahead_of(plan, role, from[role], next, group * rows * plan->lanes + lane);
        }
        plan->loop(tile, from[FIRST], from[SECOND], target + lane * bytes);
    }
    for (Index row = 0; plan->stages && row < rows * plan->lanes / run; row++)
        SIMD_CHOICE(copy_kernels)
            ->stream_run(staged + row * run * bytes, result + row * plan->tile.row_result * bytes, run * bytes);
}

static void compute(void *context, Index begin, Index end) {
    Call *call = context;
    const TurnedPlan *plan = call->plan;
    const Index bytes = ELEMENT_BYTES[plan->result.type], block_bytes = rounded_up(plan->block * bytes, CACHE_LINE);
    const size_t needed = (size_t)(OPERANDS * block_bytes + plan->tile.rows * plan->lanes * bytes);
    char *work = block_scratch_acquire(needed);
    if (work == NULL) {
        atomic_store(&call->failed, true);
        return;
    }
    char *const staged = work + OPERANDS * block_bytes;
    BlockWalk blocks = {.early = 0};
    group_walk_start(&blocks.walk, &plan->walked, begin);
    Index now[ROLES], next[ROLES];
    block_offsets(plan, &blocks, next);
    PairTile tile = plan->tile;
    if (plan->stages) tile.row_result = plan->lanes;
    for (Index step = begin; step < end;) {
        for (int role = 0; role < ROLES; role++) now[role] = next[role];
        step += next_block(plan, &blocks);
        block_offsets(plan, &blocks, next);
        Block block = {.result = call->result + now[RESULT] * bytes};
        for (int role = 0; role < OPERANDS; role++) {
            const char *operand = call->operands[role];
            block.read[role] = operand + now[role] * bytes;
            block.next[role] = plan->runs[role] > 0 && step < end ? operand + next[role] * bytes : NULL;
            if (plan->turns[role] == NULL) continue;
            copy_run(plan->turns[role], block.read[role], work + role * block_bytes);
            block.read[role] = work + role * block_bytes;
        }
        for (Index group = 0; group < plan->groups; group++) multiply(plan, &tile, &block, group, staged);
    }
    if (plan->stages) SIMD_CHOICE(copy_kernels)->finish_stream();
    block_scratch_release(work, needed);
}

static bool compute_turned(const void *turned, const char *const *operands, char *result) {
    const TurnedPlan *plan = turned;
    Call call = {plan, {operands[plan->swapped], operands[!plan->swapped]}, result, false};
    parallel_for(plan->walked.size, 1 + WORTH_A_THREAD / plan->block, compute, &call);
    return !atomic_load(&call.failed);
}

static void release(void *memory) {
    TurnedPlan *plan = memory;
    for (int role = 0; role < OPERANDS; role++) {
        copy_plan_free(plan->turns[role]);
        free(plan->asked[role]);
    }
    for (int role = 0; role < ROLES; role++) free(plan->places[role]);
    free(plan);
}

static Index nearness(const GroupAxis *axis) {
    Index near = INT64_MAX;
    for (int role = 0; role < ROLES; role++)
        if (axis->stride[role] != 0 && magnitude(axis->stride[role]) < near) near = magnitude(axis->stride[role]);
    return near;
}

/* Adds an axis that is walked, those whose steps are short innermost. */
static void walk_axis(TurnedPlan *plan, GroupAxis axis, const Index rest[ROLES]) {
    Group *walked = &plan->walked;
    int place = walked->rank;
    group_add(walked, axis);
    for (; place > 0 && nearness(&walked->axes[place - 1]) < nearness(&axis); place--) {
        walked->axes[place] = walked->axes[place - 1];
        for (int role = 0; role < ROLES; role++) plan->rest[place][role] = plan->rest[place - 1][role];
    }
    walked->axes[place] = axis;
    for (int role = 0; role < ROLES; role++) plan->rest[place][role] = rest[role];
}

/* Cuts axes into blocks and steps from block to block; those of a block stay in the order of the result. */
static bool cut(TurnedPlan *plan, const Group *axes, const Index *parts, Group *block) {
    plan->walked = *block = group_empty();
    for (int i = 0; i < axes->rank; i++) {
        GroupAxis axis = axes->axes[i];
        if (parts[i] < 1 || parts[i] > axis.extent) {
            PyErr_SetString(PyExc_ValueError, "bind_turned: parts are no larger than their axes, and at least 1");
            return false;
        }
        GroupAxis step = {axis.extent / parts[i], {0}};
        Index rest[ROLES];
        for (int role = 0; role < ROLES; role++) {
            step.stride[role] = axis.stride[role] * parts[i];
            rest[role] = axis.stride[role] * (axis.extent % parts[i]);
        }
        const bool walks = axis.extent > parts[i];
        axis.extent = parts[i];
        if (axis.extent > 1) group_add(block, axis);
        if (walks) walk_axis(plan, step, rest);
    }
    for (int axis = 0; axis < plan->walked.rank; axis++)
        plan->uneven |= (uint64_t)(plan->rest[axis][RESULT] != 0) << axis;
    plan->block = block->size;
    if (plan->block <= LONGEST_TABLE) return true;
    PyErr_SetString(PyExc_ValueError, "bind_turned: blocks are too large");
    return false;
}

/* What copies an operand's part of a block, and its steps in the buffer; -1 with an exception set. Along an axis that the
 * operand lacks its elements are repeated, if rows would be short without it. */
static int turn(TurnedPlan *plan, Group *block, Role role) {
    Index extents[MAX_RANK], from[MAX_RANK], to[MAX_RANK], size = 1, inside = 1;
    int rank = 0;
    for (int axis = block->rank - 1; axis >= 0; inside *= block->axes[axis--].extent) {
        const bool is_long = inside >= REPEATING_ROW || (inside == 1 && block->axes[axis].extent >= LONG_LANES);
        if (block->axes[axis].stride[role] == 0 && is_long) continue;
        extents[rank] = block->axes[axis].extent;
        from[rank] = block->axes[axis].stride[role];
        to[rank++] = block->axes[axis].stride[role] = size;
        size *= block->axes[axis].extent;
    }
    StridedLayout source, target;
    const int bytes = ELEMENT_BYTES[plan->result.type];
    if (strided_layout(&source, rank, extents, from, bytes) && strided_layout(&target, rank, extents, to, bytes))
        plan->turns[role] = copy_plan(&source, &target);
    if (plan->turns[role] != NULL) return 0;
    PyErr_NoMemory();
    return -1;
}

/* Joins neighbours that are walked as one in all arrays. */
static void join(Group *block) {
    for (int axis = block->rank - 1; axis > 0; axis--) {
        GroupAxis *outer = &block->axes[axis - 1], *inner = &block->axes[axis];
        bool joined = true;
        for (int role = 0; role < ROLES; role++) joined &= outer->stride[role] == inner->stride[role] * inner->extent;
        if (!joined) continue;
        inner->extent *= outer->extent;
        *outer = *inner;
        for (int later = axis; later + 1 < block->rank; later++) block->axes[later] = block->axes[later + 1];
        block->rank--;
    }
}

/* Lanes, rows, and where groups of rows begin. */
static bool choose_tile(TurnedPlan *plan, Group *block, const PairLoops *loops) {
    static const Index nowhere[1] = {0};
    PairTile *tile = &plan->tile;
    const GroupAxis none = {1, {0, 0, 0}};
    const GroupAxis lane = block->rank > 0 ? block->axes[block->rank - 1] : none;
    const Index first = lane.stride[FIRST], second = lane.stride[SECOND];
    if (lane.stride[RESULT] != 1 || first != 1 || (second != 0 && second != 1)) {
        PyErr_SetString(PyExc_ValueError, "bind_turned: the innermost axis is no vector of the operands");
        return false;
    }
    block->rank--;
    const Index bytes = ELEMENT_BYTES[plan->result.type];
    const bool short_rows = lane.extent * bytes < SHORT_ROW_BYTES && block->rank > 0;
    const GroupAxis row = short_rows ? block->axes[--block->rank] : none;
    block->size = 1;
    for (int axis = 0; axis < block->rank; axis++) block->size *= block->axes[axis].extent;
    plan->loop = second == 0 ? loops->scaled : loops->both;
    *tile = (PairTile){.rows = row.extent,
                       .depth = 1,
                       .row_first = row.stride[FIRST],
                       .row_second = row.stride[SECOND],
                       .row_result = row.stride[RESULT],
                       .along_first = nowhere,
                       .along_second = nowhere};
    plan->groups = block->size;
    plan->lanes = plan->piece = lane.extent;
    plan->run_of_result = row.stride[RESULT] == lane.extent ? row.extent * lane.extent : lane.extent;
    for (int role = 0; role < OPERANDS; role++) {
        plan->lane_step[role] = lane.stride[role];
        if (!short_rows && plan->turns[role] != NULL && plan->runs[role] > 0)
            plan->piece = smaller(plan->piece, plan->run[role]);
    }
    for (int role = 0; role < ROLES; role++)
        if ((plan->places[role] = group_table(block, (Role)role)) == NULL) return false;
    plan->stages = results_stream(&plan->result) && plan->run_of_result * bytes >= SHORT_ROW_BYTES / 2;
    return true;
}

/* Runs of an operand in a block, which are asked for if it leaves the cache. */
static bool choose_asking(TurnedPlan *plan, const Group *block, Role role, Reach reach) {
    const Index bytes = ELEMENT_BYTES[plan->result.type];
    if ((reach.high - reach.low) * bytes <= CACHED_BYTES) return true;
    Group rest = {.size = 1};
    Index run = 1;
    bool used[MAX_RANK] = {false};
    for (bool grown = true; grown;) {
        grown = false;
        for (int axis = 0; axis < block->rank; axis++)
            if (!used[axis] && block->axes[axis].stride[role] == run && block->axes[axis].extent > 1) {
                used[axis] = grown = true;
                run *= block->axes[axis].extent;
            }
    }
    for (int axis = 0; axis < block->rank; axis++)
        if (!used[axis] && block->axes[axis].stride[role] != 0) group_add(&rest, block->axes[axis]);
    plan->run[role] = run;
    plan->runs[role] = rest.size;
    return (plan->asked[role] = group_table(&rest, role)) != NULL;
}

/* The operand whose lanes are vectors comes first. */
static void put_first(TurnedPlan *plan, Group *axes, bool turns[OPERANDS]) {
    if (axes->rank == 0 || axes->axes[axes->rank - 1].stride[FIRST] != 0) return;
    plan->swapped = true;
    const bool first = turns[FIRST];
    turns[FIRST] = turns[SECOND];
    turns[SECOND] = first;
    for (int axis = 0; axis < axes->rank; axis++) {
        Index *stride = axes->axes[axis].stride, of_first = stride[FIRST];
        stride[FIRST] = stride[SECOND];
        stride[SECOND] = of_first;
    }
}

static bool prepare(TurnedPlan *plan, Group *axes, const Index *parts, bool turns[OPERANDS]) {
    const Reach reach[ROLES] = {axes->reach[FIRST], axes->reach[SECOND], axes->reach[RESULT]};
    put_first(plan, axes, turns);
    Group block;
    if (!cut(plan, axes, parts, &block)) return false;
    for (int role = 0; role < OPERANDS; role++) {
        if (!choose_asking(plan, &block, (Role)role, reach[plan->swapped ? SECOND - role : role])) return false;
        if (turns[role] && turn(plan, &block, (Role)role) < 0) return false;
    }
    join(&block);
    return choose_tile(plan, &block, &SIMD_CHOICE(pair_kernels)->of_type[plan->result.type]);
}

/* bind_turned(type, shape, axes in the order of the result, part of each, whether the first operand is turned, and the
 * second) */
static PyObject *bind_turned(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (!arguments_count("bind_turned", count, 6, "a type, a shape, axes, parts and two truth values")) return NULL;
    Index parts[MAX_RANK];
    bool turns[OPERANDS];
    for (int role = 0; role < OPERANDS; role++) {
        const int truth = PyObject_IsTrue(arguments[4 + role]);
        if (truth < 0) return NULL;
        turns[role] = truth;
    }
    TurnedPlan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) return PyErr_NoMemory();
    Group axes;
    bool good = array_form_read(&plan->result, arguments[1], arguments[0]) == 0 &&
                group_read(&axes, arguments[2]) == 0 &&
                groups_make_result((const Group *[]){&axes}, 1, plan->result.size);
    const int given = good ? indices_read(parts, MAX_RANK, arguments[3]) : -1;
    if (given >= 0 && given != axes.rank) {
        PyErr_SetString(PyExc_ValueError, "bind_turned: there is one part for each axis");
        good = false;
    }
    const Group as_read = good ? axes : group_empty();
    if (!good || given < 0 || !prepare(plan, &axes, parts, turns)) {
        release(plan);
        return NULL;
    }
    Index entries = 3 * plan->groups + plan->runs[FIRST] + plan->runs[SECOND];
    const Group *const groups[] = {&as_read};
    PyObject *kernel = kernel_new("contract_turned", kernel_call, plan, release);
    kernel = kernel_computes(kernel, compute_turned, &plan->result, NANOSECONDS * (double)plan->result.size);
    kernel = kernel_shared_from(kernel, 2.0 * NANOSECONDS * WORTH_A_THREAD);
    return kernel_with_groups(kernel, plan->result.type, groups, 1, FIRST, entries);
}

PyMethodDef turned_functions[] = {
    {"bind_turned", (PyCFunction)(void (*)(void))bind_turned, METH_FASTCALL,
     "A kernel of products without sums, of operands that lie in another order than the result."},
    {NULL, NULL, 0, NULL},
};
