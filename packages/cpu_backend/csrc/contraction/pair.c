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
 * Products are added up in the order of k; in vectors where they lie in runs, a few at a time in rows from memory. A
 * second operand that all sums share is packed for it, if need be, where it has at most PACKED_BYTES.
 *
 * The plan holds two tables of the contracted axes and two of up to PAIR_TABLE lanes, of 8 bytes an entry (groups.h):
 * 16 MiB at most, sums of more than LONGEST_TABLE products being refused.
 */
#include "contraction/pair_plan.h"
#include "core/arguments.h"
#include "core/kernel.h"
#include "core/topics.h"

#include <stdlib.h>

enum { MOST_LANES = 4096, TILE_WORK = 1 << 15 };
enum { SHORTEST_STAGED = 2 * CACHE_LINE, STAGED_BYTES = 1 << 14, SHORT_SUM = 4, FOLLOWED_RUNS = 4, ROWS_TO_ALIGN = 4 };

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

/* How many of the last products of the group follow one another in the operands, or in the first one alone. */
static Index run_of(const Group *contracted, bool of_both) {
    Index run = 1;
    for (int axis = contracted->rank - 1; axis >= 0; run *= contracted->axes[axis--].extent) {
        const Index *stride = contracted->axes[axis].stride;
        if (stride[FIRST] != run || (of_both && stride[SECOND] != run)) break;
    }
    return run;
}

static bool lacks(const Group *group, Role role) {
    for (int axis = 0; axis < group->rank; axis++)
        if (group->axes[axis].stride[role] != 0) return false;
    return true;
}

/* Whether sums are made in vectors, along runs of their factors. Where these are all sums' in the second operand, they
 * are packed, unless that has no memory. */
static void choose_runs(PairPlan *plan, const Group *kept, const Group *contracted) {
    const PairLoops *loops = &SIMD_CHOICE(pair_kernels)->of_type[plan->result.type];
    if (plan->loop != loops->tables) return;
    const Index run = run_of(contracted, true), shared = lacks(kept, SECOND) ? run_of(contracted, false) : 1;
    const bool packs = shared >= SHORTEST_RUN && run < contracted->size && plan->result.size >= FEWEST_PACKED &&
                       contracted->size * ELEMENT_BYTES[plan->result.type] <= PACKED_BYTES;
    plan->tile.run = packs ? shared : run;
    if (plan->tile.run < SHORTEST_RUN) return;
    plan->loop = plan->tile.run == contracted->size && !packs ? loops->runs : loops->pieces;
    if (packs) plan->packed_bytes = contracted->size * ELEMENT_BYTES[plan->result.type];
    plan->asks[FIRST] = plan->asks[SECOND] = false; /* these loops ask for nothing */
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
    const Group all_kept = kept;
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
    choose_runs(plan, &all_kept, &contracted);
    const double nanoseconds = WORTH_NO_GIL / WORTH_RELEASING_THE_GIL * plan->terms;
    PyObject *kernel =
        kernel_computes(kernel_new("contract_pair", kernel_call, plan, release), pair_run, &plan->result, nanoseconds);
    kernel = kernel_shared_from(kernel, 2.0 * WORTH_NO_GIL / WORTH_RELEASING_THE_GIL * WORTH_A_THREAD);
    return kernel_with_groups(kernel, plan->result.type, groups, 2, FIRST, 2 * (contracted.size + lanes.size));
}

PyMethodDef pair_functions[] = {
    {"bind_pair", (PyCFunction)(void (*)(void))bind_pair, METH_FASTCALL,
     "A kernel that multiplies two operands, broadcast along the axes that they lack, and sums over contracted axes."},
    {NULL, NULL, 0, NULL},
};
