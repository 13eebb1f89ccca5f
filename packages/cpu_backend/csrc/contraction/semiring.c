/* Matrix products in algebras (max-plus, min-plus, max-times, or-and), of operands with any strides.
 *
 * The loops over blocks are those of Goto and van de Geijn (Anatomy of High-Performance Matrix Multiplication, ACM
 * Transactions on Mathematical Software 34, 2008): DEPTH contracted indices and COLUMNS columns of the right operand
 * are packed at a time, then ROWS rows of the left one for each part that a thread works on; simd/semiring.c
 * multiplies what is packed. Rows, columns, contracted and batch indices are groups of axes (groups.h); the offsets of
 * the indices of one block at a time stand for any strides, so nothing is copied beforehand, and workspace is bounded.
 *
 * A product with one row copies nothing but that row; the matrix is read where it lies.
 *
 * Threads share the products of a batch where these are small, and the blocks of each product where not.
 */
#include "contraction/semiring.h"
#include "core/arguments.h"
#include "contraction/groups.h"
#include "core/kernel.h"
#include "contraction/pack.h"
#include "core/caching_allocator.h"
#include "core/threads.h"
#include "core/topics.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { DEPTH = 256, COLUMNS = 1024, ROWS = 96 };
_Static_assert(ROWS % LEFT_WIDTH == 0, "a block of rows is made of whole panels");
enum { PARTS_PER_THREAD = 4 };
enum { WORTH_A_THREAD = 1 << 18 };              /* products: 20 microseconds at least */
enum { WORTH_RELEASING_THE_GIL = 1 << 16 };     /* products */
enum { TERMS_OF_LARGE_PRODUCT = 1 << 22 };      /* shared among threads by itself */
static const Role LEFT = FIRST, RIGHT = SECOND; /* of the product, in the groups */

enum { BATCH, ROW, COLUMN, INNER, GROUPS };

typedef struct {
    ArrayForm result;
    SemiringLoops loops;
    Pack *pack;
    int element_bytes;
    int left_argument; /* which of the two operands is the left one */
    bool is_line;      /* a vector times a matrix of which one index is consecutive */
    Group groups[GROUPS];
} SemiringPlan;

/* One product of the batch. */
typedef struct {
    const SemiringPlan *plan;
    const char *operands[2]; /* left, right */
    char *result;
    atomic_bool *out_of_memory;
    const char *panels; /* of the right operand */
    const unsigned char *marks;
    Index first_inner, depth, first_column, column_count; /* what is packed */
    Index row_step, column_step, column_parts;            /* how the block is cut for threads */
    const Index *along_left, *columns;                    /* offsets */
} Product;

/* Whether neighbouring indices of the group are neighbours in the right operand. */
static bool is_consecutive(const Group *group) {
    return group->rank == 0 || (group->rank == 1 && group->axes[0].stride[RIGHT] == 1);
}

static size_t bytes_of(Index offsets) { return (size_t)rounded_up(offsets, 8) * sizeof(Index); }

/* Copies the elements at across[i] + along[k] into panels of this width, and notes what each contains. */
static void pack(const SemiringPlan *plan, char *panels, unsigned char *marks, const char *source, const Index *across,
                 Index breadth, const Index *along, Index depth, Index width) {
    for (Index i = 0; i < breadth; i += width, panels += width * depth * plan->element_bytes) {
        plan->pack(panels, source, across + i, along, smaller(breadth - i, width), depth, width);
        *marks++ = plan->loops.marks(panels, width * depth);
    }
}

/* Of the rows that a part packs. */
static size_t bytes_of_part(const Product *product) {
    return (size_t)(product->row_step * product->depth * product->plan->element_bytes);
}

/* Parts of a block: some of its rows, and a run of its packed columns. */
static void multiply_parts(void *context, Index begin, Index end) {
    const Product *product = context;
    const SemiringPlan *plan = product->plan;
    const size_t bytes = bytes_of_part(product);
    _Alignas(64) char little[LITTLE_WORKSPACE];
    char *panels = block_acquire(little, bytes);
    if (panels == NULL) {
        atomic_store(product->out_of_memory, true);
        return;
    }
    for (Index part = begin, packed = -1; part < end; part++) {
        Index first_row = part / product->column_parts * product->row_step;
        Index first_column = part % product->column_parts * product->column_step;
        Index row_count = smaller(plan->groups[ROW].size - first_row, product->row_step);
        unsigned char marks[ROWS / LEFT_WIDTH];
        Index across[ROWS], rows[ROWS];
        if (first_row != packed) {
            group_offsets(across, &plan->groups[ROW], LEFT, first_row, row_count);
            pack(plan, panels, marks, product->operands[LEFT], across, row_count, product->along_left, product->depth,
                 LEFT_WIDTH);
            packed = first_row;
        }
        group_offsets(rows, &plan->groups[ROW], RESULT, first_row, row_count);
        plan->loops.multiply(&(Block){
            .left = panels,
            .right = product->panels + first_column * product->depth * plan->element_bytes,
            .left_marks = marks,
            .right_marks = product->marks + first_column / plan->loops.right_width,
            .depth = product->depth,
            .result = product->result,
            .rows = rows,
            .columns = product->columns + first_column,
            .row_count = row_count,
            .column_count = smaller(product->column_count - first_column, product->column_step),
            .continues = product->first_inner > 0,
        });
    }
    block_release(panels, bytes);
}

/* How many rows and columns one part has, so that there are enough parts for all threads. */
static void cut(Product *product) {
    Index rows = product->plan->groups[ROW].size, width = product->plan->loops.right_width;
    Index wanted = threads_get() == 1 ? 1 : (Index)threads_get() * PARTS_PER_THREAD;
    product->row_step = smaller(ROWS, rounded_up(pieces(rows, wanted), LEFT_WIDTH));
    Index row_parts = pieces(rows, product->row_step);
    Index column_parts = pieces(wanted, row_parts);
    product->column_step = rounded_up(pieces(product->column_count, column_parts), width);
    product->column_parts = pieces(product->column_count, product->column_step);
}

static Index parts_of_block(const Product *product) {
    return pieces(product->plan->groups[ROW].size, product->row_step) * product->column_parts;
}

/* The fewest parts of a block that are worth a thread. */
static Index grain_of_block(const Product *product) {
    return WORTH_A_THREAD / (product->row_step * product->column_step * product->depth);
}

/* Parts of the product of a vector, the only row of the left operand, and a matrix that is read where it lies. */
static void multiply_line_parts(void *context, Index begin, Index end) {
    const Product *product = context;
    const SemiringPlan *plan = product->plan;
    const Group *inner = &plan->groups[INNER];
    Index along[DEPTH], along_left[DEPTH], here = 0;
    int64_t vector[DEPTH]; /* of elements of any type that has loops */
    _Static_assert(sizeof *vector >= sizeof(double), "room for the widest elements");
    const size_t bytes = bytes_of(product->column_step);
    Index *across = block_scratch_acquire(2 * bytes), *columns = across + product->column_step;
    if (across == NULL) {
        atomic_store(product->out_of_memory, true);
        return;
    }
    for (Index part = begin; part < end; part++) {
        Index first = part * product->column_step;
        Index count = smaller(plan->groups[COLUMN].size - first, product->column_step);
        group_offsets(across, &plan->groups[COLUMN], RIGHT, first, count);
        group_offsets(columns, &plan->groups[COLUMN], RESULT, first, count);
        for (Index k = 0; k < inner->size; k += DEPTH) {
            Index depth = smaller(inner->size - k, DEPTH);
            group_offsets(along, inner, RIGHT, k, depth);
            group_offsets(along_left, inner, LEFT, k, depth);
            plan->pack(vector, product->operands[LEFT], &here, along_left, 1, depth, 1);
            plan->loops.multiply_line(&(Line){.vector = (const char *)vector,
                                              .matrix = product->operands[RIGHT],
                                              .along = along,
                                              .across = across,
                                              .across_is_consecutive = is_consecutive(&plan->groups[COLUMN]),
                                              .depth = depth,
                                              .column_count = count,
                                              .result = product->result,
                                              .columns = columns,
                                              .continues = k > 0});
        }
    }
    block_scratch_release(across, 2 * bytes);
}

/* How many columns one part has. */
static Index line_step(const SemiringPlan *plan) {
    Index parts = (Index)threads_get() * PARTS_PER_THREAD;
    Index step = rounded_up(pieces(plan->groups[COLUMN].size, parts), LINE_COLUMNS / 16);
    return threads_get() == 1 ? LINE_COLUMNS : smaller(step, LINE_COLUMNS);
}

/* The fewest parts, of so many columns, that are worth a thread. */
static Index line_grain(const SemiringPlan *plan, Index step) {
    return WORTH_A_THREAD / (step * plan->groups[INNER].size);
}

static void multiply_line(Product *product) {
    const SemiringPlan *plan = product->plan;
    const Index step = line_step(plan);
    product->column_step = step;
    parallel_for(pieces(plan->groups[COLUMN].size, step), line_grain(plan, step), multiply_line_parts, product);
}

/* Of the tables and panels of a block's columns. */
static size_t bytes_of_product(const SemiringPlan *plan) {
    const Index columns = smaller(plan->groups[COLUMN].size, COLUMNS), depth = smaller(plan->groups[INNER].size, DEPTH);
    return 2 * bytes_of(columns) + (size_t)(rounded_up(columns, plan->loops.right_width) * depth * plan->element_bytes);
}

static void multiply_matrices(Product *product) {
    const SemiringPlan *plan = product->plan;
    const Group *column = &plan->groups[COLUMN], *inner = &plan->groups[INNER];
    const Index width = plan->loops.right_width;
    const size_t table_bytes = bytes_of(smaller(column->size, COLUMNS)), bytes = bytes_of_product(plan);
    char *workspace = block_scratch_acquire(bytes), *panels = workspace + 2 * table_bytes;
    if (workspace == NULL) {
        atomic_store(product->out_of_memory, true);
        return;
    }
    Index along_left[DEPTH], along_right[DEPTH];
    Index *across = (Index *)workspace, *columns = (Index *)(workspace + table_bytes);
    unsigned char marks[COLUMNS];
    product->panels = panels;
    product->marks = marks;
    product->along_left = along_left;
    product->columns = columns;
    for (Index j = 0; j < column->size; j += COLUMNS) {
        product->column_count = smaller(column->size - j, COLUMNS);
        group_offsets(across, column, RIGHT, j, product->column_count);
        group_offsets(columns, column, RESULT, j, product->column_count);
        cut(product);
        for (Index k = 0; k < inner->size; k += DEPTH) {
            product->first_inner = k;
            product->depth = smaller(inner->size - k, DEPTH);
            group_offsets(along_left, inner, LEFT, k, product->depth);
            group_offsets(along_right, inner, RIGHT, k, product->depth);
            pack(plan, panels, marks, product->operands[RIGHT], across, product->column_count, along_right,
                 product->depth, width);
            parallel_for(parts_of_block(product), grain_of_block(product), multiply_parts, product);
        }
    }
    block_scratch_release(workspace, bytes);
}

static void multiply_batch(void *context, Index begin, Index end) {
    const Product *first = context;
    const Group *batch = &first->plan->groups[BATCH];
    int bytes = first->plan->element_bytes;
    for (Index i = begin; i < end; i++) {
        StridedWalk at;
        group_walk_start(&at, batch, i);
        Product product = *first;
        product.operands[LEFT] += at.offset[LEFT] * bytes;
        product.operands[RIGHT] += at.offset[RIGHT] * bytes;
        product.result += at.offset[RESULT] * bytes;
        (first->plan->is_line ? multiply_line : multiply_matrices)(&product);
    }
}

static double terms_of(const SemiringPlan *plan) {
    const Group *groups = plan->groups;
    return (double)groups[ROW].size * (double)groups[COLUMN].size * (double)groups[INNER].size;
}

/* The fewest products that are worth a thread; all of them where each is shared. */
static Index batch_grain(const SemiringPlan *plan) {
    const double terms = terms_of(plan);
    return terms > TERMS_OF_LARGE_PRODUCT ? plan->groups[BATCH].size : 1 + (Index)(WORTH_A_THREAD / terms);
}

static bool compute_product(const void *semiring, const char *const *operands, char *result) {
    const SemiringPlan *plan = semiring;
    atomic_bool out_of_memory = false;
    Product product = {.plan = plan,
                       .operands = {operands[plan->left_argument], operands[1 - plan->left_argument]},
                       .result = result,
                       .out_of_memory = &out_of_memory};
    const Index count = plan->groups[BATCH].size;
    if (terms_of(plan) * (double)count < WORTH_RELEASING_THE_GIL) multiply_batch(&product, 0, count);
    else parallel_for(count, batch_grain(plan), multiply_batch, &product);
    return !atomic_load(&out_of_memory);
}

static int semiring_read(PyObject *name) {
    static const char *const NAMES[SEMIRINGS] = {"max_plus", "min_plus", "max_times", "or_and"};
    int semiring = name_read(name, NAMES, SEMIRINGS);
    if (semiring < 0) PyErr_Format(PyExc_ValueError, "%R is no algebra with native loops", name);
    return semiring;
}

/* bind_semiring(algebra, dtype, result shape, (batch, rows, columns, inner), swapped): groups are those of
 * group_read(), with the left operand as the first. It is the second argument of the kernel if swapped. */
static PyObject *bind_semiring(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (!arguments_count("bind_semiring", count, 5,
                         "an algebra, a type, a shape, four groups of axes and a truth value"))
        return NULL;
    if (!PyTuple_Check(arguments[3]) || PyTuple_GET_SIZE(arguments[3]) != GROUPS)
        return PyErr_Format(PyExc_TypeError, "expected a tuple of four groups of axes, found %R", arguments[3]);
    const int semiring = semiring_read(arguments[0]), swapped = PyObject_IsTrue(arguments[4]);
    if (semiring < 0 || swapped < 0) return NULL;
    SemiringPlan *plan = malloc(sizeof *plan);
    if (plan == NULL) return PyErr_NoMemory();
    Group *groups = plan->groups;
    bool good = array_form_read(&plan->result, arguments[2], arguments[1]) == 0;
    for (int group = 0; good && group < GROUPS; group++)
        good = group_read(&groups[group], PyTuple_GET_ITEM(arguments[3], group)) == 0;
    if (good) {
        const Group *const kept[] = {&groups[BATCH], &groups[ROW], &groups[COLUMN]};
        good = groups_make_result(kept, 3, plan->result.size);
    }
    if (good) {
        plan->loops = SIMD_CHOICE(semiring_kernels)->loops[semiring][plan->result.type];
        good = plan->loops.right_width > 0;
        if (!good) PyErr_Format(PyExc_ValueError, "no native loops in %R for %R", arguments[0], arguments[1]);
    }
    if (!good) {
        free(plan);
        return NULL;
    }
    plan->element_bytes = ELEMENT_BYTES[plan->result.type];
    plan->pack = pack_of(SIMD_CHOICE(pack_kernels), plan->element_bytes);
    plan->left_argument = swapped;
    plan->is_line = groups[ROW].size == 1 && (is_consecutive(&groups[COLUMN]) || is_consecutive(&groups[INNER]));
    const Group *const all[] = {&groups[BATCH], &groups[ROW], &groups[COLUMN], &groups[INNER]};
    const ElementType type = plan->result.type;
    const double nanoseconds =
        WORTH_NO_GIL / WORTH_RELEASING_THE_GIL * terms_of(plan) * (double)plan->groups[BATCH].size;
    PyObject *kernel = kernel_new("semiring_contract", kernel_call, plan, free);
    kernel = kernel_computes(kernel, compute_product, &plan->result, nanoseconds);
    return kernel_with_groups(kernel, type, all, GROUPS, swapped ? SECOND : FIRST, 0);
}

PyMethodDef semiring_functions[] = {
    {"bind_semiring", (PyCFunction)(void (*)(void))bind_semiring, METH_FASTCALL,
     "The kernel of a matrix product in an algebra."},
    {NULL, NULL, 0, NULL},
};
