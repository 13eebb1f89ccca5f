/* Reductions over one group of axes; reduce.h says how sums keep their digits.
 *
 * The operand is seen as (outer, reduced, inner). Columns are the innermost extent, in blocks; where there are few of
 * them and rows lie side by side, several rows count as one (wide) row, and what the wide columns hold is folded at the
 * end. Long reductions into few results are cut into chunks of rows, so that threads can share them.
 */
#include "reduce.h"

#include "arrays.h"
#include "kernel.h"
#include "pool.h"
#include "threads.h"
#include "topics.h"

#include <stdlib.h>
#include <string.h>

enum {
    WORKSPACE_BYTES = 1 << 17, /* of a thread: the partial folds of all levels */
    MOST_COLUMNS = 4096,
    MOST_ROWS = 1 << 12,       /* of a chunk; wide ones where rows are widened */
    FEW_UNITS = 16,
    CHUNK_ELEMENTS = 1 << 17,
    GRAIN = 1 << 16,           /* elements that are worth waking a thread for */
    ALONE = 1 << 14,
};

typedef struct {
    ArrayForm result;
    FoldLoops loops;
    int source_bytes, fold_bytes;
    Index outer, rows, inner;         /* extents */
    Index outer_stride, row_stride;   /* elements; of inner: 1 */
    Index widening;                   /* rows that count as one; a power of 2 */
    Index columns, column_blocks;     /* of a block; how many blocks */
    Index chunk_rows, chunks;
    bool lines;                       /* one group of neighbours each, so few that they are folded without levels */
} Plan;

typedef struct {
    const Plan *plan;
    const char *source;
    char *partial; /* folds of [chunk][outer][inner]; the result itself where there is one chunk */
} Run;

/* Folds rows into folds; levels is workspace for one row of folds per level and one more. */
static void fold_rows(const Plan *plan, const char *source, Index rows, Index columns, Index row_stride, char *levels) {
    Index bytes = columns * plan->fold_bytes;
    Index groups = 0;
    char *latest = levels;
    /* level k of the counter lies at levels + (k + 1) * bytes; the latest group at levels */
    for (Index row = 0; row < rows; row += ROWS_AT_ONCE, groups++) {
        Index count = rows - row < ROWS_AT_ONCE ? rows - row : ROWS_AT_ONCE;
        plan->loops.rows(count, columns, row_stride, source + row * row_stride * plan->source_bytes, latest);
        if (row + count == rows) break;
        int level = 0;
        for (; groups >> level & 1; level++) {
            char *held = levels + (level + 1) * bytes;
            plan->loops.join(columns, held, latest);
            memcpy(latest, held, (size_t)bytes);
        }
        memcpy(levels + (level + 1) * bytes, latest, (size_t)bytes);
    }
    for (int level = 0; groups >> level; level++) {
        if (!(groups >> level & 1)) continue;
        char *held = levels + (level + 1) * bytes;
        plan->loops.join(columns, held, latest);
        memcpy(latest, held, (size_t)bytes);
    }
}

/* Rows of folds that fold_rows needs: one for the latest group, and one for each digit of the number of groups. */
static int level_count(Index rows) {
    Index groups = (rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
    int levels = 2; /* of which fold_widened may use one for the rest */
    for (; groups > 0; groups /= 2) levels++;
    return levels;
}

/* Rows that lie side by side, several taken as one; those left over are a shorter one. */
static void fold_widened(const Plan *plan, const char *source, Index rows, char *levels) {
    Index columns = plan->inner, wide_columns = plan->widening * columns;
    Index wide = rows / plan->widening, left = rows % plan->widening;
    char *rest = levels;
    if (wide > 0) {
        fold_rows(plan, source, wide, wide_columns, wide_columns, levels);
        rest += wide_columns * plan->fold_bytes;
    }
    if (left > 0)
        plan->loops.rows(1, left * columns, 0, source + wide * wide_columns * plan->source_bytes, rest);
    if (left > 0 && wide > 0) plan->loops.join(left * columns, levels, rest);
    plan->loops.parts(wide > 0 ? plan->widening : left, columns, levels);
}

static void fold_units(void *context, Index begin, Index end) {
    const Run *run = context;
    const Plan *plan = run->plan;
    _Alignas(64) char levels[WORKSPACE_BYTES];
    for (Index unit = begin; unit < end; unit++) {
        Index chunk = unit % plan->chunks, rest = unit / plan->chunks;
        Index first_column = rest % plan->column_blocks * plan->columns, outer = rest / plan->column_blocks;
        Index columns = plan->inner - first_column < plan->columns ? plan->inner - first_column : plan->columns;
        Index first_row = chunk * plan->chunk_rows;
        Index rows = plan->rows - first_row < plan->chunk_rows ? plan->rows - first_row : plan->chunk_rows;
        const char *source = run->source + (outer * plan->outer_stride + first_row * plan->row_stride + first_column) *
                                               plan->source_bytes;
        char *target =
            run->partial + ((chunk * plan->outer + outer) * plan->inner + first_column) * plan->fold_bytes;
        if (plan->lines) {
            plan->loops.line(rows, source, target);
            continue;
        }
        if (plan->widening > 1) fold_widened(plan, source, rows, levels);
        else fold_rows(plan, source, rows, columns, plan->row_stride, levels);
        memcpy(target, levels, (size_t)(columns * plan->fold_bytes));
    }
}

static void fold_everything(const Plan *plan, const Run *run) {
    Index units = plan->outer * plan->column_blocks * plan->chunks;
    Index cost = plan->chunk_rows * plan->columns;
    parallel_for(units, GRAIN / (cost + 1) + 1, fold_units, (void *)run);
    Index results = plan->outer * plan->inner, bytes = results * plan->fold_bytes;
    for (Index step = 1; step < plan->chunks; step *= 2) /* pairwise again */
        for (Index chunk = 0; chunk + step < plan->chunks; chunk += 2 * step)
            plan->loops.join(results, run->partial + chunk * bytes, run->partial + (chunk + step) * bytes);
}

static PyObject *call(PyObject *self, PyObject *const *arguments, size_t flagged_count, PyObject *names) {
    const Plan *plan = kernel_plan(self);
    if (!kernel_takes(self, flagged_count, names, 1) || !are_arrays(arguments, 1)) return NULL;
    PyObject *result = array_new(&plan->result);
    if (result == NULL) return NULL;
    Run run = {plan, array_data(arguments[0]), array_data(result)};
    size_t bytes = plan->result.bytes * (size_t)plan->chunks;
    if (plan->chunks > 1 && (run.partial = pool_take(bytes)) == NULL) {
        Py_DECREF(result);
        return PyErr_NoMemory();
    }
    if (plan->outer * plan->rows * plan->inner <= ALONE) fold_everything(plan, &run);
    else {
        Py_BEGIN_ALLOW_THREADS
        fold_everything(plan, &run);
        Py_END_ALLOW_THREADS
    }
    if (plan->chunks > 1) {
        memcpy(array_data(result), run.partial, plan->result.bytes);
        pool_give(run.partial, bytes);
    }
    return result;
}

static void cut(Plan *plan) {
    plan->widening = 1;
    if (plan->row_stride == plan->inner)
        while (plan->widening * plan->inner < WIDE_ROW) plan->widening *= 2;
    Index most_rows = MOST_ROWS * plan->widening;
    plan->chunk_rows = plan->rows < most_rows ? plan->rows : most_rows;
    plan->columns = plan->inner < MOST_COLUMNS ? plan->inner : MOST_COLUMNS;
    plan->column_blocks = (plan->inner + plan->columns - 1) / plan->columns;
    if (plan->outer * plan->column_blocks < FEW_UNITS) {
        Index whole = plan->widening * ROWS_AT_ONCE;
        Index rows = (CHUNK_ELEMENTS / plan->columns + whole - 1) / whole * whole;
        if (rows < plan->chunk_rows) plan->chunk_rows = rows;
    }
    plan->chunks = (plan->rows + plan->chunk_rows - 1) / plan->chunk_rows;
    plan->lines = plan->inner == 1 && plan->row_stride == 1 && plan->rows >= WIDE_ROW &&
                  plan->rows <= ROWS_AT_ONCE * WIDE_ROW;
    int levels = level_count(plan->chunk_rows / plan->widening + 1);
    Index most_columns = WORKSPACE_BYTES / (levels * plan->fold_bytes);
    if (plan->columns > most_columns) plan->columns = most_columns;
    plan->column_blocks = (plan->inner + plan->columns - 1) / plan->columns;
}

static const char *const FOLD_NAMES[FOLDS] = {"sum", "prod", "max", "min"};

static int read_fold(Plan *plan, PyObject *name, PyObject *type_name) {
    int type = element_type_read(type_name);
    if (type < 0) return -1;
    plan->source_bytes = ELEMENT_BYTES[type];
    plan->fold_bytes = ELEMENT_BYTES[plan->result.type];
    for (int fold = 0; fold < FOLDS; fold++)
        if (PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, FOLD_NAMES[fold]) == 0)
            plan->loops = SIMD_CHOICE(reduce_kernels)->loops[fold][type];
    if (plan->loops.rows != NULL) return 0;
    PyErr_Format(PyExc_ValueError, "reduce: there is no reduction %R for %R", name, type_name);
    return -1;
}

static PyObject *reduce(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    Index numbers[5];
    if (count != 5)
        return PyErr_Format(PyExc_TypeError, "reduce takes an operation, a type, a shape, its type, and five numbers");
    Plan *plan = calloc(1, sizeof(Plan));
    if (plan == NULL) return PyErr_NoMemory();
    int found = -1;
    if (array_form_read(&plan->result, arguments[2], arguments[3]) == 0 &&
        read_fold(plan, arguments[0], arguments[1]) == 0)
        found = indices_read(numbers, 5, arguments[4]);
    if (found == 5 && numbers[0] > 0 && numbers[1] > 0 && numbers[2] > 0 &&
        numbers[0] * numbers[2] == plan->result.size) {
        plan->outer = numbers[0];
        plan->rows = numbers[1];
        plan->inner = numbers[2];
        plan->outer_stride = numbers[3];
        plan->row_stride = numbers[4];
        cut(plan);
        return kernel_new("reduce", call, plan, free);
    }
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "reduce: the extents do not fit the result");
    free(plan);
    return NULL;
}

PyMethodDef reduce_functions[] = {
    {"reduce", (PyCFunction)(void (*)(void))reduce, METH_FASTCALL, "A kernel that folds one group of axes."},
    {NULL, NULL, 0, NULL},
};
