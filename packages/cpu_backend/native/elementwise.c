/* The elementwise machine: runs programs of elementwise operations over blocks of a result (blocks.h, elementwise.h).
 *
 * Python gives the program as tuples (operation, type of the operands, target, first, second, third) over numbered
 * registers: first the operands, then the constants, then blocks of workspace. The target of the last instruction is
 * the result. Blocks are cut so small that the workspace of a thread fits the first-level cache, and only what is
 * neither read nor written where it lies has any.
 */
#include "arrays.h"
#include "blocks.h"
#include "kernel.h"
#include "pool.h"
#include "threads.h"
#include "topics.h"
#include "vectormath.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_REGISTERS = 48,
    MOST_INSTRUCTIONS = 128,
    MOST_WORKSPACE = 1 << 16, /* bytes of a thread */
    MOST_BLOCK_ELEMENTS = 1024,
    LEAST_BLOCK_ELEMENTS = 256,
    LARGEST_TILE = 1024,
    /* Data from main memory: short blocks, and while one is computed, lines of a later one are fetched;
     * left to itself, the processor stops fetching while it computes. */
    FAR_BYTES = 1 << 24,
    FAR_BLOCK_BYTES = 1 << 10, /* of a register */
    FETCHED_AHEAD = 2 * FAR_BLOCK_BYTES,
    ALONE = 1 << 13,           /* element operations, about 5 microseconds, that are not worth releasing the GIL for */
    GRAIN = 1 << 16,           /* element operations that are worth waking a thread for */
};
/* Larger results are written past the cache. Measured with 32 MiB of third-level cache: chains of single operations are
 * faster so from 8 MB on, though the next one reads its operand from memory, and slower at 5 MB. */
static const size_t STREAMED_BYTES = (size_t)6 << 20;

static const char *const OPERATION_NAMES[LOOPED_OPERATIONS] = {
    "add", "subtract", "multiply", "divide", "maximum", "minimum",
    "equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
    "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift",
    "bitwise_right_shift", "where", "negative", "abs", "conj", "sign", "logical_not", "bitwise_invert", "sqrt",
    "floor", "ceil", "trunc", "round", "isnan", "isinf", "isfinite", "real", "imag", "complex",
    "to_F32", "to_F64", "to_C32", "to_C64", "to_I32", "to_I64", "to_Bool",
};

typedef struct {
    Loop loop;
    const void *function; /* of vectormath.h, or NULL */
    int target, operands[3];
    bool widens; /* its result may have wider elements than its operands */
} Instruction;

typedef struct {
    ArrayForm result;
    BlockPlan blocks;
    const BlockKernels *block_kernels;
    int register_count, first_constant, constant_count, instruction_count;
    int space_bytes;                  /* of the workspace of a register */
    Index space_of[MOST_REGISTERS];   /* where it begins; those without begin where the first one does */
    size_t workspace_bytes;           /* of all */
    bool flat, far, streamed;
    Index cost; /* element operations per element */
    unsigned char constants[MOST_REGISTERS][16];
    int constant_bytes[MOST_REGISTERS];
    Instruction instructions[MOST_INSTRUCTIONS];
} Plan;

typedef struct {
    const Plan *plan;
    const char *operands[MOST_OPERANDS];
    char *result;
    atomic_bool *out_of_memory;
} Run;

/* What one thread knows about its registers. */
typedef struct {
    const Run *run;
    char *spaces[MOST_REGISTERS];   /* workspace of each register */
    char *registers[MOST_REGISTERS]; /* where its elements are */
    Index row_steps[MOST_REGISTERS]; /* bytes from row to row of a tile */
    Index copied_from[MOST_OPERANDS]; /* offset of what a copied operand's register holds */
    Index rows, columns;              /* and of which extents */
} State;

static void fill(const BlockKernels *kernels, char *space, const void *element, int bytes, Index count) {
    kernels->copy[__builtin_ctz((unsigned)bytes)](space, element, 1, count, 0, 0);
}

static void prepare(State *state, const Run *run, char *workspace) {
    const Plan *plan = run->plan;
    const BlockPlan *blocks = &plan->blocks;
    state->run = run;
    state->rows = state->columns = -1;
    for (int k = 0; k < plan->register_count; k++) {
        state->spaces[k] = state->registers[k] = workspace + plan->space_of[k];
        state->row_steps[k] = 0;
    }
    for (int k = 0; k < blocks->operand_count; k++)
        if (blocks->operands[k].access == ONE_NUMBER)
            fill(plan->block_kernels, state->spaces[k], run->operands[k], blocks->operands[k].item_bytes,
                 blocks->block_elements);
    for (int k = 0; k < plan->constant_count; k++)
        fill(plan->block_kernels, state->spaces[plan->first_constant + k], plan->constants[k],
             plan->constant_bytes[k], blocks->block_elements);
}

static void fetch(const char *place, Index bytes) {
    for (Index line = 0; line < bytes; line += 64) __builtin_prefetch(place + line);
}

static void read_operands(State *state, const BlockWalk *walk) {
    const Plan *plan = state->run->plan;
    const BlockPlan *blocks = &plan->blocks;
    bool same_extents = state->rows == walk->rows && state->columns == walk->columns;
    state->rows = walk->rows;
    state->columns = walk->columns;
    for (int k = 0; k < blocks->operand_count; k++) {
        const BlockOperand *operand = &blocks->operands[k];
        if (operand->access == IN_PLACE) {
            state->registers[k] = (char *)state->run->operands[k] + walk->offsets[k] * operand->item_bytes;
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
static void run_program(State *state, Index n, char *result, Index row) {
    const Plan *plan = state->run->plan;
    int last = plan->instruction_count - 1;
    for (int k = 0; k <= last; k++) {
        const Instruction *instruction = &plan->instructions[k];
        const char *operands[3];
        for (int j = 0; j < 3; j++) {
            int which = instruction->operands[j];
            operands[j] = state->registers[which] + row * state->row_steps[which];
        }
        char *target = k < last || plan->streamed ? state->spaces[instruction->target] : result;
        instruction->loop(n, target, operands[0], operands[1],
                          instruction->function ? instruction->function : operands[2]);
    }
    if (plan->streamed)
        plan->block_kernels->stream(result, state->spaces[plan->instructions[last].target],
                                    n * ELEMENT_BYTES[plan->result.type]);
}

/* Blocks of operands that lie as the result does: nothing to walk along but memory. */
static void run_flat(State *state, Index begin, Index end) {
    const Run *run = state->run;
    const Plan *plan = run->plan;
    const BlockPlan *blocks = &plan->blocks;
    const Index size = blocks->shape[0], step = blocks->steps[0], item = ELEMENT_BYTES[plan->result.type];
    for (Index first = begin * step; first < smaller(end * step, size); first += step) {
        Index n = smaller(size - first, step);
        for (int k = 0; k < blocks->operand_count; k++) {
            const BlockOperand *operand = &blocks->operands[k];
            if (operand->access != IN_PLACE) continue;
            state->registers[k] = (char *)run->operands[k] + first * operand->item_bytes;
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

static void run_blocks(void *context, Index begin, Index end) {
    const Run *run = context;
    _Alignas(64) char little[LITTLE_WORKSPACE];
    char *workspace = workspace_take(little, run->plan->workspace_bytes);
    if (workspace == NULL) {
        atomic_store(run->out_of_memory, true);
        return;
    }
    State state;
    prepare(&state, run, workspace);
    if (run->plan->flat) run_flat(&state, begin, end);
    else run_walk(&state, begin, end);
    workspace_give(workspace, run->plan->workspace_bytes);
}

static PyObject *call(PyObject *self, PyObject *const *arguments, size_t flagged_count, PyObject *names) {
    const Plan *plan = kernel_plan(self);
    int count = plan->blocks.operand_count;
    if (!kernel_takes(self, flagged_count, names, count) || !are_arrays(arguments, count)) return NULL;
    PyObject *result = array_new(&plan->result);
    if (result == NULL || plan->result.size == 0) return result;
    atomic_bool out_of_memory = false;
    Run run = {.plan = plan, .result = array_data(result), .out_of_memory = &out_of_memory};
    for (int k = 0; k < count; k++) run.operands[k] = array_data(arguments[k]);
    if (plan->result.size * plan->cost <= ALONE) {
        run_blocks(&run, 0, plan->blocks.block_count);
    } else {
        Index grain = GRAIN / (plan->cost * plan->blocks.block_elements);
        Py_BEGIN_ALLOW_THREADS
        parallel_for(plan->blocks.block_count, grain, run_blocks, &run);
        Py_END_ALLOW_THREADS
    }
    if (!atomic_load(&out_of_memory)) return result;
    Py_DECREF(result);
    return PyErr_NoMemory();
}

/* Reading what Python gives. Each function returns 0, or -1 with an exception set. */

static int refuse(const char *what) {
    PyErr_Format(PyExc_ValueError, "elementwise: %s", what);
    return -1;
}

static int read_operands_of(Plan *plan, PyObject *operands) {
    if (!PyTuple_Check(operands) || PyTuple_GET_SIZE(operands) > MOST_OPERANDS) return refuse("too many operands");
    plan->blocks.operand_count = plan->first_constant = (int)PyTuple_GET_SIZE(operands);
    for (int k = 0; k < plan->blocks.operand_count; k++) {
        BlockOperand *operand = &plan->blocks.operands[k];
        PyObject *pair = PyTuple_GET_ITEM(operands, k);
        if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2) return refuse("an operand is (strides, type)");
        int rank = indices_read(operand->strides, MAX_RANK, PyTuple_GET_ITEM(pair, 0));
        if (rank < 0) return -1;
        if (rank != plan->result.rank) return refuse("an operand has one stride per axis of the result");
        int type = element_type_read(PyTuple_GET_ITEM(pair, 1));
        if (type < 0) return -1;
        operand->item_bytes = ELEMENT_BYTES[type];
    }
    return 0;
}

static int read_constants(Plan *plan, PyObject *constants) {
    if (!PyTuple_Check(constants) || PyTuple_GET_SIZE(constants) + plan->first_constant > MOST_REGISTERS)
        return refuse("too many constants");
    plan->constant_count = (int)PyTuple_GET_SIZE(constants);
    for (int k = 0; k < plan->constant_count; k++) {
        char *bytes;
        Py_ssize_t length;
        if (PyBytes_AsStringAndSize(PyTuple_GET_ITEM(constants, k), &bytes, &length) < 0) return -1;
        if (length != 1 && length != 4 && length != 8 && length != 16) return refuse("a constant is one element");
        memcpy(plan->constants[k], bytes, (size_t)length);
        plan->constant_bytes[k] = (int)length;
    }
    return 0;
}

static int find_loop(Instruction *instruction, PyObject *name, int type) {
    const ElementwiseKernels *kernels = SIMD_CHOICE(elementwise_kernels);
    if (!PyUnicode_Check(name)) return refuse("an operation is named by a string");
    const int operation = name_read(name, OPERATION_NAMES, LOOPED_OPERATIONS);
    if (operation >= 0) instruction->loop = kernels->loops[operation][type];
    instruction->widens = operation >= JOIN_PARTS;
    for (int function = 0; function < MATH_FUNCTIONS; function++)
        if (PyUnicode_CompareWithASCIIString(name, math_name((MathFunction)function)) == 0) {
            MathLoop found = math_loop((MathFunction)function, (ElementType)type);
            instruction->loop = found.loop;
            instruction->function = found.function;
        }
    if (instruction->loop != NULL) return 0;
    PyErr_Format(PyExc_ValueError, "elementwise: there is no instruction %R for this type", name);
    return -1;
}

static int read_instruction(Plan *plan, Instruction *instruction, PyObject *tuple) {
    if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) != 6)
        return refuse("an instruction is (operation, type, target, first, second, third)");
    int type = element_type_read(PyTuple_GET_ITEM(tuple, 1));
    if (type < 0 || find_loop(instruction, PyTuple_GET_ITEM(tuple, 0), type) < 0) return -1;
    for (int k = 0; k < 4; k++) {
        long number = PyLong_AsLong(PyTuple_GET_ITEM(tuple, 2 + k));
        if (number == -1 && PyErr_Occurred()) return -1;
        if (number < 0 || number >= MOST_REGISTERS) return refuse("there is no such register");
        if (k == 0 && number < plan->first_constant + plan->constant_count)
            return refuse("operands and constants are not written to");
        if (k == 0) instruction->target = (int)number;
        else instruction->operands[k - 1] = (int)number;
        if (number >= plan->register_count) plan->register_count = (int)number + 1;
    }
    return 0;
}

static int read_program(Plan *plan, PyObject *program) {
    Py_ssize_t count = PyTuple_Check(program) ? PyTuple_GET_SIZE(program) : 0;
    if (count < 1 || count > MOST_INSTRUCTIONS) return refuse("too many instructions, or none");
    plan->register_count = plan->first_constant + plan->constant_count;
    plan->instruction_count = (int)count;
    plan->cost = 0;
    for (int k = 0; k < count; k++) {
        if (read_instruction(plan, &plan->instructions[k], PyTuple_GET_ITEM(program, k)) < 0) return -1;
        plan->cost += plan->instructions[k].function ? 8 : 1;
    }
    return 0;
}

/* Bytes of the widest element in any register: of operands, constants and results of instructions. */
static int widest_element(const Plan *plan, PyObject *program) {
    int widest = ELEMENT_BYTES[plan->result.type];
    for (int k = 0; k < plan->blocks.operand_count; k++)
        if (plan->blocks.operands[k].item_bytes > widest) widest = plan->blocks.operands[k].item_bytes;
    for (int k = 0; k < plan->instruction_count; k++) {
        PyObject *type = PyTuple_GET_ITEM(PyTuple_GET_ITEM(program, k), 1);
        int bytes = ELEMENT_BYTES[element_type_read(type)];
        if (bytes > widest) widest = bytes;
        if (plan->instructions[k].widens) widest = 16;
    }
    return widest;
}

/* Bytes of the result and of operands of its size. */
static size_t bytes_touched(const Plan *plan) {
    size_t bytes = plan->result.bytes;
    for (int k = 0; k < plan->blocks.operand_count; k++)
        for (int axis = 0; axis < plan->result.rank; axis++)
            if (plan->blocks.operands[k].strides[axis] != 0) {
                bytes += (size_t)plan->result.size * (size_t)plan->blocks.operands[k].item_bytes;
                break;
            }
    return bytes;
}

/* Workspace for operands that are not read in place, for constants, and for results but the last, which is written
 * where it belongs unless it is streamed there. */
static void give_spaces(Plan *plan) {
    bool needed[MOST_REGISTERS] = {false};
    for (int k = 0; k < plan->blocks.operand_count; k++) needed[k] = plan->blocks.operands[k].access != IN_PLACE;
    for (int k = 0; k < plan->constant_count; k++) needed[plan->first_constant + k] = true;
    for (int k = 0; k < plan->instruction_count; k++)
        if (k + 1 < plan->instruction_count || plan->streamed) needed[plan->instructions[k].target] = true;
    plan->workspace_bytes = 0;
    for (int k = 0; k < plan->register_count; k++) {
        plan->space_of[k] = needed[k] ? (Index)plan->workspace_bytes : 0;
        if (needed[k]) plan->workspace_bytes += (size_t)plan->space_bytes;
    }
}

static Index whole_lines(Index elements) { return elements < 64 ? 64 : elements / 64 * 64; }

static void cut(Plan *plan, int item_bytes) {
    BlockPlan *blocks = &plan->blocks;
    blocks->rank = plan->result.rank;
    for (int axis = 0; axis < blocks->rank; axis++) blocks->shape[axis] = plan->result.shape[axis];
    Index fitting = MOST_WORKSPACE / (plan->register_count * item_bytes); /* into the workspace; half: the cache */
    Index most = fitting / 2 < LEAST_BLOCK_ELEMENTS ? LEAST_BLOCK_ELEMENTS : fitting / 2;
    if (most > MOST_BLOCK_ELEMENTS) most = MOST_BLOCK_ELEMENTS;
    plan->far = bytes_touched(plan) >= FAR_BYTES;
    if (plan->far) most = FAR_BLOCK_BYTES / item_bytes;
    if (most > fitting) most = fitting;
    Index largest_tile = fitting < LARGEST_TILE ? fitting : LARGEST_TILE;
    blocks_plan(blocks, whole_lines(most), whole_lines(largest_tile));
    plan->space_bytes = (int)rounded_up(blocks->block_elements * item_bytes, 64);
    plan->flat = blocks->rank == 1;
    for (int k = 0; k < blocks->operand_count; k++) plan->flat = plan->flat && blocks->operands[k].access != COPIED;
    plan->block_kernels = SIMD_CHOICE(block_kernels);
    plan->streamed = plan->result.bytes >= STREAMED_BYTES;
    give_spaces(plan);
}

static PyObject *elementwise(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (count != 5)
        return PyErr_Format(PyExc_TypeError, "elementwise takes a shape, a type, operands, a program and constants");
    Plan *plan = calloc(1, sizeof(Plan));
    if (plan == NULL) return PyErr_NoMemory();
    if (array_form_read(&plan->result, arguments[0], arguments[1]) < 0 || read_operands_of(plan, arguments[2]) < 0 ||
        read_constants(plan, arguments[4]) < 0 || read_program(plan, arguments[3]) < 0) {
        free(plan);
        return NULL;
    }
    cut(plan, widest_element(plan, arguments[3]));
    return kernel_new("elementwise", call, plan, free);
}

/* For each operation, the names of the types that it has loops for. */
static PyObject *elementwise_operations(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    const ElementwiseKernels *kernels = SIMD_CHOICE(elementwise_kernels);
    PyObject *found = PyDict_New();
    for (int operation = 0; found != NULL && operation < LOOPED_OPERATIONS + MATH_FUNCTIONS; operation++) {
        bool looped = operation < LOOPED_OPERATIONS;
        const char *name =
            looped ? OPERATION_NAMES[operation] : math_name((MathFunction)(operation - LOOPED_OPERATIONS));
        PyObject *types = PyList_New(0);
        for (int type = 0; types != NULL && type < ELEMENT_TYPES; type++) {
            if (looped ? kernels->loops[operation][type] == NULL : type > F64) continue;
            PyObject *type_name = PyUnicode_FromString(element_type_name((ElementType)type));
            if (type_name == NULL || PyList_Append(types, type_name) < 0) Py_CLEAR(types);
            Py_XDECREF(type_name);
        }
        if (types == NULL || PyDict_SetItemString(found, name, types) < 0) Py_CLEAR(found);
        Py_XDECREF(types);
    }
    return found;
}

PyMethodDef elementwise_functions[] = {
    {"elementwise_operations", elementwise_operations, METH_NOARGS, "The types of operands, by operation."},
    {"elementwise", (PyCFunction)(void (*)(void))elementwise, METH_FASTCALL, "A kernel that runs a program."},
    {NULL, NULL, 0, NULL},
};
