/* Elements and slices at places that index values name: read, written over what is there, or added to it.
 *
 * An entry of the indices has one number for each component; the sum of these, times strides, is where in the operand a
 * slice starts. All slices have the same axes: one of them is the run, which is innermost; for each position on the others
 * the entries are gone through in order, so that of several which name one place the last one is written last. An index
 * out of range leaves everything, unwritten, to a fallback, which raises the error.
 */
#include "core/arguments.h"
#include "core/caching_allocator.h"
#include "core/kernel.h"
#include "core/moved_bytes.h"
#include "core/threads.h"
#include "core/topics.h"
#include "lines/moves.h"
#include "lines/read_at.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { WORTH_A_THREAD = 1 << 14, WORTH_RELEASING_THE_GIL = 1 << 14 }; /* elements */
enum { BLOCK = 512, MOST_COMPONENTS = 8, MOST_OTHERS = 16 };

typedef enum { READ, REPLACE, ADD, PUT, MODES } Mode;
static const char *const NAMES[MODES] = {"take", "scatter", "scatter", "put_along_axis"};

typedef struct {
    Index offset; /* of its numbers, from where the indices begin */
    Index extent; /* added to a negative number, 0 where none is accepted */
    Index last;   /* the largest one accepted */
    Index stride; /* in the operand */
} Component;

typedef struct {
    ArrayForm result; /* of a reading or a copy; puts have none */
    Mode mode;
    ElementType type, index_type;
    Move move;
    ReadAt read; /* in its place, for single elements in a line */
    SliceAxis run, others[MOST_OTHERS];
    Component components[MOST_COMPONENTS];
    int other_count, component_count;
    Index count, index_step, step; /* entries; from one to the next in the indices, and on the other side */
    Index outer;                   /* runs of an entry */
    Index lines, rows,
        slab; /* of entries that lie in lines side by side, which have places of their own: lines beside each
                              * other, entries of these, and the operand's elements of these; else 0 */
    PyObject *fallback;
} PlacesPlan;

static Move move_for(Mode mode, ElementType type) {
    if (mode == ADD) return ADDING[type];
    switch (ELEMENT_BYTES[type]) {
    case 1: return mode == READ ? read_1 : write_1;
    case 4: return mode == READ ? read_4 : write_4;
    case 8: return mode == READ ? read_8 : write_8;
    default: return mode == READ ? read_16 : write_16;
    }
}

/* A number out of range leads to the place of 0, and the sign of what is returned says that there was one. */
#define PLACES_OF(name, T)                                                                                             \
    static inline Index add_##name(const T *numbers, Index step, const Component component, bool first, Index count,   \
                                   Index *places) {                                                                    \
        Index outside = 0;                                                                                             \
        for (Index i = 0; i < count; i++) {                                                                            \
            const Index given = numbers[i * step], from = given + (component.extent & given >> 63);                    \
            const Index beyond = (from | (component.last - from)) >> 63; /* all ones, or 0 */                          \
            outside |= beyond;                                                                                         \
            const Index place = (from & ~beyond) * component.stride;                                                   \
            places[i] = first ? place : places[i] + place;                                                             \
        }                                                                                                              \
        return outside;                                                                                                \
    }                                                                                                                  \
    static bool name(const PlacesPlan *plan, const void *indices, Index begin, Index end, Index *places) {             \
        Index outside = 0;                                                                                             \
        for (int c = 0; c < plan->component_count; c++) {                                                              \
            const Component component = plan->components[c];                                                           \
            const T *numbers = (const T *)indices + component.offset + begin * plan->index_step;                       \
            if (plan->index_step == 1 && component.stride == 1)                                                        \
                outside |= add_##name(numbers, 1, (Component){0, component.extent, component.last, 1}, c == 0,         \
                                      end - begin, places);                                                            \
            else outside |= add_##name(numbers, plan->index_step, component, c == 0, end - begin, places);             \
        }                                                                                                              \
        return outside == 0;                                                                                           \
    }
PLACES_OF(places_of_32, int32_t)
PLACES_OF(places_of_64, int64_t)

static bool places_of(const PlacesPlan *plan, const void *indices, Index begin, Index end, Index *places) {
    return plan->index_type == I32 ? places_of_32(plan, indices, begin, end, places)
                                   : places_of_64(plan, indices, begin, end, places);
}

static void add_lines(const PlacesPlan *plan, Index *places) {
    Index base = 0;
    for (Index slab = 0; slab < plan->count; slab += plan->rows, base += plan->slab)
        for (Index row = slab; row < slab + plan->rows; row += plan->lines)
            for (Index line = 0; line < plan->lines; line++) places[row + line] += base + line;
}

typedef struct {
    const PlacesPlan *plan;
    const void *indices;
    const Index *table; /* of all entries; NULL: each piece of the work makes its own */
    char *operand, *other;
    atomic_bool outside;
} Job;

/* Entries begin to end of the run with this number. */
static void move_run(const Job *job, Index number, const Index *places, Index begin, Index end) {
    const PlacesPlan *plan = job->plan;
    const Index bytes = ELEMENT_BYTES[plan->type];
    Index operand = 0, other = begin * plan->step;
    for (int axis = plan->other_count - 1; axis >= 0; axis--) {
        const SliceAxis *slice = &plan->others[axis];
        operand += number % slice->extent * slice->stride;
        other += number % slice->extent * slice->other;
        number /= slice->extent;
    }
    plan->move(end - begin, places, &plan->run, job->operand + operand * bytes, job->other + other * bytes, plan->step);
}

static void move_with_table(void *context, Index begin, Index end) {
    const Job *job = context;
    const Index count = job->plan->count;
    while (begin < end) {
        const Index number = begin / count, first = begin % count, last = smaller(count, first + end - begin);
        move_run(job, number, job->table + first, first, last);
        begin += last - first;
    }
}

static void move_runs(void *context, Index begin, Index end) {
    const Job *job = context;
    for (Index number = begin; number < end; number++) move_run(job, number, job->table, 0, job->plan->count);
}

static void move_blocks(void *context, Index begin, Index end) {
    Job *job = context;
    const PlacesPlan *plan = job->plan;
    Index places[BLOCK];
    const Component number = plan->components[0];
    if (plan->component_count == 1 && plan->index_type == I64 && plan->index_step == 1 && plan->step == 1 &&
        plan->run.extent == 1) {
        const int64_t *numbers = (const int64_t *)job->indices + number.offset + begin;
        const int bytes = ELEMENT_BYTES[plan->type];
        if (!plan->read(end - begin, numbers, number.extent, number.last, number.stride, 0, job->operand,
                        job->other + begin * bytes))
            atomic_store(&job->outside, true);
        return;
    }
    for (Index first = begin; first < end; first += BLOCK) {
        const Index last = smaller(end, first + BLOCK);
        if (!places_of(job->plan, job->indices, first, last, places)) {
            atomic_store(&job->outside, true);
            return;
        }
        move_run(job, 0, places, first, last);
    }
}

/* False where memory is short. */
static bool move_all(Job *job) {
    const PlacesPlan *plan = job->plan;
    const Index grain = 1 + WORTH_A_THREAD / plan->run.extent;
    if (plan->mode == READ && plan->outer == 1) {
        parallel_for(plan->count, grain, move_blocks, job);
        return true;
    }
    const size_t bytes = (size_t)plan->count * sizeof(Index);
    _Alignas(64) char little[LITTLE_WORKSPACE];
    Index *table = workspace_acquire(little, bytes);
    if (table == NULL) return false;
    job->table = table;
    const bool inside = places_of(plan, job->indices, 0, plan->count, table);
    if (inside && plan->lines) add_lines(plan, table);
    if (!inside) atomic_store(&job->outside, true);
    else if (plan->mode == READ) parallel_for(plan->outer * plan->count, grain, move_with_table, job);
    else parallel_for(plan->outer, 1 + grain / plan->count, move_runs, job);
    workspace_release(table, bytes);
    return true;
}

static bool overlaps(PyObject *a, PyObject *b) {
    Index low, end, from, to;
    array_bounds(a, &low, &end);
    array_bounds(b, &from, &to);
    return array_data(a) + low < array_data(b) + to && array_data(b) + from < array_data(a) + end;
}

static PyObject *call(PyObject *self, PyObject *const *arguments, size_t flagged_count, PyObject *names) {
    const PlacesPlan *plan = kernel_plan(self);
    const int count = plan->mode == READ ? 2 : 3;
    if (!kernel_takes_arrays(self, flagged_count, names, arguments, count)) return NULL;
    if (plan->mode == PUT && overlaps(arguments[0], arguments[2]))
        return PyObject_Vectorcall(plan->fallback, arguments, 3, NULL);
    PyObject *result = plan->mode == PUT ? Py_NewRef(Py_None) : array_new(&plan->result);
    if (result == NULL) return NULL;
    Job job = {.plan = plan, .indices = array_data(arguments[1])};
    job.operand = array_data(plan->mode == READ || plan->mode == PUT ? arguments[0] : result);
    job.other = array_data(plan->mode == READ ? result : arguments[2]);
    const char *copied = plan->mode == REPLACE || plan->mode == ADD ? array_data(arguments[0]) : NULL;
    bool enough;
    if (plan->count * plan->outer * plan->run.extent <= WORTH_RELEASING_THE_GIL &&
        plan->result.size <= WORTH_RELEASING_THE_GIL) {
        if (copied) move_bytes(job.operand, copied, plan->result.bytes);
        enough = move_all(&job);
    } else {
        Py_BEGIN_ALLOW_THREADS if (copied) move_bytes(job.operand, copied, plan->result.bytes);
        enough = move_all(&job);
        Py_END_ALLOW_THREADS
    }
    if (enough && !atomic_load(&job.outside)) return result;
    Py_DECREF(result);
    if (!enough) return PyErr_NoMemory();
    return PyObject_Vectorcall(plan->fallback, arguments, (size_t)count, NULL);
}

static void release(void *places) {
    PlacesPlan *plan = places;
    Py_XDECREF(plan->fallback);
    free(plan);
}

/* Reads so many numbers of a tuple, in rows; how many rows, or -1 with an exception set. */
static int rows_read(Index *numbers, int width, int most, PyObject *tuple) {
    const int found = indices_read(numbers, width * most, tuple);
    if (found < 0 || found % width == 0) return found < 0 ? -1 : found / width;
    PyErr_Format(PyExc_ValueError, "bind_places: rows of %d numbers are accepted", width);
    return -1;
}

static bool read_axis(SliceAxis *axis, const Index *row, Reach *operand, Reach *other) {
    *axis = (SliceAxis){row[0], row[1], row[2]};
    if (row[0] >= 1) return reach_read(operand, row[0], row[1]) && reach_read(other, row[0], row[2]);
    PyErr_Format(PyExc_ValueError, "bind_places: extents above 0 are accepted");
    return false;
}

static bool read_lines(PlacesPlan *plan, const Index *entries, Reach *operand) {
    plan->lines = entries[3], plan->rows = entries[4], plan->slab = entries[5];
    const bool good = plan->mode == PUT && plan->lines >= 1 && plan->rows >= 1 && plan->slab >= 1;
    if (good && plan->rows % plan->lines == 0 && plan->count % plan->rows == 0)
        return reach_read(operand, plan->lines, 1) && reach_read(operand, plan->count / plan->rows, plan->slab);
    PyErr_Format(PyExc_ValueError, "bind_places: lines that do not hold the entries, or are not written to");
    return false;
}

static bool read_plan(PlacesPlan *plan, PyObject *const *arguments, Operand operands[3]) {
    Index entries[6], rows[3 * (MOST_OTHERS + 1)], numbers[4 * MOST_COMPONENTS];
    const int found = rows_read(entries, 3, 2, arguments[3]), axes = rows_read(rows, 3, MOST_OTHERS + 1, arguments[4]);
    const int components = rows_read(numbers, 4, MOST_COMPONENTS, arguments[5]);
    if (found < 0 || axes < 0 || components < 0) return false;
    if (found < 1 || axes < 1 || components < 1 || entries[0] < 1) {
        PyErr_Format(PyExc_ValueError, "bind_places: entries, a run and a component are accepted");
        return false;
    }
    Reach operand = NO_AXES, other = NO_AXES, indices = NO_AXES;
    plan->count = entries[0], plan->index_step = entries[1], plan->step = entries[2];
    plan->outer = 1;
    for (int axis = 0; axis < axes; axis++) {
        if (!read_axis(axis ? &plan->others[axis - 1] : &plan->run, rows + 3 * axis, &operand, &other)) return false;
        if (axis) plan->outer *= rows[3 * axis];
    }
    if (found == 2 && !read_lines(plan, entries, &operand)) return false;
    plan->other_count = axes - 1;
    plan->component_count = components;
    if (!reach_read(&other, plan->count, plan->step) || !reach_read(&indices, plan->count, plan->index_step))
        return false;
    Index nearest = 0, farthest = 0;
    for (int c = 0; c < components; c++) {
        const Index *row = numbers + 4 * c;
        plan->components[c] = (Component){row[0], row[1], row[2], row[3]};
        if (row[2] < 0 || row[2] >= FARTHEST || (row[1] != 0 && row[1] != row[2] + 1) ||
            magnitude(row[0]) >= FARTHEST) {
            PyErr_Format(PyExc_ValueError, "bind_places: a component that has no place");
            return false;
        }
        if (!reach_read(&operand, row[2] + 1, row[3])) return false;
        nearest = smaller(nearest, row[0]);
        farthest = row[0] > farthest ? row[0] : farthest;
    }
    indices.low += nearest, indices.high += farthest;
    const Reach copied = compact_reach(plan->result.size);
    if (plan->mode == REPLACE || plan->mode == ADD) {
        if (operand.low < 0 || operand.high > copied.high) {
            PyErr_Format(PyExc_ValueError, "bind_places: places outside the result");
            return false;
        }
    } else if (plan->mode == READ && (other.low < 0 || other.high > copied.high || other.size != copied.size)) {
        PyErr_Format(PyExc_ValueError, "bind_places: entries that are not the result");
        return false;
    }
    operands[0] = (Operand){plan->type, plan->mode == READ || plan->mode == PUT ? operand : copied, plan->mode == PUT};
    operands[1] = (Operand){plan->index_type, indices, false};
    operands[2] = (Operand){plan->type, other, false};
    return true;
}

/* bind_places(mode, type, index type, (count, step in indices, step), slice axes, components, shape, fallback); the first
 * axis is the run; an axis is (extent, stride, stride on the other side), a component (offset, extent to be added to
 * negative numbers or 0, last number, stride). Of entries that are put, three more numbers may tell that they lie in lines
 * with places of their own: lines side by side, entries of these, elements of these in the operand. */
static PyObject *bind_places(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    static const char *const MODE_NAMES[MODES] = {"read", "replace", "add", "put"};
    (void)module;
    if (!arguments_count("bind_places", count, 8, "a mode, types, entries, axes, components, a shape and a fallback"))
        return NULL;
    const int mode = name_read(arguments[0], MODE_NAMES, MODES);
    if (mode < 0) return PyErr_Format(PyExc_ValueError, "bind_places: no mode %R", arguments[0]);
    const int type = element_type_read(arguments[1]), index_type = type < 0 ? -1 : element_type_read(arguments[2]);
    if (index_type < 0) return NULL;
    if ((index_type != I32 && index_type != I64) || !move_for((Mode)mode, (ElementType)type) ||
        !PyCallable_Check(arguments[7]))
        return PyErr_Format(PyExc_ValueError, "bind_places: other types, or no fallback");
    PlacesPlan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) return PyErr_NoMemory();
    plan->mode = (Mode)mode, plan->type = (ElementType)type, plan->index_type = (ElementType)index_type;
    plan->move = move_for(plan->mode, plan->type);
    plan->read = SIMD_CHOICE(read_kernels)->read[__builtin_ctz((unsigned)ELEMENT_BYTES[type])];
    Operand operands[3];
    if ((mode != PUT && array_form_read(&plan->result, arguments[6], arguments[1]) < 0) ||
        !read_plan(plan, arguments, operands)) {
        release(plan);
        return NULL;
    }
    plan->fallback = Py_NewRef(arguments[7]);
    return kernel_with_operands(kernel_new(NAMES[mode], call, plan, release), operands, mode == READ ? 2 : 3);
}

PyMethodDef places_functions[] = {
    {"bind_places", (PyCFunction)(void (*)(void))bind_places, METH_FASTCALL, "Slices at places that indices name."},
    {NULL, NULL, 0, NULL},
};
