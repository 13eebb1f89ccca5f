/* The elementwise machine: runs programs of elementwise operations over blocks of a result (blocks.h, elementwise.h).
 *
 * Blocks are cut so small that the workspace of a thread fits the first-level cache, and only what is
 * neither read nor written where it lies has any.
 */
#include "elementwise/elementwise_plan.h"

#include "core/kernel.h"
#include "core/strided_walk.h"
#include "core/caching_allocator.h"
#include "core/threads.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
    FETCHED_AHEAD = 2 * FAR_BLOCK_BYTES, /* left to itself, the processor stops fetching while it computes */
    WORTH_RELEASING_THE_GIL = 1 << 13,   /* element operations: about 5 microseconds */
};

typedef struct {
    const ElementwisePlan *plan;
    const char *operands[MOST_OPERANDS];
    char *result;
    atomic_bool *out_of_memory;
} Run;

/* What one thread knows about its registers. */
typedef struct {
    const Run *run;
    char *spaces[MOST_REGISTERS];          /* workspace of each register */
    const char *registers[MOST_REGISTERS]; /* where its elements are */
    Index row_steps[MOST_REGISTERS];       /* bytes from row to row of a tile */
    Index copied_from[MOST_OPERANDS];      /* offset of what a copied operand's register holds */
    Index rows, columns;                   /* and of which extents */
    Stream stream;                         /* of what is written past the caches */
} State;

static void fill(const BlockKernels *kernels, char *space, const void *element, int bytes, Index count) {
    kernels->copy[__builtin_ctz((unsigned)bytes)](space, element, 1, count, 0, 0);
}

HOT static void prepare(State *state, const Run *run, char *workspace) {
    const ElementwisePlan *plan = run->plan;
    const BlockPlan *blocks = &plan->blocks;
    state->run = run;
    state->stream.held = 0;
    state->rows = state->columns = -1;
    for (int k = 0; k < plan->register_count; k++) {
        state->registers[k] = state->spaces[k] = workspace + plan->space_of[k];
        state->row_steps[k] = 0;
    }
    for (int k = 0; k < blocks->operand_count; k++)
        if (blocks->operands[k].access == ONE_NUMBER)
            fill(plan->block_kernels, state->spaces[k], run->operands[k], blocks->operands[k].item_bytes,
                 blocks->block_elements);
    for (int k = 0; k < plan->constant_count; k++)
        fill(plan->block_kernels, state->spaces[plan->first_constant + k], plan->constants[k], plan->constant_bytes[k],
             blocks->block_elements);
}

static void fetch(const char *place, Index bytes) {
    for (Index line = 0; line < bytes; line += 64) __builtin_prefetch(place + line);
}

static void read_operands(State *state, const BlockWalk *walk) {
    const ElementwisePlan *plan = state->run->plan;
    const BlockPlan *blocks = &plan->blocks;
    bool same_extents = state->rows == walk->rows && state->columns == walk->columns;
    state->rows = walk->rows;
    state->columns = walk->columns;
    for (int k = 0; k < blocks->operand_count; k++) {
        const BlockOperand *operand = &blocks->operands[k];
        if (operand->access == IN_PLACE) {
            state->registers[k] = state->run->operands[k] + walk->offsets[k] * operand->item_bytes;
            state->row_steps[k] =
                blocks->row_axis < 0 ? 0 : operand->strides[blocks->row_axis] * (Index)operand->item_bytes;
            if (plan->far && walk->rows == 1)
                fetch(state->registers[k] + FETCHED_AHEAD, walk->columns * operand->item_bytes);
        } else if (operand->access == COPIED) {
            state->row_steps[k] = walk->columns * operand->item_bytes;
            if (same_extents && state->copied_from[k] == walk->offsets[k]) continue;
            blocks_copy(plan->block_kernels, blocks, walk, k, state->spaces[k], state->run->operands[k]);
            state->copied_from[k] = walk->offsets[k];
        }
    }
}

/* Computes n elements of the result from those that the registers hold in one row of a block. */
HOT static void run_program(State *state, Index n, char *result, Index row) {
    const ElementwisePlan *plan = state->run->plan;
    int last = plan->instruction_count - 1;
    for (int k = 0; k <= last; k++) {
        const Instruction *instruction = &plan->instructions[k];
        const void *operands[MOST_READ_AT_ONCE];
        for (int j = 0; j < MOST_READ_AT_ONCE; j++) {
            int which = instruction->operands[j];
            operands[j] = state->registers[which] + row * state->row_steps[which];
        }
        char *target = k < last || plan->streamed ? state->spaces[instruction->target] : result;
        const Third third = instruction->function ? (Third){.function = instruction->function}
                            : instruction->operand_count == MOST_READ_AT_ONCE ? (Third){.both = operands + 2}
                                                                              : (Third){.elements = operands[2]};
        instruction->loop(n, target, operands[0], operands[1], third);
    }
    if (plan->streamed)
        plan->block_kernels->stream(&state->stream, result, state->spaces[plan->instructions[last].target],
                                    n * ELEMENT_BYTES[plan->result.type]);
}

/* Blocks of operands that lie as the result does: nothing to walk along but memory. */
HOT static void run_flat(State *state, Index begin, Index end) {
    const Run *run = state->run;
    const ElementwisePlan *plan = run->plan;
    const BlockPlan *blocks = &plan->blocks;
    const Index size = blocks->shape[0], step = blocks->steps[0], item = ELEMENT_BYTES[plan->result.type];
    for (Index first = begin * step; first < smaller(end * step, size); first += step) {
        Index n = smaller(size - first, step);
        for (int k = 0; k < blocks->operand_count; k++) {
            const BlockOperand *operand = &blocks->operands[k];
            if (operand->access != IN_PLACE) continue;
            state->registers[k] = run->operands[k] + first * operand->item_bytes;
            if (plan->far) fetch(state->registers[k] + FETCHED_AHEAD, n * operand->item_bytes);
        }
        run_program(state, n, run->result + first * item, 0);
    }
}

static void run_walk(State *state, Index begin, Index end) {
    const Run *run = state->run;
    const BlockPlan *blocks = &run->plan->blocks;
    const Index item = ELEMENT_BYTES[run->plan->result.type];
    BlockWalk walk;
    blocks_start(blocks, &walk, begin);
    for (Index block = begin; block < end; block++) {
        read_operands(state, &walk);
        char *result = run->result + walk.result_offset * item;
        for (Index row = 0; row < walk.rows; row++) {
            run_program(state, walk.columns, result, row);
            if (walk.rows > 1) result += blocks->result_strides[blocks->row_axis] * item;
        }
        if (block + 1 < end) blocks_advance(blocks, &walk);
    }
}

/* Rows of which the operands begin there. */
static void compute_plane(const ElementwisePlan *plan, Index rows, Index columns, char *result, const char *number,
                          const char *row) {
    const BlockPlan *blocks = &plan->blocks;
    const int inner = blocks->rank - 1, across = inner > 0 ? inner - 1 : 0;
    const BlockOperand *first = &blocks->operands[plan->number], *second = &blocks->operands[plan->row];
    if (plan->by_steps == NULL) {
        plan->by_rows(rows, columns, result, number, first->strides[across], row, second->strides[across]);
        return;
    }
    for (; rows > 0; rows--) {
        plan->by_steps(columns, result, number, first->strides[inner], row, second->strides[inner]);
        result += columns * ELEMENT_BYTES[plan->result.type];
        number += first->strides[across] * first->item_bytes;
        row += second->strides[across] * second->item_bytes;
    }
}

/* A block of rows with one number each, or of elements apart: planes of rows, one after the other in the result. */
static void compute_rows(const Run *run, const BlockWalk *walk) {
    const ElementwisePlan *plan = run->plan;
    const BlockPlan *blocks = &plan->blocks;
    const BlockOperand *number = &blocks->operands[plan->number], *row = &blocks->operands[plan->row];
    const int inner = blocks->rank - 1, first = blocks->first_axis, across = inner > 0 ? inner - 1 : 0;
    const Index item = ELEMENT_BYTES[plan->result.type], read = row->item_bytes,
                columns = blocks_extent(blocks, walk, inner);
    const Index rows = first < inner ? blocks_extent(blocks, walk, across) : 1;
    Index axes[3 * MAX_RANK], planes = 1;
    const int rank = first < across ? across - first : 0;
    for (int k = 0; k < rank; k++) {
        axes[3 * k] = blocks_extent(blocks, walk, first + k);
        axes[3 * k + 1] = number->strides[first + k];
        axes[3 * k + 2] = row->strides[first + k];
        planes *= axes[3 * k];
    }
    StridedWalk plane;
    strided_walk_start(&plane, rank, axes, 2, 0);
    char *result = run->result + walk->result_offset * item;
    for (; planes > 0; planes--, result += rows * columns * item) {
        const Index places[] = {walk->offsets[plan->number] + plane.offset[0],
                                walk->offsets[plan->row] + plane.offset[1]};
        compute_plane(plan, rows, columns, result, run->operands[plan->number] + places[0] * read,
                      run->operands[plan->row] + places[1] * read);
        strided_walk_step(&plane, rank, axes, 2);
    }
}

/* A tile of which one operand is turned. */
static void compute_tile(const Run *run, const BlockWalk *walk) {
    const ElementwisePlan *plan = run->plan;
    const BlockPlan *blocks = &plan->blocks;
    const BlockOperand *turned = &blocks->operands[plan->number], *other = &blocks->operands[plan->row];
    const int inner = blocks->rank - 1, across = blocks->row_axis;
    plan->by_tiles(walk->rows, walk->columns, run->result + walk->result_offset * ELEMENT_BYTES[plan->result.type],
                   blocks->result_strides[across],
                   run->operands[plan->number] + walk->offsets[plan->number] * turned->item_bytes,
                   turned->strides[inner], run->operands[plan->row] + walk->offsets[plan->row] * other->item_bytes,
                   other->strides[across], other->strides[inner], plan->tiles_past_cache);
}

static void run_rows(const Run *run, Index begin, Index end) {
    const BlockPlan *blocks = &run->plan->blocks;
    BlockWalk walk;
    blocks_start(blocks, &walk, begin);
    for (Index block = begin; block < end; block++) {
        if (run->plan->by_tiles != NULL) compute_tile(run, &walk);
        else compute_rows(run, &walk);
        if (block + 1 < end) blocks_advance(blocks, &walk);
    }
    if (run->plan->tiles_past_cache) run->plan->block_kernels->finish_stream(NULL);
}

HOT static void run_blocks(void *context, Index begin, Index end) {
    const Run *run = context;
    if (run->plan->by_rows != NULL || run->plan->by_steps != NULL || run->plan->by_tiles != NULL) {
        run_rows(run, begin, end);
        return;
    }
    _Alignas(64) char little[LITTLE_WORKSPACE];
    char *workspace = block_acquire(little, run->plan->workspace_bytes);
    if (workspace == NULL) {
        atomic_store(run->out_of_memory, true);
        return;
    }
    State state;
    prepare(&state, run, workspace);
    if (run->plan->flat) run_flat(&state, begin, end);
    else run_walk(&state, begin, end);
    if (run->plan->streamed) run->plan->block_kernels->finish_stream(&state.stream);
    block_release(workspace, run->plan->workspace_bytes);
}

/* Where the operands are; 1, or 0 for numbers that are left to the fallback, or -1 with an exception set. */
HOT static int find_operands(PyObject *self, PyObject *const *arguments, Run *run, Element *numbers) {
    const ElementwisePlan *plan = run->plan;
    for (int k = 0; k < plan->blocks.operand_count; k++) {
        PyObject *argument = arguments[plan->argument_of[k]];
        if (plan->is_number[k]) {
            if (!element_from_number(argument, plan->types[k], &numbers[k])) return 0;
            run->operands[k] = (const char *)&numbers[k];
        } else {
            if (!kernel_takes_array(self, argument, k)) return -1;
            run->operands[k] = array_data(argument);
        }
    }
    return 1;
}

/* All blocks, shared among the threads where that pays; false where memory is short. */
static bool run_shared(Run *run) {
    const ElementwisePlan *plan = run->plan;
    const Index grain = ELEMENTWISE_WORTH_A_THREAD / (plan->cost * plan->blocks.block_elements);
    parallel_for(plan->blocks.block_count, grain, run_blocks, run);
    return !atomic_load(run->out_of_memory);
}

bool elementwise_compute(const void *planned, const char *const *operands, char *result) {
    const ElementwisePlan *plan = planned;
    if (plan->result.size == 0) return true;
    atomic_bool out_of_memory = false;
    Run run = {.plan = plan, .result = result, .out_of_memory = &out_of_memory};
    for (int k = 0; k < plan->blocks.operand_count; k++) run.operands[k] = operands[k];
    return run_shared(&run);
}

HOT PyObject *elementwise_call(PyObject *self, PyObject *const *arguments, size_t flagged_count, PyObject *names) {
    const ElementwisePlan *plan = kernel_plan(self);
    Element numbers[MOST_OPERANDS];
    atomic_bool out_of_memory = false;
    Run run = {.plan = plan, .out_of_memory = &out_of_memory};
    if (!kernel_takes(self, flagged_count, names, plan->argument_count)) return NULL;
    const int found = find_operands(self, arguments, &run, numbers);
    if (found < 0) return NULL;
    if (found == 0) return PyObject_Vectorcall(plan->fallback, arguments, (size_t)plan->argument_count, NULL);
    PyObject *result = array_new(&plan->result);
    if (result == NULL || plan->result.size == 0) return result;
    run.result = array_data(result);
    if (plan->result.size * plan->cost <= WORTH_RELEASING_THE_GIL) {
        run_blocks(&run, 0, plan->blocks.block_count);
    } else {
        Py_BEGIN_ALLOW_THREADS run_shared(&run);
        Py_END_ALLOW_THREADS
    }
    if (!atomic_load(&out_of_memory)) return result;
    Py_DECREF(result);
    return PyErr_NoMemory();
}
