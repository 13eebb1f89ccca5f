/* Runs stacks of small products (stack_plan.h): packs, stages what goes past the cache, and shares parts among threads. */
#include "contraction/stack_plan.h"
#include "core/caching_allocator.h"
#include "core/threads.h"
#include "copy/permute.h"

#include <stdatomic.h>
#include <string.h>

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
    char *packed = block_acquire(little, needed);
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
    if (plan->stages || plan->problem.streams) SIMD_CHOICE(copy_kernels)->finish_stream();
    block_release(packed, needed);
}

bool stack_run(const StackPlan *plan, const char *x, const char *y, char *result) {
    Call call = {.plan = plan, .x = x, .y = y, .result = result};
    atomic_init(&call.failed, false);
    const Index near_parts = plan->lanes > 0 ? pieces(plan->near, plan->lanes) : plan->near;
    const Index parts = plan->stack.size * near_parts * plan->row_blocks * plan->column_blocks;
    if (plan->part_nanoseconds * (double)parts < 2 * STACK_WORTH_A_THREAD) compute(&call, 0, parts);
    else parallel_for(parts, 1 + (Index)(STACK_WORTH_A_THREAD / plan->part_nanoseconds), compute, &call);
    return !atomic_load(&call.failed);
}
