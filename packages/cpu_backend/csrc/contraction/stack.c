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
#include "contraction/stack_plan.h"
#include "core/arguments.h"
#include "core/caching_allocator.h"
#include "core/kernel.h"
#include "core/topics.h"

#include <stdlib.h>

enum { PACKED_AT_ONCE = LITTLE_WORKSPACE / 2 };
enum { MANY_LINES = 64, WIDE_BYTES = 1 << 17, MOST_WIDE = 4 };
enum { LONG_SUM = 64, SUM_STEP = 8, BLOCK_ROWS = 1 << 12, FEWEST_ROWS = 256, BLOCK_COLUMNS = 256 };

static bool compute_stack(const void *stack, const char *const *operands, char *result) {
    const StackPlan *plan = stack;
    return stack_run(plan, operands[plan->x], operands[plan->y], result);
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
    if (many) {
        const Index wide = smaller(MOST_WIDE, 1 + WIDE_BYTES / (wider * p->depth * plan->lanes * bytes));
        plan->lanes *= smaller(wide, pieces(plan->near, plan->lanes));
    }
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
        if (p->columns > 2 * BLOCK_COLUMNS)
            plan->column_step = block_columns(p->rows * ELEMENT_BYTES[plan->result.type]);
        if (p->depth > LONG_SUM && p->columns <= SUM_STEP && p->rows > LONG_SUM) plan->sum_step = SUM_STEP;
    }
    const Index bytes = plan->row_step * plan->column_step * ELEMENT_BYTES[plan->result.type];
    plan->stages = plan->lanes == 0 && results_stream(&plan->result) && plan->row_step == p->rows &&
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
        .streams = results_stream(&plan->result),
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
    return kernel_with_groups(kernel_shared_from(kernel, 2 * STACK_WORTH_A_THREAD), type, groups, 5, FIRST, entries);
}

PyMethodDef stack_functions[] = {
    {"bind_stack", (PyCFunction)(void (*)(void))bind_stack, METH_FASTCALL,
     "A kernel of small matrix products, or of one with few columns, that takes operands as they lie."},
    {NULL, NULL, 0, NULL},
};
