/* Reductions over any axes; reduce.h says how sums keep their digits.
 *
 * Kept axes are loops, one step of which makes one result, or one row of them; the kept axis whose elements are
 * neighbours is cut into blocks of columns. Reduced axes are rows (or the elements of a line), and loops over bands of
 * rows. Where there are few columns and rows lie side by side, several rows count as one (wide) row, and what the wide
 * columns hold is folded at the end. Long reductions into few results are cut into chunks, so that threads can share
 * them.
 */
#include "reduction/reduce_plan.h"

#include "core/arguments.h"
#include "core/kernel.h"
#include "core/caching_allocator.h"
#include "core/threads.h"
#include "core/topics.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_WORKSPACE = 1 << 17, /* bytes of a thread: the partial folds of all levels */
    MOST_FOLDED_COLUMNS = 4096,
    MOST_ROWS = 1 << 12,          /* of a chunk; wide ones where rows are widened */
    LEAST_WIDENED = 64,           /* elements of rows, to be widened */
    LEAST_WIDENED_BAND = 1 << 10, /* where there are several bands, each of which is then a chunk */
    FEW_UNITS = 16,
    CHUNK_ELEMENTS = 1 << 17,
    WORTH_A_THREAD = 1 << 17,          /* elements */
    WORTH_RELEASING_THE_GIL = 1 << 14, /* elements */
    MOST_CENTRES = 512,                /* of a block of columns, where they have to be copied */
};

/* Folds of groups of rows, joined as a binary counter carries: level k, where bit k of groups is set, lies at
 * levels + (k + 1) * bytes, and the latest group, which is not among them, at levels. */
typedef struct {
    const ReductionPlan *plan;
    const double *centres; /* of the columns */
    char *levels, *packed;
    Index columns, bytes;
    Index groups, latest_rows;
} Cascade;

static Cascade cascade_of(const ReductionPlan *plan, const double *centres, char *levels, Index columns) {
    return (Cascade){.plan = plan,
                     .centres = centres,
                     .levels = levels,
                     .packed = levels + plan->workspace_bytes - plan->packed_bytes,
                     .columns = columns,
                     .bytes = columns * plan->fold_bytes};
}

static void fold_rows(const ReductionPlan *plan, Index rows, Index columns, Index row_stride, const char *source,
                      const double *centres, char *folds, bool begun) {
    if (plan->is_wide) plan->wide_loops.rows(rows, columns, row_stride, source, centres, folds, begun);
    else plan->loops.rows(rows, columns, row_stride, source, folds, begun);
}

static void join_level(const Cascade *cascade, int level) {
    char *held = cascade->levels + (level + 1) * cascade->bytes;
    cascade->plan->loops.join(cascade->columns, held, cascade->levels);
    memcpy(cascade->levels, held, (size_t)cascade->bytes);
}

static void begin_group(Cascade *cascade) {
    if (cascade->latest_rows == 0) return;
    int level = 0;
    for (; cascade->groups >> level & 1; level++) join_level(cascade, level);
    memcpy(cascade->levels + (level + 1) * cascade->bytes, cascade->levels, (size_t)cascade->bytes);
    cascade->groups++;
    cascade->latest_rows = 0;
}

/* What has been folded is then at levels. */
static void finish(const Cascade *cascade) {
    for (int level = 0; cascade->groups >> level; level++)
        if (cascade->groups >> level & 1) join_level(cascade, level);
}

/* Copies of all levels that a cascade of so many groups has, and of the latest group. */
static int level_count(Index groups) {
    int levels = 2; /* one more for the rest of fold_widened, whose rows are shorter than twice WIDE_ROW */
    for (; groups > 0; groups /= 2) levels++;
    return levels;
}

static void take_rows(const ReductionPlan *plan, Cascade *cascade, const char *source, Index rows, Index row_stride) {
    for (Index row = 0, count; row < rows; row += count) {
        if (cascade->latest_rows == ROWS_AT_ONCE) begin_group(cascade);
        count = smaller(rows - row, ROWS_AT_ONCE - cascade->latest_rows);
        fold_rows(plan, count, cascade->columns, row_stride, source + row * row_stride * plan->source_bytes,
                  cascade->centres, cascade->levels, cascade->latest_rows > 0);
        cascade->latest_rows += count;
    }
}

static void take_line(const ReductionPlan *plan, Cascade *cascade, const char *source, Index elements) {
    for (Index first = 0; first < elements; first += MOST_IN_LINE) {
        Index count = smaller(elements - first, MOST_IN_LINE);
        begin_group(cascade);
        const char *from = source + first * plan->row_stride * plan->source_bytes;
        if (plan->pack != NULL) {
            plan->pack(cascade->packed, from, 1, count, 0, plan->row_stride);
            from = cascade->packed;
        }
        if (plan->line_apart != NULL) plan->line_apart(count, from, plan->row_stride, cascade->levels);
        else if (plan->is_wide) plan->wide_loops.line(count, from, cascade->centres, cascade->levels);
        else plan->loops.line(count, from, cascade->levels);
        cascade->latest_rows = ROWS_AT_ONCE;
    }
}

/* Rows that lie side by side, several taken as one; those left over are a shorter one. */
static void fold_widened(const ReductionPlan *plan, const char *source, const double *centres, Index rows,
                         char *levels) {
    Index columns = plan->inner, wide_columns = plan->widening * columns;
    Index wide = rows / plan->widening, left = rows % plan->widening;
    char *rest = levels;
    if (wide > 0) {
        Cascade cascade = cascade_of(plan, centres, levels, wide_columns);
        take_rows(plan, &cascade, source, wide, wide_columns);
        finish(&cascade);
        rest += wide_columns * plan->fold_bytes;
    }
    if (left > 0)
        fold_rows(plan, 1, left * columns, 0, source + wide * wide_columns * plan->source_bytes, centres, rest, false);
    if (left > 0 && wide > 0) plan->loops.join(left * columns, levels, rest);
    plan->loops.parts(wide > 0 ? plan->widening : left, columns, levels);
}

static void fold_chunk(const ReductionPlan *plan, Index chunk, const char *source, const double *centres, Index columns,
                       char *levels) {
    Index first_row = chunk % plan->row_chunks * plan->chunk_rows;
    Index rows = smaller(plan->rows - first_row, plan->chunk_rows);
    Index band = chunk / plan->row_chunks * plan->chunk_bands;
    Index end = smaller(plan->bands.steps, band + plan->chunk_bands);
    Cascade cascade = cascade_of(plan, centres, levels, columns);
    StridedWalk walk;
    for (loops_walk_start(&walk, &plan->bands, band); band < end; band++, loops_walk_step(&walk, &plan->bands)) {
        const char *from = source + (walk.offset[0] + first_row * plan->row_stride) * plan->source_bytes;
        if (plan->lines) take_line(plan, &cascade, from, rows);
        else if (plan->widening > 1) fold_widened(plan, from, centres, rows, levels); /* the only band of the chunk */
        else take_rows(plan, &cascade, from, rows, plan->row_stride);
    }
    finish(&cascade);
}

static void put(const ReductionPlan *plan, char *target, const char *folds, Index columns) {
    const Index bytes = plan->fold_bytes, step = plan->column_place * bytes;
    if (plan->column_place == 1) memcpy(target, folds, (size_t)(columns * bytes));
    else
        for (Index column = 0; column < columns; column++)
            memcpy(target + column * step, folds + column * bytes, (size_t)bytes);
}

/* The centres of a block of columns, side by side and repeated for rows that are widened: in place, or in room. */
static const double *centres_of(const ReductionPlan *plan, const double *centres, Index columns, double *room) {
    if (centres == NULL || (plan->column_place == 1 && plan->widening == 1)) return centres;
    for (Index part = 0; part < plan->widening; part++)
        for (Index column = 0; column < columns; column++)
            room[part * columns + column] = centres[column * plan->column_place];
    return room;
}

static void fold_units(void *context, Index begin, Index end) {
    const Run *run = context;
    const ReductionPlan *plan = run->plan;
    const Index per_step = plan->column_blocks * plan->chunks;
    _Alignas(64) char little[LITTLE_WORKSPACE];
    double room[MOST_CENTRES];
    char *levels = block_acquire(little, plan->workspace_bytes);
    if (levels == NULL) {
        atomic_store(run->out_of_memory, true);
        return;
    }
    StridedWalk walk;
    loops_walk_start(&walk, &plan->kept, begin / per_step);
    for (Index unit = begin; unit < end; unit++) {
        if (unit > begin && unit % per_step == 0) loops_walk_step(&walk, &plan->kept);
        Index chunk = unit % plan->chunks, first = unit / plan->chunks % plan->column_blocks * plan->columns;
        Index columns = smaller(plan->inner - first, plan->columns);
        const char *source = run->source + (plan->start + walk.offset[0] + first) * plan->source_bytes;
        Index result = walk.offset[1] + first * plan->column_place;
        const bool finishes = plan->is_wide && plan->chunks == 1;
        const Index item = finishes ? ELEMENT_BYTES[plan->result.type] : plan->fold_bytes;
        char *target = run->partial + (chunk * plan->results + result) * item;
        const double *centres = centres_of(plan, run->centres == NULL ? NULL : run->centres + result, columns, room);
        fold_chunk(plan, chunk, source, centres, columns, plan->in_place ? target : levels);
        if (finishes) finish_wide(plan, target, plan->in_place ? target : levels, columns, plan->column_place);
        else if (!plan->in_place) put(plan, target, levels, columns);
    }
    block_release(levels, plan->workspace_bytes);
}

static void fold_everything(const ReductionPlan *plan, Run *run) {
    Index units = plan->kept.steps * plan->column_blocks * plan->chunks;
    Index cost = plan->chunk_rows * plan->chunk_bands * plan->columns;
    parallel_for(units, WORTH_A_THREAD / (cost + 1) + 1, fold_units, run);
    Index bytes = plan->results * plan->fold_bytes;
    for (Index step = 1; step < plan->chunks; step *= 2) /* pairwise again */
        for (Index chunk = 0; chunk + step < plan->chunks; chunk += 2 * step)
            plan->loops.join(plan->results, run->partial + chunk * bytes, run->partial + (chunk + step) * bytes);
}

/* What chunks are folded to, before they are joined; with one it is the result. */
static size_t partial_bytes(const ReductionPlan *plan) {
    return (size_t)(plan->results * plan->fold_bytes * plan->chunks);
}

HOT static PyObject *call(PyObject *self, PyObject *const *arguments, size_t flagged_count, PyObject *names) {
    const ReductionPlan *plan = kernel_plan(self);
    const int count = plan->centred ? 2 : 1;
    if (!kernel_takes_arrays(self, flagged_count, names, arguments, count)) return NULL;
    PyObject *result = array_new(&plan->result);
    if (result == NULL) return NULL;
    atomic_bool out_of_memory = false;
    Run run = {.plan = plan,
               .source = array_data(arguments[0]),
               .partial = array_data(result),
               .out_of_memory = &out_of_memory};
    if (plan->centred) run.centres = (const double *)array_data(arguments[1]);
    const size_t bytes = partial_bytes(plan);
    if (plan->chunks > 1 && (run.partial = scratch_acquire(bytes)) == NULL) {
        Py_DECREF(result);
        return PyErr_NoMemory();
    }
    if (plan->elements <= WORTH_RELEASING_THE_GIL) fold_everything(plan, &run);
    else {
        Py_BEGIN_ALLOW_THREADS fold_everything(plan, &run);
        Py_END_ALLOW_THREADS
    }
    if (plan->chunks > 1) {
        if (plan->is_wide) finish_wide(plan, array_data(result), run.partial, plan->results, 1);
        else memcpy(array_data(result), run.partial, plan->result.bytes);
        scratch_release(run.partial, bytes);
    }
    if (!atomic_load(&out_of_memory)) return result;
    Py_DECREF(result);
    return PyErr_NoMemory();
}

/* Blocks, chunks and levels; they depend on the extents alone. */
static void cut(ReductionPlan *plan) {
    const bool apart = plan->row_stride > 1 && plan->row_stride <= FARTHEST_NEXT;
    plan->lines = plan->inner == 1 && (plan->row_stride == 1 || apart);
    if (plan->lines && apart && !plan->is_wide) plan->line_apart = plan->loops.line_apart;
    if (plan->lines && apart && plan->line_apart == NULL) {
        plan->pack = SIMD_CHOICE(block_kernels)->copy[__builtin_ctz((unsigned)plan->source_bytes)];
        plan->packed_bytes = (size_t)rounded_up(smaller(plan->rows, MOST_IN_LINE) * plan->source_bytes, CACHE_LINE);
    }
    plan->widening = 1;
    Index least_widened = plan->bands.steps > 1 ? LEAST_WIDENED_BAND : LEAST_WIDENED;
    if (!plan->lines && plan->row_stride == plan->inner && plan->rows * plan->inner >= least_widened)
        while (plan->widening * plan->inner < WIDE_ROW) plan->widening *= 2;
    plan->columns = smaller(plan->inner, plan->centred && plan->column_place != 1 ? MOST_CENTRES : MOST_FOLDED_COLUMNS);
    plan->column_blocks = pieces(plan->inner, plan->columns);
    Index group = plan->lines ? MOST_IN_LINE : ROWS_AT_ONCE * plan->widening;
    Index most = MOST_ROWS / ROWS_AT_ONCE * group;
    if (plan->kept.steps * plan->column_blocks < FEW_UNITS)
        most = smaller(most, rounded_up(CHUNK_ELEMENTS / plan->columns, group));
    plan->chunk_rows = smaller(plan->rows, most);
    plan->chunk_bands = plan->widening > 1 ? 1 : smaller(plan->bands.steps, most / plan->chunk_rows);
    plan->row_chunks = pieces(plan->rows, plan->chunk_rows);
    plan->chunks = pieces(plan->bands.steps, plan->chunk_bands) * plan->row_chunks;
    Index groups = plan->lines ? plan->chunk_bands * pieces(plan->chunk_rows, group)
                               : plan->chunk_bands * plan->chunk_rows / group + 1;
    plan->in_place = !plan->lines && plan->widening == 1 && plan->column_place == 1 &&
                     plan->chunk_bands * plan->chunk_rows <= ROWS_AT_ONCE &&
                     ELEMENT_BYTES[plan->result.type] >= plan->fold_bytes;
    Index level_bytes = level_count(groups) * plan->fold_bytes; /* of one column */
    plan->columns = smaller(plan->columns, MOST_WORKSPACE / level_bytes);
    plan->column_blocks = pieces(plan->inner, plan->columns);
    plan->workspace_bytes = plan->in_place ? 0 : (size_t)(plan->columns * plan->widening * level_bytes);
    if (plan->packed_bytes > 0) /* behind the folds, where a line begins */
        plan->workspace_bytes = (size_t)rounded_up((Index)plan->workspace_bytes, CACHE_LINE) + plan->packed_bytes;
}

static const char *const FOLD_NAMES[FOLDS] = {"sum", "prod", "max", "min"};
static const char *const WIDE_NAMES[WIDE_FOLDS] = {"total", "squares", "deviations", "sizes", "largest"};

static int read_fold(ReductionPlan *plan, PyObject *name, PyObject *type_name) {
    const int type = element_type_read(type_name);
    if (type < 0) return -1;
    const ElementType result = plan->result.type;
    const bool in_parts = (result == C64 && type == F64) || (result == C32 && type == F32);
    const int parts = in_parts ? 2 : 1; /* columns of their own */
    ElementType folded = (ElementType)type;
    plan->source_bytes = ELEMENT_BYTES[type];
    plan->fold_bytes = ELEMENT_BYTES[result] / parts;
    plan->results = plan->result.size * parts;
    const int fold = name_read(name, FOLD_NAMES, FOLDS);
    if (fold >= 0) plan->loops = SIMD_CHOICE(reduce_kernels)->loops[fold][type];
    if ((type == I32 || type == BOOL) && (fold == SUM || fold == PRODUCT)) folded = I64;
    const int wide = name_read(name, WIDE_NAMES, WIDE_FOLDS);
    if (wide >= 0 && SIMD_CHOICE(wide_kernels)->loops[wide][type].rows != NULL &&
        (result == F64 || result == (ElementType)type)) {
        plan->wide_loops = SIMD_CHOICE(wide_kernels)->loops[wide][type];
        plan->loops.join = plan->wide_loops.join;
        plan->loops.parts = plan->wide_loops.parts;
        plan->is_wide = true;
        plan->fold_bytes = ELEMENT_BYTES[F64];
        plan->centred = wide == DEVIATIONS;
        return 0;
    }
    if (plan->loops.rows != NULL && (result == folded || in_parts)) return 0;
    PyErr_Format(PyExc_ValueError, "bind_reduce: there is no reduction %R of %R to %s", name, type_name,
                 element_type_name(result));
    return -1;
}

/* Reads a tuple of axes, (extent, stride, place) each, and adds them to what the kernel reaches; the place of a reduced
 * axis means nothing. */
static bool loops_read(Loops *loops, PyObject *tuple, Reach *reach) {
    loops->rank = tuple_length(tuple, MAX_RANK, "axes");
    if (loops->rank < 0) return false;
    loops->steps = 1;
    for (int axis = 0; axis < loops->rank; axis++) {
        Index numbers[3];
        const int count = indices_read(numbers, 3, PyTuple_GET_ITEM(tuple, axis));
        if (count < 0) return false;
        if (count != 3 || numbers[0] < 1) {
            PyErr_Format(PyExc_ValueError, "bind_reduce: expected an extent above 0, a stride and a place, found %R",
                         PyTuple_GET_ITEM(tuple, axis));
            return false;
        }
        if (!reach_read(reach, numbers[0], numbers[1])) return false;
        loops->axes[axis] = (Axis){numbers[0], numbers[1], numbers[2]};
        loops->steps *= numbers[0]; /* no more than the operand has elements */
    }
    return true;
}

/* Whether the columns and the kept axes lead to every result, and to nothing beyond. */
static bool fills_result(const ReductionPlan *plan) {
    const Index most = plan->results;
    Index last = 0, reach;
    for (int axis = -1; axis < plan->kept.rank; axis++) {
        const Index extent = axis < 0 ? plan->inner : plan->kept.axes[axis].extent;
        const Index place = axis < 0 ? plan->column_place : plan->kept.axes[axis].place;
        if (extent == 1) continue;
        if (place < 1 || __builtin_mul_overflow(extent - 1, place, &reach) || reach >= most) return false;
        last += reach; /* of at most 65 axes, each below the number of results */
        if (last >= most) return false;
    }
    return last == most - 1;
}

/* The struct Loops of tensor_cpu.kernels.reduction.native. */
static bool axes_read(ReductionPlan *plan, PyObject *loops, Reach *source) {
    const Member members[] = {{"start", &plan->start},
                              {"columns", &plan->inner},
                              {"column_place", &plan->column_place},
                              {"rows", &plan->rows},
                              {"row_stride", &plan->row_stride}};
    if (!members_read(members, 5, loops) || !reach_read(&(Reach){1, 0, 0}, 2, plan->start)) return false;
    Reach reach = NO_AXES;
    PyObject *kept = PyObject_GetAttrString(loops, "kept"),
             *bands = kept ? PyObject_GetAttrString(loops, "bands") : NULL;
    const bool good = bands != NULL && loops_read(&plan->kept, kept, &reach) && loops_read(&plan->bands, bands, &reach);
    Py_XDECREF(kept);
    Py_XDECREF(bands);
    if (!good || !reach_read(&reach, plan->rows, plan->row_stride) || !reach_read(&reach, plan->inner, 1)) return false;
    plan->elements = reach.size;
    *source = (Reach){reach.size, plan->start + reach.low, plan->start + reach.high};
    if (reach.size > 0 && plan->kept.steps * plan->inner == plan->results && fills_result(plan)) return true;
    PyErr_SetString(PyExc_ValueError, "bind_reduce: the extents do not fit the result");
    return false;
}

/* bind_reduce(fold, type of the operand, shape, type of the result, loops[, divisor, whether the root is taken]) */
static PyObject *bind_reduce(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *fold, *type, *shape, *result_type, *loops;
    double divisor = 1;
    int root = 0;
    if (!PyArg_ParseTuple(arguments, "OOOOO|dp:bind_reduce", &fold, &type, &shape, &result_type, &loops, &divisor,
                          &root))
        return NULL;
    ReductionPlan *plan = calloc(1, sizeof(ReductionPlan));
    if (plan == NULL) return PyErr_NoMemory();
    Operand operands[] = {{F64, NO_AXES, false}, {F64, NO_AXES, false}};
    plan->divisor = divisor;
    plan->root = root;
    if (array_form_read(&plan->result, shape, result_type) == 0 && read_fold(plan, fold, type) == 0 &&
        axes_read(plan, loops, &operands[0].reach)) {
        cut(plan);
        operands[1].reach = compact_reach(plan->results); /* of the centres */
        operands[0].type = (ElementType)element_type_read(type);
        PyObject *kernel = kernel_makes(kernel_new("reduce", call, plan, free), &plan->result, false);
        if (plan->chunks > 1) kernel = kernel_with_workspace(kernel, partial_bytes(plan));
        return kernel_with_operands(kernel, operands, plan->centred ? 2 : 1);
    }
    free(plan);
    return NULL;
}

PyMethodDef reduce_functions[] = {
    {"bind_reduce", bind_reduce, METH_VARARGS, "A kernel that folds any axes."},
    {NULL, NULL, 0, NULL},
};
