/* The scatter GEMM: contractions as matrix products of operands with any strides, none of them permuted first.
 *
 * result[r + c] = sum over k of x[r + k] * y[k + c] for every index of the stacked axes, where r, c and k are entries
 * of offset tables, one table per group of axes and array. Both operands are packed through the tables, block by block
 * (pack.h), panels are multiplied in registers (simd/gemm.c), and the result is written through its tables, in its own
 * order. D. A. Matthews, "High-performance tensor contraction without transposition", SIAM J. Sci. Comput. 40
 * (2018); the blocks are those of F. G. Van Zee and R. A. van de Geijn, "BLIS", ACM Trans. Math. Softw. 41 (2015): one
 * of x stays in the second-level cache while the columns of y pass by.
 *
 * Where there are few columns, rows that are neighbours in x and in the result are read as they lie, and where there are
 * few rows, columns are, wherever they lie.
 *
 * Sums of more than DEPTH products, of STREAMS where rows are read as they lie, are taken block by block: the products
 * of a block are added up one after the other, in the order of k, and the sum of each further block is added to the
 * element of the result, which is read again.
 *
 * Where sums are short and the result is large, memory is what counts: blocks are computed in a buffer, and go from there
 * past the cache, column by column, so that no line of the result is read before it is written.
 *
 * Rows should be the axes among which the result's innermost one is: they become vectors. Stacked axes whose elements
 * share lines of the cache should be given as near ones: all their products of one block of rows and columns are
 * computed before the next block, while its lines are in the cache.
 *
 * The plan holds two tables for each of rows, columns and depth, of 8 bytes an entry (groups.h): 48 MiB at most, a
 * group of more than LONGEST_TABLE elements being refused; and two of a block in a buffer, of less than 2,000 entries together.
 */
#include "contraction/gemm.h"
#include "core/arguments.h"
#include "contraction/groups.h"
#include "core/kernel.h"
#include "core/caching_allocator.h"
#include "core/threads.h"
#include "core/topics.h"
#include "copy/permute.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
    DEPTH = 256,
    ROW_PANELS = 8,
    READ_ROW_PANELS = 6,
    STAGED_ROW_PANELS = 32,
    BLOCK_COLUMNS = 512,
    WORTH_A_THREAD = 1 << 19,
    WORTH_RELEASING_THE_GIL = 1 << 16
};
enum { FEWEST_COLUMNS = 32, MOST_LINES = 1 << 14 }; /* of a block whose elements lie in lines of their own */
enum { FEW_COLUMN_PANELS = 8, FEW_ROW_PANELS = 2, STREAMS = 32 };
enum { STAGED_DEPTH = 64, STAGED_BYTES = 1 << 16, SHORTEST_STAGED = 4 * CACHE_LINE };
enum { PARTS_OF_A_THREAD = 2 }; /* so that one that wakes late finds less left to do */

enum { ROWS_X, ROWS_RESULT, COLUMNS_Y, COLUMNS_RESULT, DEPTH_X, DEPTH_Y, STAGED_ROWS, STAGED_COLUMNS, TABLES };

typedef struct {
    ArrayForm result;
    GemmLoop loop;
    Pack *pack;
    Role x, y;         /* which operand has the rows, and which the columns */
    Group stack, near; /* the stacked axes, and those of them that are walked within a block */
    Index rows, columns, depth;
    bool leaves_cache[2];           /* the operands: what is packed next is asked for */
    bool reads_rows, reads_columns; /* as they lie: so few of the others would use them if they were packed */
    Index depth_step;               /* of a block */
    Index row_step, column_step;    /* of a block, for one thread */
    Index staged_columns;           /* that are computed in the buffer at a time; 0 where there is none */
    Index row_run;                  /* rows that follow one another in the result */
    Index *tables[TABLES];
    size_t x_bytes, y_bytes, staged_bytes; /* of the packed blocks and of the buffer */
} GemmPlan;

typedef struct {
    const GemmPlan *plan;
    const char *x, *y;
    char *result;
    Index column_step; /* of a block; rows have that of the plan */
    Index row_blocks, column_blocks;
    atomic_bool failed; /* for want of memory */
} Call;

/* Packs panels of `step` neighbours of an operand, the last one with as many whole multiples of `unit` as it needs. There
 * are `left` neighbours from the first one on. */
static void pack_block(const GemmPlan *plan, Role role, char *panels, const char *source, const Index *across,
                       const Index *along, Index count, Index left, Index depth, Index step, Index unit) {
    const Index bytes = ELEMENT_BYTES[plan->result.type];
    const bool is_far = plan->leaves_cache[role] && depth > 1 && along[1] != along[0] + 1;
    for (Index i = 0; i < count; i += step) {
        Index width = smaller(count - i, step), room = rounded_up(width, unit);
        if (is_far) /* strides of pages are beyond what processors foresee */
            for (Index k = 0; k < depth; k++)
                for (Index next = i + 2 * step; next < smaller(left, i + 3 * step); next += CACHE_LINE / bytes)
                    __builtin_prefetch(source + (across[next] + along[k]) * bytes);
        plan->pack(panels, source, across + i, along, width, depth, room);
        panels += room * depth * bytes;
    }
}

/* A block whose rows are neighbours: whole panels are read as they lie, the rows after them packed. */
static void multiply_rows_as_they_lie(const GemmPlan *plan, GemmBlock block, const char *x, Index row, Index k,
                                      char *packed_x, const char *packed_y, char *result) {
    const Index bytes = ELEMENT_BYTES[plan->result.type], whole = block.rows - block.rows % plan->loop.rows;
    const Index *const rows = plan->tables[ROWS_X] + row, *const products = plan->tables[DEPTH_X] + k;
    GemmBlock panel = block;
    panel.rows = plan->loop.rows;
    panel.x_products = products;
    for (Index i = 0; i < whole; i += panel.rows, panel.across += panel.rows)
        plan->loop.multiply(&panel, x + rows[i] * bytes, packed_y, result);
    block.rows -= whole;
    block.across += whole;
    if (block.rows == 0) return;
    pack_block(plan, plan->x, packed_x, x, rows + whole, products, block.rows, block.rows, block.depth, plan->loop.rows,
               plan->loop.lanes);
    plan->loop.multiply(&block, packed_x, packed_y, result);
}

/* What one thread works in: packed blocks of both operands, and a block of the result. */
typedef struct {
    char *x, *y, *staged;
} Workspace;

/* Multiplies a block whose columns are packed, or read where they lie from `y` on. */
static void multiply_block(const GemmPlan *plan, const GemmBlock *block, const char *x, Index row, Index k,
                           char *packed_x, const char *columns, char *result) {
    if (plan->reads_rows) multiply_rows_as_they_lie(plan, *block, x, row, k, packed_x, columns, result);
    else plan->loop.multiply(block, packed_x, columns, result);
}

/* The same through the buffer, some columns at a time. */
static void multiply_staged(const GemmPlan *plan, GemmBlock block, const char *x, Index row, char *packed_x,
                            const char *columns, char *staged, char *result) {
    const Index bytes = ELEMENT_BYTES[plan->result.type], whole = block.columns, run = plan->row_run;
    const Index *const across = block.across, *const along = block.along;
    block.across = plan->tables[STAGED_ROWS];
    block.along = plan->tables[STAGED_COLUMNS];
    for (Index column = 0; column < whole; column += plan->staged_columns) {
        block.columns = smaller(whole - column, plan->staged_columns);
        multiply_block(plan, &block, x, row, 0, packed_x, columns, staged);
        for (Index j = 0; j < block.columns; j++)
            for (Index i = 0, length; i < block.rows; i += length) {
                length = smaller(run - (row + i) % run, block.rows - i);
                SIMD_CHOICE(copy_kernels)
                    ->stream_run(staged + (i + block.along[j]) * bytes,
                                 result + (across[i] + along[column + j]) * bytes, length * bytes);
            }
        if (plan->reads_columns) block.y_columns += block.columns;
        else columns += block.columns * block.depth * bytes;
    }
}

/* Some row blocks of one column block. */
static void multiply(const Call *call, const Index *offset, Index first_row, Index last_row, Index column,
                     const Workspace *work) {
    const GemmPlan *plan = call->plan;
    const Index bytes = ELEMENT_BYTES[plan->result.type];
    const char *x = call->x + offset[plan->x] * bytes, *y = call->y + offset[plan->y] * bytes;
    char *result = call->result + offset[RESULT] * bytes;
    Index *const *tables = plan->tables;
    GemmBlock block = {.columns = smaller(plan->columns - column, call->column_step),
                       .along = tables[COLUMNS_RESULT] + column};
    for (Index k = 0; k < plan->depth; k += plan->depth_step) {
        block.depth = smaller(plan->depth - k, plan->depth_step);
        block.adds = k > 0;
        const char *columns = plan->reads_columns ? y : work->y;
        if (plan->reads_columns) {
            block.y_columns = tables[COLUMNS_Y] + column;
            block.y_products = tables[DEPTH_Y] + k;
        } else {
            pack_block(plan, plan->y, work->y, y, tables[COLUMNS_Y] + column, tables[DEPTH_Y] + k, block.columns,
                       plan->columns - column, block.depth, plan->loop.columns, plan->loop.columns);
        }
        for (Index row = first_row; row < last_row; row += plan->row_step) {
            block.rows = smaller(last_row - row, plan->row_step);
            block.across = tables[ROWS_RESULT] + row;
            if (!plan->reads_rows)
                pack_block(plan, plan->x, work->x, x, tables[ROWS_X] + row, tables[DEPTH_X] + k, block.rows,
                           plan->rows - row, block.depth, plan->loop.rows, plan->loop.lanes);
            if (plan->staged_columns > 0) multiply_staged(plan, block, x, row, work->x, columns, work->staged, result);
            else multiply_block(plan, &block, x, row, k, work->x, columns, result);
        }
    }
}

static void compute(void *context, Index begin, Index end) {
    Call *call = context;
    const GemmPlan *plan = call->plan;
    _Alignas(64) char little[LITTLE_WORKSPACE];
    const size_t needed = plan->x_bytes + plan->y_bytes + plan->staged_bytes;
    char *packed = block_acquire(little, needed);
    if (packed == NULL) {
        atomic_store(&call->failed, true);
        return;
    }
    const Workspace work = {packed, packed + plan->x_bytes, packed + plan->x_bytes + plan->y_bytes};
    /* Rows come fastest where nothing is near: then they share what is packed of the columns. */
    const Index near_size = plan->near.size;
    Index rest = begin / near_size, row = rest % call->row_blocks;
    rest /= call->row_blocks;
    Index column = rest % call->column_blocks, near_left = near_size - begin % near_size;
    StridedWalk far, near;
    group_walk_start(&far, &plan->stack, rest / call->column_blocks);
    group_walk_start(&near, &plan->near, begin % near_size);
    while (begin < end) {
        const Index count = near_size > 1 ? 1 : smaller(end - begin, call->row_blocks - row);
        Index offset[ROLES];
        for (int role = 0; role < ROLES; role++) offset[role] = far.offset[role] + near.offset[role];
        multiply(call, offset, row * plan->row_step, smaller((row + count) * plan->row_step, plan->rows),
                 column * call->column_step, &work);
        begin += count;
        if (near_size > 1) group_walk_step(&near, &plan->near);
        if (--near_left > 0) continue;
        near_left = near_size;
        row += count;
        if (row < call->row_blocks) continue;
        row = 0;
        if (++column < call->column_blocks) continue;
        column = 0;
        group_walk_step(&far, &plan->stack);
    }
    if (plan->staged_columns > 0) SIMD_CHOICE(copy_kernels)->finish_stream();
    block_release(packed, needed);
}

static double terms_of(const GemmPlan *plan) { return (double)plan->result.size * (double)plan->depth; }

/* Narrower blocks than one thread would take, until there are some for each; their rows are packed for each of them. How
 * many parts there are. */
static Index choose_parts(Call *call) {
    const GemmPlan *plan = call->plan;
    const int threads = terms_of(plan) < 2 * WORTH_A_THREAD ? 1 : threads_for_caller();
    const Index stacked = plan->stack.size * plan->near.size, unit = plan->loop.columns;
    /* Beside few rows, what is packed of them is much of the work of a block. */
    const Index wanted = (plan->reads_columns ? 1 : PARTS_OF_A_THREAD) * (Index)threads;
    call->row_blocks = pieces(plan->rows, plan->row_step);
    for (call->column_step = plan->column_step;; call->column_step = rounded_up(call->column_step / 2, unit)) {
        call->column_blocks = pieces(plan->columns, call->column_step);
        const Index parts = stacked * call->row_blocks * call->column_blocks;
        if (threads < 2 || parts >= wanted || call->column_step < 2 * FEWEST_COLUMNS) return parts;
    }
}

/* The fewest parts, of so many, that are worth a thread. */
static Index grain_of(const GemmPlan *plan, Index parts) {
    return 1 + (Index)(WORTH_A_THREAD * (double)parts / terms_of(plan));
}

static bool compute_gemm(const void *gemm, const char *const *operands, char *result) {
    const GemmPlan *plan = gemm;
    Call call = {.plan = plan, .x = operands[plan->x], .y = operands[plan->y], .result = result};
    atomic_init(&call.failed, false);
    const Index parts = choose_parts(&call);
    if (terms_of(plan) < WORTH_RELEASING_THE_GIL) compute(&call, 0, parts);
    else parallel_for(parts, grain_of(plan, parts), compute, &call);
    return !atomic_load(&call.failed);
}

static void release(void *memory) {
    GemmPlan *plan = memory;
    for (int i = 0; i < TABLES; i++) free(plan->tables[i]);
    free(plan);
}

static int make_tables(GemmPlan *plan, const Group *rows, const Group *columns, const Group *depth) {
    const Group *groups[STAGED_ROWS] = {rows, rows, columns, columns, depth, depth};
    const Role roles[STAGED_ROWS] = {plan->x, RESULT, plan->y, RESULT, plan->x, plan->y};
    for (int i = 0; i < STAGED_ROWS; i++) {
        plan->tables[i] = group_table(groups[i], roles[i]);
        if (plan->tables[i] == NULL) return -1;
    }
    return 0;
}

/* Packing is worth what is read several times: by each panel of columns, or of rows. Few columns meet blocks of so few
 * products that each of their columns of x is a stream of lines, which processors fetch ahead. Of Bool, packing makes
 * the 1 that the loops multiply by. */
static void choose_packing(GemmPlan *plan) {
    const Index row_panels = pieces(plan->rows, plan->loop.rows);
    const bool may_read = plan->result.type != BOOL;
    plan->reads_rows = may_read && plan->rows >= plan->loop.rows &&
                       plan->columns <= FEW_COLUMN_PANELS * plan->loop.columns &&
                       offsets_are_consecutive(plan->tables[ROWS_X], plan->rows) &&
                       offsets_are_consecutive(plan->tables[ROWS_RESULT], plan->rows);
    plan->reads_columns = may_read && !plan->reads_rows && row_panels <= FEW_ROW_PANELS;
    plan->depth_step = smaller(plan->depth, plan->reads_rows ? STREAMS : DEPTH);
}

/* Short sums that go past the cache. */
static bool may_stage(const GemmPlan *plan) {
    return results_stream(&plan->result) && plan->depth <= smaller(plan->depth_step, STAGED_DEPTH) &&
           plan->near.size == 1;
}

/* Where columns go past the cache, memory takes long runs of them in less time than short ones. */
static Index panels_of_block(const GemmPlan *plan) {
    if (plan->reads_rows) return READ_ROW_PANELS;
    return may_stage(plan) ? STAGED_ROW_PANELS : ROW_PANELS;
}

static void choose_blocks(GemmPlan *plan) {
    const Index bytes = ELEMENT_BYTES[plan->result.type], depth = plan->depth_step;
    const Index panels = pieces(plan->rows, plan->loop.rows);
    const Index blocks = pieces(panels, panels_of_block(plan));
    plan->row_step = pieces(panels, blocks) * plan->loop.rows; /* blocks of about equal height */
    plan->column_step = smaller(BLOCK_COLUMNS, rounded_up(plan->columns, plan->loop.columns));
    /* What is near an element is in its line of the cache, which then counts whole. */
    while (plan->near.size > 1 && plan->column_step > FEWEST_COLUMNS && plan->column_step * depth > MOST_LINES)
        plan->column_step = rounded_up(plan->column_step / 2, plan->loop.columns);
    const Index lanes = rounded_up(smaller(plan->rows, plan->row_step), plan->loop.lanes);
    plan->x_bytes = (size_t)rounded_up(lanes * depth * bytes, 64);
    plan->y_bytes = (size_t)(rounded_up(smaller(plan->columns, plan->column_step), plan->loop.columns) * depth * bytes);
}

/* How many rows follow one another in the result, by the innermost axes of their group. */
static Index run_of(const Group *rows) {
    Index run = 1;
    for (int axis = rows->rank - 1; axis >= 0 && rows->axes[axis].stride[RESULT] == run; axis--)
        run *= rows->axes[axis].extent;
    return run;
}

/* Whether blocks pass through a buffer, and its tables; -1 with an exception set. */
static int choose_staging(GemmPlan *plan, const Group *rows) {
    const Index bytes = ELEMENT_BYTES[plan->result.type], height = smaller(plan->rows, plan->row_step);
    plan->row_run = run_of(rows);
    if (!may_stage(plan) || smaller(plan->row_run, height) * bytes < SHORTEST_STAGED) return 0;
    plan->staged_columns =
        smaller(rounded_up(pieces(STAGED_BYTES, height * bytes), plan->loop.columns), plan->column_step);
    plan->staged_bytes = (size_t)(height * plan->staged_columns * bytes);
    plan->tables[STAGED_ROWS] = malloc((size_t)height * sizeof(Index));
    plan->tables[STAGED_COLUMNS] = malloc((size_t)plan->staged_columns * sizeof(Index));
    if (plan->tables[STAGED_ROWS] == NULL || plan->tables[STAGED_COLUMNS] == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Index row = 0; row < height; row++) plan->tables[STAGED_ROWS][row] = row;
    for (Index column = 0; column < plan->staged_columns; column++)
        plan->tables[STAGED_COLUMNS][column] = column * height;
    return 0;
}

static PyObject *bind_gemm(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    Group rows, columns, depth;
    if (!arguments_count("bind_gemm", count, 8, "a type, a shape, five groups of axes and a truth value")) return NULL;
    GemmPlan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) return PyErr_NoMemory();
    const int rows_are_second = PyObject_IsTrue(arguments[7]);
    if (rows_are_second < 0 || array_form_read(&plan->result, arguments[1], arguments[0]) < 0 ||
        group_read(&plan->stack, arguments[2]) < 0 || group_read(&rows, arguments[3]) < 0 ||
        group_read(&columns, arguments[4]) < 0 || group_read(&depth, arguments[5]) < 0 ||
        group_read(&plan->near, arguments[6]) < 0 ||
        !groups_make_result((const Group *[]){&plan->stack, &plan->near, &rows, &columns}, 4, plan->result.size)) {
        release(plan);
        return NULL;
    }
    plan->x = rows_are_second ? SECOND : FIRST;
    plan->y = rows_are_second ? FIRST : SECOND;
    plan->rows = rows.size;
    plan->columns = columns.size;
    plan->depth = depth.size;
    const ElementType type = plan->result.type;
    plan->loop = SIMD_CHOICE(gemm_kernels)->of_type[type];
    plan->pack = pack_of(SIMD_CHOICE(pack_kernels), ELEMENT_BYTES[type]);
    if (make_tables(plan, &rows, &columns, &depth) < 0) {
        release(plan);
        return NULL;
    }
    choose_packing(plan);
    choose_blocks(plan);
    if (choose_staging(plan, &rows) < 0) {
        release(plan);
        return NULL;
    }
    const Index entries = 2 * (rows.size + columns.size + depth.size);
    const Group *const groups[] = {&plan->stack, &plan->near, &rows, &columns, &depth};
    for (int role = FIRST; role <= SECOND; role++) {
        const Reach reach = groups_reach(groups, 5, (Role)role);
        plan->leaves_cache[role] = (reach.high - reach.low) * ELEMENT_BYTES[type] > CACHED_BYTES;
    }
    const double nanoseconds = WORTH_NO_GIL / WORTH_RELEASING_THE_GIL * terms_of(plan);
    PyObject *kernel = kernel_new("contract_scatter", kernel_call, plan, release);
    kernel = kernel_computes(kernel, compute_gemm, &plan->result, nanoseconds);
    kernel = kernel_shared_from(kernel, 2.0 * WORTH_NO_GIL / WORTH_RELEASING_THE_GIL * WORTH_A_THREAD);
    return kernel_with_groups(kernel, type, groups, 5, FIRST, entries);
}

PyMethodDef gemm_functions[] = {
    {"bind_gemm", (PyCFunction)(void (*)(void))bind_gemm, METH_FASTCALL,
     "A kernel of a stack of matrix products whose axes are groups of axes of the operands."},
    {NULL, NULL, 0, NULL},
};
