/* Plans of the elementwise machine: reads and checks programs, and cuts results into blocks.
 *
 * Python gives the program as tuples (operation, type of the operands, target, first, second, third[, fourth]) over
 * numbered registers: first the operands, then the constants, then blocks of workspace. The target of the last instruction is
 * the result. Whatever an instruction reads must hold elements of its type, or at least of their size.
 */
#include "elementwise/elementwise_plan.h"
#include "core/arguments.h"
#include "core/kernel.h"
#include "core/topics.h"
#include "elementwise/vectormath.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_WORKSPACE = 1 << 16, /* bytes of a thread */
    MOST_BLOCK_ELEMENTS = 1024,
    LEAST_BLOCK_ELEMENTS = 256,
    LARGEST_TILE = 1024,
    TURNED_ROWS = 128, /* of a tile of an operation that turns it in registers */
    TURNED_BYTES = 512,
    LONG_ROW = 256,       /* elements of a row that has blocks by itself, unless no operand is copied */
    SHORTEST_STEPS = 16,  /* elements that are apart, along the innermost axis, for a loop of their own */
    LONG_BLOCK = 1 << 13, /* elements, about, where no workspace is needed */
    FUNCTION_COST = 4,    /* of a function of vectormath.h, in other operations */
};
static const double NANOSECONDS = 0.5; /* an element operation, between those in the cache and those from memory */

/* Each function that reads returns 0, or -1 with an exception set. */

static int refuse(const char *what) {
    PyErr_Format(PyExc_ValueError, "elementwise: %s", what);
    return -1;
}

static bool is_tuple(PyObject *object, const char *what) {
    if (PyTuple_Check(object)) return true;
    PyErr_Format(PyExc_TypeError, "elementwise: %s, found %R", what, object);
    return false;
}

/* held[k] becomes the size in bytes of the elements that register k holds. */
static int read_operands_of(ElementwisePlan *plan, PyObject *operands, int *held, Operand *bound) {
    if (!is_tuple(operands, "operands are a tuple")) return -1;
    if (PyTuple_GET_SIZE(operands) > MOST_OPERANDS) return refuse("too many operands");
    plan->blocks.operand_count = plan->first_constant = (int)PyTuple_GET_SIZE(operands);
    for (int k = 0; k < plan->blocks.operand_count; k++) {
        BlockOperand *operand = &plan->blocks.operands[k];
        PyObject *pair = PyTuple_GET_ITEM(operands, k);
        if (!is_tuple(pair, "an operand is (strides, type)")) return -1;
        if (PyTuple_GET_SIZE(pair) != 2) return refuse("an operand is (strides, type)");
        StridedLayout layout;
        const int type = element_type_read(PyTuple_GET_ITEM(pair, 1));
        if (type < 0 || !layout_read(&layout, &plan->result, PyTuple_GET_ITEM(pair, 0), (ElementType)type)) return -1;
        memcpy(operand->strides, layout.strides, (size_t)layout.rank * sizeof(Index));
        operand->item_bytes = held[k] = layout.item_bytes;
        bound[k] = (Operand){(ElementType)type, layout.reach, false};
        plan->types[k] = (ElementType)type;
        plan->argument_of[k] = k;
    }
    return 0;
}

/* For each operand the argument of a call that it is, and whether that is a number; of how many; and the fallback. */
static int read_numbers(ElementwisePlan *plan, PyObject *arguments, PyObject *argument_count, PyObject *fallback,
                        const Operand *bound) {
    const long most = PyLong_AsLong(argument_count);
    if (most == -1 && PyErr_Occurred()) return -1;
    if (!is_tuple(arguments, "arguments are a tuple")) return -1;
    if (PyTuple_GET_SIZE(arguments) != plan->blocks.operand_count || !PyCallable_Check(fallback))
        return refuse("there is one argument to each operand, and a fallback");
    if (most < 1 || most > INT32_MAX) return refuse("a call has at least one argument");
    for (int k = 0; k < plan->blocks.operand_count; k++) {
        Index pair[2];
        const int count = indices_read(pair, 2, PyTuple_GET_ITEM(arguments, k));
        if (count < 0) return -1;
        if (count != 2 || pair[0] < 0 || pair[0] >= most) return refuse("there is no such argument");
        plan->argument_of[k] = (int)pair[0];
        plan->is_number[k] = pair[1] != 0;
        if (plan->is_number[k] && (bound[k].reach.low != 0 || bound[k].reach.high != 0))
            return refuse("a number is one element");
    }
    plan->argument_count = (int)most;
    plan->fallback = Py_NewRef(fallback);
    return 0;
}

static int read_constants(ElementwisePlan *plan, PyObject *constants, int *held) {
    if (!is_tuple(constants, "constants are a tuple")) return -1;
    if (PyTuple_GET_SIZE(constants) + plan->first_constant > MOST_REGISTERS) return refuse("too many constants");
    plan->constant_count = (int)PyTuple_GET_SIZE(constants);
    for (int k = 0; k < plan->constant_count; k++) {
        char *bytes;
        Py_ssize_t length;
        if (PyBytes_AsStringAndSize(PyTuple_GET_ITEM(constants, k), &bytes, &length) < 0) return -1;
        if (length != 1 && length != 4 && length != 8 && length != 16) return refuse("a constant is one element");
        memcpy(plan->constants[k], bytes, (size_t)length);
        plan->constant_bytes[k] = held[plan->first_constant + k] = (int)length;
    }
    return 0;
}

static int find_loop(Instruction *instruction, PyObject *name, ElementType type) {
    if (!PyUnicode_Check(name)) {
        PyErr_Format(PyExc_TypeError, "elementwise: an operation is named by a string, found %R", name);
        return -1;
    }
    const int operation = name_read(name, OPERATION_NAMES, OPERATIONS);
    const int function = name_read(name, MATH_NAMES, MATH_FUNCTIONS);
    if (operation >= 0) {
        const ElementwiseKernels *kernels = SIMD_CHOICE(elementwise_kernels);
        instruction->loop = kernels->loops[operation][type];
        instruction->steps = kernels->steps[operation][type];
        if (kernels->turned[operation][type][0] != NULL) instruction->turned = kernels->turned[operation][type];
        if (kernels->rows[operation][type][0] != NULL) instruction->rows = kernels->rows[operation][type];
        instruction->widens = operation_widens((Operation)operation);
        instruction->operand_count = OPERATION_OPERANDS[operation];
        instruction->chooses = operation == WHERE;
        instruction->result = operation_result((Operation)operation, type);
        instruction->cost = operation_is_function((Operation)operation) ? FUNCTION_COST : 1;
    } else if (function >= 0) {
        const MathLoop found = math_loop((MathFunction)function, type);
        instruction->loop = found.loop;
        instruction->function = found.function;
        instruction->operand_count = math_operands((MathFunction)function);
        instruction->result = type;
        instruction->cost = FUNCTION_COST;
    }
    if (instruction->loop != NULL) return 0;
    PyErr_Format(PyExc_ValueError, "elementwise: there is no instruction %R for this type", name);
    return -1;
}

/* Whether the registers that an instruction reads hold elements of the right size; notes what it writes. */
static int check_registers(const Instruction *instruction, int type, int *held) {
    for (int k = 0; k < instruction->operand_count; k++) {
        const int expected = instruction->chooses && k == 0 ? ELEMENT_BYTES[BOOL] : ELEMENT_BYTES[type];
        if (held[instruction->operands[k]] != expected)
            return refuse("an instruction reads elements of another size than those of its type");
    }
    held[instruction->target] = ELEMENT_BYTES[instruction->result];
    return 0;
}

static int read_instruction(ElementwisePlan *plan, Instruction *instruction, PyObject *tuple, int *held) {
    static const char *const FORM = "an instruction is (operation, type, target, first, second, third[, fourth])";
    if (!is_tuple(tuple, FORM)) return -1;
    const int count = (int)PyTuple_GET_SIZE(tuple);
    if (count != 6 && count != 7) return refuse(FORM);
    int type = element_type_read(PyTuple_GET_ITEM(tuple, 1));
    if (type < 0 || find_loop(instruction, PyTuple_GET_ITEM(tuple, 0), (ElementType)type) < 0) return -1;
    if (instruction->operand_count > count - 3) return refuse(FORM);
    for (int k = 0; k < count - 2; k++) {
        long number = PyLong_AsLong(PyTuple_GET_ITEM(tuple, 2 + k));
        if (number == -1 && PyErr_Occurred()) return -1;
        if (number < 0 || number >= MOST_REGISTERS) return refuse("there is no such register");
        if (k == 0 && number < plan->first_constant + plan->constant_count)
            return refuse("operands and constants are not written to");
        if (k == 0) instruction->target = (int)number;
        else instruction->operands[k - 1] = (int)number;
        if (number >= plan->register_count) plan->register_count = (int)number + 1;
    }
    return check_registers(instruction, type, held);
}

static int read_program(ElementwisePlan *plan, PyObject *program, int *held) {
    if (!is_tuple(program, "a program is a tuple of instructions")) return -1;
    const Py_ssize_t count = PyTuple_GET_SIZE(program);
    if (count < 1 || count > MOST_INSTRUCTIONS) return refuse("too many instructions, or none");
    plan->register_count = plan->first_constant + plan->constant_count;
    plan->instruction_count = (int)count;
    plan->cost = 0;
    for (int k = 0; k < count; k++) {
        if (read_instruction(plan, &plan->instructions[k], PyTuple_GET_ITEM(program, k), held) < 0) return -1;
        plan->cost += plan->instructions[k].cost;
    }
    if (plan->instructions[count - 1].result != plan->result.type)
        return refuse("the last instruction does not compute elements of the result's type");
    return 0;
}

/* Bytes of the widest element in any register: of operands, constants and results of instructions. */
static int widest_element(const ElementwisePlan *plan, PyObject *program) {
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

/* Bytes of the result and of the elements of operands. */
static size_t bytes_touched(const ElementwisePlan *plan) {
    size_t bytes = plan->result.bytes;
    for (int k = 0; k < plan->blocks.operand_count; k++) {
        size_t elements = 1;
        for (int axis = 0; axis < plan->result.rank; axis++)
            if (plan->blocks.operands[k].strides[axis] != 0) elements *= (size_t)plan->result.shape[axis];
        bytes += elements * (size_t)plan->blocks.operands[k].item_bytes;
    }
    return bytes;
}

/* Workspace for operands that are not read in place, for constants, and for results but the last, which is written
 * where it belongs unless it is streamed there. */
static void give_spaces(ElementwisePlan *plan) {
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

/* Whether one operand of the only instruction, which has such loops, is one number along the innermost axis. */
static bool goes_by_rows(ElementwisePlan *plan) {
    const Instruction *only = &plan->instructions[0];
    const BlockOperand *operands = plan->blocks.operands;
    const int inner = plan->blocks.rank - 1;
    for (int first = 0; only->rows != NULL && first < 2; first++) {
        const int number = only->operands[first], row = only->operands[1 - first];
        if (number >= plan->blocks.operand_count || row >= plan->blocks.operand_count) return false; /* constants */
        if (operands[number].strides[inner] != 0 || operands[row].strides[inner] != 1) continue;
        plan->by_rows = only->rows[first];
        plan->number = number;
        plan->row = row;
    }
    return plan->by_rows != NULL;
}

/* Whether elements of an operand of the only instruction, which has such a loop, are apart along the innermost axis. Read so,
 * 5e5 sums of every second element take 170 us, and 197 where blocks of either operand are made compact first. */
static bool goes_by_steps(ElementwisePlan *plan) {
    const Instruction *only = &plan->instructions[0];
    const BlockOperand *operands = plan->blocks.operands;
    const int inner = plan->blocks.rank - 1, first = only->operands[0], second = only->operands[1];
    if (only->steps == NULL || plan->blocks.shape[inner] < SHORTEST_STEPS) return false;
    if (first >= plan->blocks.operand_count || second >= plan->blocks.operand_count) return false; /* constants */
    const Index steps[] = {operands[first].strides[inner], operands[second].strides[inner]};
    if (steps[0] < 0 || steps[1] < 0 || (steps[0] <= 1 && steps[1] <= 1)) return false;
    plan->by_steps = only->steps;
    plan->number = first;
    plan->row = second;
    return true;
}

/* Whether one operand of the only instruction, which has such loops, is turned, and the other is not. */
static bool goes_by_tiles(ElementwisePlan *plan) {
    const Instruction *only = &plan->instructions[0];
    const BlockOperand *operands = plan->blocks.operands;
    const int inner = plan->blocks.rank - 1, across = plan->blocks.row_axis;
    for (int first = 0; only->turned != NULL && first < 2; first++) {
        const int turned = only->operands[first], other = only->operands[1 - first];
        if (turned >= plan->blocks.operand_count || other >= plan->blocks.operand_count) return false; /* constants */
        const Index step = operands[other].strides[inner];
        if (operands[turned].strides[across] != 1 || step < 0 || step > 1) continue;
        plan->by_tiles = only->turned[first];
        plan->number = turned;
        plan->row = other;
    }
    return plan->by_tiles != NULL;
}

/* One operation that needs no workspace: with fewer, longer blocks sums within the cache take 0.95 of the time, and with
 * several rows of 256 to 1000 elements in a block, rows with a number each 0.5 to 0.9. A constant needs some, which would
 * leave the first-level cache (a maximum of 10^6 and 0 took 1.4 of the time). */
static void cut_longer(ElementwisePlan *plan) {
    BlockPlan *blocks = &plan->blocks;
    bool in_place = blocks->rank == 1 && plan->constant_count == 0;
    for (int k = 0; k < blocks->operand_count; k++) in_place = in_place && blocks->operands[k].access == IN_PLACE;
    if (!in_place && !goes_by_rows(plan) && !goes_by_steps(plan)) return;
    const Index size = plan->result.size, even = pieces(size, pieces(size, LONG_BLOCK));
    blocks_plan(blocks, rounded_up(even, 64), size, 0);
    for (int k = 0; k < blocks->operand_count; k++) blocks->operands[k].access = IN_PLACE;
}

static void cut(ElementwisePlan *plan, int item_bytes) {
    BlockPlan *blocks = &plan->blocks;
    blocks->rank = plan->result.rank;
    for (int axis = 0; axis < blocks->rank; axis++) blocks->shape[axis] = plan->result.shape[axis];
    Index fitting = MOST_WORKSPACE / (plan->register_count * item_bytes); /* into the workspace; half: the cache */
    Index most = fitting / 2 < LEAST_BLOCK_ELEMENTS ? LEAST_BLOCK_ELEMENTS : fitting / 2;
    if (most > MOST_BLOCK_ELEMENTS) most = MOST_BLOCK_ELEMENTS;
    /* data from main memory: short blocks, and while one is computed, a later one is fetched */
    const size_t touched = bytes_touched(plan);
    plan->far = touched >= cpu_far_bytes();
    if (plan->far) most = FAR_BLOCK_BYTES / item_bytes;
    if (most > fitting) most = fitting;
    Index largest_tile = fitting < LARGEST_TILE ? fitting : LARGEST_TILE;
    blocks_plan(blocks, whole_lines(most), LONG_ROW, whole_lines(largest_tile));
    if (plan->instruction_count == 1 && plan->cost == 1 && plan->result.size > 0 && blocks->row_axis < 0 && !plan->far)
        cut_longer(plan);
    if (plan->instruction_count == 1 && blocks->row_axis >= 0 && !plan->far && goes_by_tiles(plan)) {
        blocks_cut_tiles(blocks, TURNED_ROWS, TURNED_BYTES / item_bytes);
        for (int k = 0; k < blocks->operand_count; k++) blocks->operands[k].access = IN_PLACE;
        plan->tiles_past_cache = 2 * touched >= cpu_far_bytes();
    }
    plan->space_bytes = (int)rounded_up(blocks->block_elements * item_bytes, 64);
    plan->flat = blocks->rank == 1;
    for (int k = 0; k < blocks->operand_count; k++) plan->flat = plan->flat && blocks->operands[k].access != COPIED;
    plan->block_kernels = SIMD_CHOICE(block_kernels);
    plan->streamed = plan->far && plan->result.bytes >= cpu_streamed_elementwise_bytes();
    give_spaces(plan);
}

static void release(void *elementwise) {
    ElementwisePlan *plan = elementwise;
    Py_XDECREF(plan->fallback);
    free(plan);
}

/* bind_elementwise(shape, type, operands, program, constants[, arguments, their number, fallback]) */
static PyObject *bind_elementwise(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (count != 5 && count != 8)
        return PyErr_Format(PyExc_TypeError, "bind_elementwise takes a shape, a type, operands, a program, constants, "
                                             "and where some are numbers, arguments and a fallback");
    int held[MOST_REGISTERS] = {0};
    Operand bound[MOST_OPERANDS];
    ElementwisePlan *plan = calloc(1, sizeof(ElementwisePlan));
    if (plan == NULL) return PyErr_NoMemory();
    if (array_form_read(&plan->result, arguments[0], arguments[1]) < 0 ||
        read_operands_of(plan, arguments[2], held, bound) < 0 || read_constants(plan, arguments[4], held) < 0 ||
        read_program(plan, arguments[3], held) < 0 ||
        (count == 8 && read_numbers(plan, arguments[5], arguments[6], arguments[7], bound) < 0)) {
        release(plan);
        return NULL;
    }
    if (count == 5) plan->argument_count = plan->blocks.operand_count;
    cut(plan, widest_element(plan, arguments[3]));
    const int operands = plan->blocks.operand_count;
    const double nanoseconds = NANOSECONDS * (double)(plan->cost * plan->result.size);
    PyObject *kernel = kernel_new("elementwise", elementwise_call, plan, release);
    if (count == 5 && operands >= 1 && operands <= MOST_READ) {
        kernel = kernel_computes(kernel, elementwise_compute, &plan->result, nanoseconds);
        kernel = kernel_shared_from(kernel, 2.0 * NANOSECONDS * ELEMENTWISE_WORTH_A_THREAD);
    }
    return kernel_with_operands(kernel_makes(kernel, &plan->result, true), bound, operands);
}

/* For each operation, the names of the types that it has loops for. */
static PyObject *elementwise_operations(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    const ElementwiseKernels *kernels = SIMD_CHOICE(elementwise_kernels);
    PyObject *found = PyDict_New();
    for (int operation = 0; found != NULL && operation < OPERATIONS + MATH_FUNCTIONS; operation++) {
        bool looped = operation < OPERATIONS;
        const char *name = looped ? OPERATION_NAMES[operation] : MATH_NAMES[operation - OPERATIONS];
        PyObject *types = PyList_New(0);
        for (int type = 0; types != NULL && type < ELEMENT_TYPES; type++) {
            if (looped ? kernels->loops[operation][type] == NULL
                       : math_loop((MathFunction)(operation - OPERATIONS), (ElementType)type).loop == NULL)
                continue;
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
    {"bind_elementwise", (PyCFunction)(void (*)(void))bind_elementwise, METH_FASTCALL, "A kernel that runs a program."},
    {NULL, NULL, 0, NULL},
};
