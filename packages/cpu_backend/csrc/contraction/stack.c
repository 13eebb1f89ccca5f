/* The kernel of small products: stacks of products of small matrices, and long ones with few columns.
 *
 * result[s, r, c] = sum over k of x[s, r, k] * y[s, k, c], where rows r, columns c and the inner index k are one evenly
 * spaced axis each, and s any axes. Vectors are neighbouring rows of the result: then one column of x meets one element
 * of y at a time, and a product of up to eight columns is one block of sums in registers. Or, where the result's
 * fastest axis is one of the stack, they are neighbouring products. BLAS takes such a product for 40 nanoseconds and
 * more whatever its size, and none of the second kind.
 *
 * An operand whose vectors are no neighbours is packed first (pack.h), some products at a time: rows of x, and of
 * neighbouring products either operand. Long sums with few columns go over the result in steps of a few inner indices,
 * so that the longer operand is read once, in the order in which it lies in memory. Products are added up in the order
 * of k, whatever the shapes around them, but for the sums of those steps.
 */
#include "contraction/stack.h"
#include "contraction/groups.h"
#include "contraction/pack.h"
#include "core/arguments.h"
#include "core/caching_allocator.h"
#include "core/kernel.h"
#include "core/threads.h"
#include "core/topics.h"
#include "copy/permute.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { STREAMED_BYTES = 1 << 24, PACKED_AT_ONCE = LITTLE_WORKSPACE / 2, STAGED_BYTES = 1 << 13 };
enum { MANY_LINES = 64, WIDE_BYTES = 1 << 17, MOST_WIDE = 4 };
enum { LONG_SUM = 64, SUM_STEP = 8, BLOCK_ROWS = 1 << 12, FEWEST_ROWS = 256, BLOCK_COLUMNS = 256 };
static const double WORTH_A_THREAD = 20000.0; /* nanoseconds */

enum { OF_X, OF_Y, PACKED };

typedef struct {
    ArrayForm result;
    StackLoop *loop;
    Pack *pack;
    StackProblem problem;   /* as the operands lie */
    Role x, y;              /* which operand has the rows, and which the columns */
    Group stack;            /* its axes, but for the one that is walked by the loop */
    Index near;             /* extent of that one */
    Index lanes;            /* neighbouring products that are packed together: some vectors; 0 where vectors are rows */
    Index row_step, column_step, sum_step;
    Index row_blocks, column_blocks;
    bool stages; /* products go past the cache, through a buffer */
    bool packs[PACKED];
    Index *across[PACKED], *along[PACKED]; /* offsets of the neighbours in a vector, and of the others */
    Index panel[PACKED];                   /* elements of what is packed for one product, or one vector of them */
    double part_nanoseconds;
} StackPlan;

typedef struct {
    const StackPlan *plan;
    const char *x, *y;
    char *result;
    atomic_bool failed; /* for want of memory */
} Call;

/* Products that lie behind one another in a large result, whose lines are not read before they are written. */
static void run_staged(const StackPlan *plan, const StackProblem *problem, const char *x, const char *y, char *result,
                       Index count, char *buffer) {
    const Index bytes = ELEMENT_BYTES[plan->result.type], product = problem->rows * problem->columns * bytes;
    const Index step = STAGED_BYTES / product;
    for (Index done = 0; done < count; done += step) {
        const Index now = smaller(count - done, step);
        plan->loop(problem, x + done * problem->a_next * bytes, y + done * problem->b_next * bytes, buffer, now);
        SIMD_CHOICE(copy_kernels)->stream_run(buffer, result + done * product, now * product);
    }
}

/* Some neighbouring products, of which nothing or the rows of x are packed. */
static void run_rows(const StackPlan *plan, const StackProblem *given, const char *x, const char *y, char *result,
                     Index count, char *packed) {
    const Index bytes = ELEMENT_BYTES[plan->result.type];
    char *buffer = packed + plan->panel[OF_X] * bytes;
    if (!plan->packs[OF_X]) {
        if (plan->stages) run_staged(plan, given, x, y, result, count, buffer);
        else plan->loop(given, x, y, result, count);
        return;
    }
    StackProblem problem = *given;
    const Index panel = problem.rows * problem.depth, at_once = plan->panel[OF_X] / panel;
    const bool same = problem.a_next == 0;
    problem.a_row = 1;
    problem.a_inner = problem.rows;
    problem.a_next = same ? 0 : panel;
    const Index step = same ? count : at_once;
    for (Index done = 0; done < count; done += step) {
        const Index now = smaller(count - done, step);
        for (Index i = 0; i < (same ? 1 : now); i++)
            plan->pack(packed + i * panel * bytes, x + (done + i) * given->a_next * bytes, plan->across[OF_X],
                       plan->along[OF_X], problem.rows, problem.depth, problem.rows);
        const char *from_y = y + done * given->b_next * bytes;
        char *to = result + done * given->c_next * bytes;
        if (plan->stages) run_staged(plan, &problem, packed, from_y, to, now, buffer);
        else plan->loop(&problem, packed, from_y, to, now);
    }
}

/* A block of rows and columns of one product, or of several if it is all of them. */
static void run_block(const StackPlan *plan, const char *x, const char *y, char *result, Index count, Index block,
                      char *packed) {
    const Index bytes = ELEMENT_BYTES[plan->result.type];
    StackProblem problem = plan->problem;
    const Index row = block / plan->column_blocks * plan->row_step;
    const Index column = block % plan->column_blocks * plan->column_step;
    problem.rows = smaller(problem.rows - row, plan->row_step);
    problem.columns = smaller(problem.columns - column, plan->column_step);
    x += row * problem.a_row * bytes;
    y += column * problem.b_column * bytes;
    result += (row * problem.c_row + column * problem.c_column) * bytes;
    const Index depth = problem.depth;
    for (Index k = 0; k < depth; k += plan->sum_step) {
        problem.depth = smaller(depth - k, plan->sum_step);
        problem.adds = k > 0;
        run_rows(plan, &problem, x + k * problem.a_inner * bytes, y + k * problem.b_inner * bytes, result, count,
                 packed);
    }
}

/* How elements of an operand lie that was packed, in the order in which it lies in memory (prepare_packing()). */
static void steps_packed(Index *inner, Index *other, Index depth, Index extent, Index width) {
    const bool by_inner = magnitude(*inner) <= magnitude(*other);
    *inner = by_inner ? width : width * extent;
    *other = by_inner ? width * depth : width;
}

/* The lanes of every element, from a buffer to where they lie in the result. */
static void write_lanes(const StackPlan *plan, const char *buffer, char *result, Index run_bytes) {
    const StackProblem *p = &plan->problem;
    const Index bytes = ELEMENT_BYTES[plan->result.type];
    const CopyKernels *copies = SIMD_CHOICE(copy_kernels);
    for (Index column = 0; column < p->columns; column++)
        for (Index row = 0; row < p->rows; row++, buffer += plan->lanes * bytes) {
            char *to = result + (row * p->c_row + column * p->c_column) * bytes;
            if (p->streams) copies->stream_run(buffer, to, run_bytes);
            else memcpy(to, buffer, (size_t)run_bytes);
        }
}

/* Some neighbouring products, one in each lane; operands whose lanes are no neighbours are packed, and those whose
 * elements lie in more lines than the processor follows. */
static void run_lanes(const StackPlan *plan, const char *x, const char *y, char *result, Index count, char *packed) {
    const Index bytes = ELEMENT_BYTES[plan->result.type];
    StackProblem problem = plan->problem;
    char *of_y = packed + plan->panel[OF_X] * bytes;
    if (plan->packs[OF_X]) steps_packed(&problem.a_inner, &problem.a_row, problem.depth, problem.rows, plan->lanes);
    if (plan->packs[OF_Y])
        steps_packed(&problem.b_inner, &problem.b_column, problem.depth, problem.columns, plan->lanes);
    const Index step = plan->packs[OF_X] || plan->packs[OF_Y] ? plan->lanes : count;
    char *of_c = of_y + plan->panel[OF_Y] * bytes;
    if (plan->stages) {
        problem.c_row = plan->lanes;
        problem.c_column = plan->lanes * problem.rows;
        problem.streams = false;
    }
    for (Index done = 0; done < count; done += step) {
        const Index now = smaller(count - done, step);
        const char *from_x = x + done * problem.a_next * bytes, *from_y = y + done * problem.b_next * bytes;
        if (plan->packs[OF_X]) {
            plan->pack(packed, from_x, plan->across[OF_X], plan->along[OF_X], now, problem.rows * problem.depth,
                       plan->lanes);
            from_x = packed;
        }
        if (plan->packs[OF_Y]) {
            plan->pack(of_y, from_y, plan->across[OF_Y], plan->along[OF_Y], now, problem.columns * problem.depth,
                       plan->lanes);
            from_y = of_y;
        }
        plan->loop(&problem, from_x, from_y, plan->stages ? of_c : result + done * bytes, now);
        if (plan->stages) write_lanes(plan, of_c, result + done * bytes, now * bytes);
    }
}

/* Parts are products, or vectors of neighbouring ones; of large products, their blocks. */
static void compute(void *context, Index begin, Index end) {
    Call *call = context;
    const StackPlan *plan = call->plan;
    const Index bytes = ELEMENT_BYTES[plan->result.type], unit = plan->lanes > 0 ? plan->lanes : 1;
    const Index blocks = plan->row_blocks * plan->column_blocks, near_parts = pieces(plan->near, unit);
    _Alignas(64) char little[LITTLE_WORKSPACE];
    const Index staged = !plan->stages     ? 0
                         : plan->lanes > 0 ? plan->problem.rows * plan->problem.columns * plan->lanes * bytes
                                           : STAGED_BYTES;
    const size_t needed = (size_t)((plan->panel[OF_X] + plan->panel[OF_Y]) * bytes + staged);
    char *packed = workspace_acquire(little, needed);
    if (packed == NULL) {
        atomic_store(&call->failed, true);
        return;
    }
    Index block = begin % blocks, near = begin / blocks % near_parts;
    StridedWalk walk;
    group_walk_start(&walk, &plan->stack, begin / blocks / near_parts);
    while (begin < end) {
        const Index parts = blocks > 1 ? 1 : smaller(end - begin, near_parts - near);
        const Index first = near * unit, count = blocks > 1 ? 1 : smaller(parts * unit, plan->near - first);
        const char *x = call->x + (walk.offset[plan->x] + first * plan->problem.a_next) * bytes;
        const char *y = call->y + (walk.offset[plan->y] + first * plan->problem.b_next) * bytes;
        char *result = call->result + (walk.offset[RESULT] + first * plan->problem.c_next) * bytes;
        if (plan->lanes > 0) run_lanes(plan, x, y, result, count, packed);
        else run_block(plan, x, y, result, count, block, packed);
        begin += parts;
        if (blocks > 1 && ++block < blocks) continue;
        block = 0;
        near += parts;
        if (near < near_parts) continue;
        near = 0;
        group_walk_step(&walk, &plan->stack);
    }
    if (plan->stages) SIMD_CHOICE(copy_kernels)->finish_stream();
    workspace_release(packed, needed);
}

static bool compute_stack(const void *stack, const char *const *operands, char *result) {
    const StackPlan *plan = stack;
    Call call = {.plan = plan, .x = operands[plan->x], .y = operands[plan->y], .result = result};
    atomic_init(&call.failed, false);
    const Index near_parts = plan->lanes > 0 ? pieces(plan->near, plan->lanes) : plan->near;
    const Index parts = plan->stack.size * near_parts * plan->row_blocks * plan->column_blocks;
    if (plan->part_nanoseconds * (double)parts < 2 * WORTH_A_THREAD) compute(&call, 0, parts);
    else parallel_for(parts, 1 + (Index)(WORTH_A_THREAD / plan->part_nanoseconds), compute, &call);
    return !atomic_load(&call.failed);
}

static void release(void *memory) {
    StackPlan *plan = memory;
    for (int i = 0; i < PACKED; i++) {
        free(plan->across[i]);
        free(plan->along[i]);
    }
    free(plan);
}

/* The offsets of `outer` times `inner` elements; NULL with an exception set. */
static Index *offsets_of(Index outer, Index outer_step, Index inner, Index inner_step) {
    Index *offsets = malloc((size_t)(outer * inner) * sizeof *offsets);
    if (offsets == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Index i = 0; i < outer; i++)
        for (Index k = 0; k < inner; k++) offsets[i * inner + k] = i * outer_step + k * inner_step;
    return offsets;
}

/* Tables for packing, in the order in which an operand lies in memory. */
static bool prepare_packing(StackPlan *plan) {
    const StackProblem *p = &plan->problem;
    if (plan->lanes == 0) {
        plan->packs[OF_X] = p->rows > 1 && p->a_row != 1;
        if (!plan->packs[OF_X]) return true;
        const Index panel = plan->row_step * plan->sum_step, room = PACKED_AT_ONCE / ELEMENT_BYTES[plan->result.type];
        plan->panel[OF_X] = panel > room || p->a_next == 0 ? panel : room / panel * panel;
        plan->across[OF_X] = offsets_of(plan->row_step, p->a_row, 1, 0);
        plan->along[OF_X] = offsets_of(plan->sum_step, p->a_inner, 1, 0);
        return plan->across[OF_X] != NULL && plan->along[OF_X] != NULL;
    }
    const Index next[PACKED] = {p->a_next, p->b_next}, inner[PACKED] = {p->a_inner, p->b_inner};
    const Index free_step[PACKED] = {p->a_row, p->b_column}, extent[PACKED] = {p->rows, p->columns};
    const Index wider = p->rows > p->columns ? p->rows : p->columns, bytes = ELEMENT_BYTES[plan->result.type];
    const bool many = (p->rows + p->columns) * p->depth > MANY_LINES;
    plan->stages = many;
    if (many) plan->lanes *= smaller(MOST_WIDE, 1 + WIDE_BYTES / (wider * p->depth * plan->lanes * bytes));
    for (int i = 0; i < PACKED; i++) {
        plan->packs[i] = next[i] != 1 || many;
        if (!plan->packs[i]) continue;
        plan->panel[i] = extent[i] * p->depth * plan->lanes;
        plan->across[i] = offsets_of(plan->lanes, next[i], 1, 0);
        plan->along[i] = magnitude(inner[i]) <= magnitude(free_step[i])
                             ? offsets_of(extent[i], free_step[i], p->depth, inner[i])
                             : offsets_of(p->depth, inner[i], extent[i], free_step[i]);
        if (plan->across[i] == NULL || plan->along[i] == NULL) return false;
    }
    return true;
}

/* Columns of a block: as many as can be staged, if that is enough of them. */
static Index block_columns(Index column_bytes) {
    const Index staged = STAGED_BYTES / column_bytes;
    return staged >= 8 ? staged / 8 * 8 : BLOCK_COLUMNS;
}

/* Blocks of one product: of long sums, and what threads share of it. */
static void choose_blocks(StackPlan *plan) {
    const StackProblem *p = &plan->problem;
    plan->row_step = p->rows;
    plan->column_step = p->columns;
    plan->sum_step = p->depth;
    if (plan->lanes == 0) {
        const Index quarter = rounded_up(pieces(p->rows, 4), 64);
        plan->row_step = smaller(p->rows, smaller(BLOCK_ROWS, quarter < FEWEST_ROWS ? FEWEST_ROWS : quarter));
        if (p->columns > 2 * BLOCK_COLUMNS) plan->column_step = block_columns(p->rows * ELEMENT_BYTES[plan->result.type]);
        if (p->depth > LONG_SUM && p->columns <= SUM_STEP && p->rows > LONG_SUM) plan->sum_step = SUM_STEP;
    }
    const Index bytes = plan->row_step * plan->column_step * ELEMENT_BYTES[plan->result.type];
    plan->stages = plan->lanes == 0 && plan->result.bytes >= STREAMED_BYTES && plan->row_step == p->rows &&
                   plan->sum_step == p->depth && (p->columns == 1 || p->c_column == p->rows) &&
                   (plan->near == 1 || p->c_next == p->rows * p->columns) && bytes <= STAGED_BYTES;
    plan->row_blocks = pieces(p->rows, plan->row_step);
    plan->column_blocks = pieces(p->columns, plan->column_step);
}

/* Of one part, in one thread: multiply-adds of vectors, and elements that come from beyond the cache. */
static double part_nanoseconds(const StackPlan *plan) {
    const StackProblem *p = &plan->problem;
    const double lanes = plan->lanes > 0 ? (double)plan->lanes : 1.0;
    const double rows = (double)plan->row_step, columns = (double)plan->column_step, depth = (double)p->depth;
    const double elements = rows * depth + depth * columns + rows * columns;
    const double vectors = plan->lanes > 0 ? rows : (double)pieces(plan->row_step, 8);
    return 3.0 + 0.25 * vectors * columns * depth + 0.02 * lanes * elements * ELEMENT_BYTES[plan->result.type];
}

/* One axis, or none: extent and steps. */
static bool line_read(GroupAxis *axis, Group *group, PyObject *argument) {
    if (group_read(group, argument) < 0) return false;
    if (group->rank > 1) PyErr_SetString(PyExc_ValueError, "bind_stack: rows, columns and sums are one axis each");
    *axis = group->rank == 1 ? group->axes[0] : (GroupAxis){1, {0, 0, 0}};
    return group->rank <= 1;
}

/* What the loops count on; else a ValueError is set. */
static bool is_sound(const StackPlan *plan) {
    const StackProblem *p = &plan->problem;
    const bool by_rows = plan->lanes == 0;
    const Index room = MOST_PACKED_BYTES / ELEMENT_BYTES[plan->result.type] / (by_rows ? 1 : plan->lanes);
    const Index wide = by_rows ? plan->row_step : p->rows > p->columns ? p->rows : p->columns;
    const bool packs = by_rows ? p->rows > 1 && p->a_row != 1 : p->a_next != 1 || p->b_next != 1;
    if (by_rows && p->rows > 1 && p->c_row != 1)
        PyErr_SetString(PyExc_ValueError, "bind_stack: rows of the result are no neighbours");
    else if (packs && plan->sum_step > room / wide)
        PyErr_SetString(PyExc_ValueError, "bind_stack: products are too large to be packed");
    else return true;
    return false;
}

static PyObject *bind_stack(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (!arguments_count("bind_stack", count, 8, "a type, a shape, five groups of axes and a truth value")) return NULL;
    StackPlan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) return PyErr_NoMemory();
    Group near_group, row_group, column_group, inner_group;
    GroupAxis near, rows, columns, inner;
    const int rows_are_second = PyObject_IsTrue(arguments[7]);
    if (rows_are_second < 0 || array_form_read(&plan->result, arguments[1], arguments[0]) < 0 ||
        group_read(&plan->stack, arguments[2]) < 0 || !line_read(&near, &near_group, arguments[3]) ||
        !line_read(&rows, &row_group, arguments[4]) || !line_read(&columns, &column_group, arguments[5]) ||
        !line_read(&inner, &inner_group, arguments[6]) ||
        !groups_make_result((const Group *[]){&plan->stack, &near_group, &row_group, &column_group}, 4,
                            plan->result.size)) {
        release(plan);
        return NULL;
    }
    const ElementType type = plan->result.type;
    if (type > C64) {
        release(plan);
        return PyErr_Format(PyExc_ValueError, "bind_stack: there are no loops for %R", arguments[0]);
    }
    const Role x = rows_are_second ? SECOND : FIRST, y = rows_are_second ? FIRST : SECOND;
    const StackLoops *loops = &SIMD_CHOICE(stack_kernels)->of_type[type];
    plan->x = x;
    plan->y = y;
    plan->near = near.extent;
    plan->problem = (StackProblem){
        .rows = rows.extent,
        .columns = columns.extent,
        .depth = inner.extent,
        .a_row = rows.stride[x],
        .a_inner = inner.stride[x],
        .b_inner = inner.stride[y],
        .b_column = columns.stride[y],
        .c_row = rows.stride[RESULT],
        .c_column = columns.stride[RESULT],
        .a_next = near.stride[x],
        .b_next = near.stride[y],
        .c_next = near.stride[RESULT],
        .streams = plan->result.bytes >= STREAMED_BYTES,
    };
    plan->lanes = near.extent > 1 && near.stride[RESULT] == 1 ? loops->lanes : 0;
    plan->loop = plan->lanes > 0 ? loops->by_lanes : loops->by_rows;
    plan->pack = pack_of(SIMD_CHOICE(pack_kernels), ELEMENT_BYTES[type]);
    choose_blocks(plan);
    if (!is_sound(plan) || !prepare_packing(plan)) {
        release(plan);
        return NULL;
    }
    plan->part_nanoseconds = part_nanoseconds(plan);
    const double parts = (double)plan->result.size / (double)(plan->row_step * plan->column_step) /
                         (plan->lanes > 0 ? (double)plan->lanes : 1.0);
    const Index entries = plan->lanes + (plan->row_step + plan->column_step + plan->lanes) * inner.extent;
    const Group *const groups[] = {&plan->stack, &near_group, &row_group, &column_group, &inner_group};
    PyObject *kernel = kernel_new("contract_stack", kernel_call, plan, release);
    kernel = kernel_computes(kernel, compute_stack, &plan->result, plan->part_nanoseconds * parts);
    return kernel_with_groups(kernel_shared_from(kernel, 2 * WORTH_A_THREAD), type, groups, 5, FIRST, entries);
}

PyMethodDef stack_functions[] = {
    {"bind_stack", (PyCFunction)(void (*)(void))bind_stack, METH_FASTCALL,
     "A kernel of small matrix products, or of one with few columns, that takes operands as they lie."},
    {NULL, NULL, 0, NULL},
};
