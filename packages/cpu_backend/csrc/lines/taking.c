/* Elements of each line at indices of its own: [outer][length][inner] at [outer][count][inner]. Negative indices count from
 * the end; where one is out of range, all is left to a fallback, which raises the error. */
#include "core/arguments.h"
#include "core/kernel.h"
#include "core/threads.h"
#include "core/topics.h"
#include "lines/read_at.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { LONGEST_FETCHED = 1 << 15 };                                   /* bytes of a line */
enum { WORTH_A_THREAD = 1 << 14, WORTH_RELEASING_THE_GIL = 1 << 14 }; /* elements */

typedef bool (*Take)(Index begin, Index end, Index length, Index inner, const void *line, const int64_t *indices,
                     void *result);

/* A block of columns at a time, of which all rows stay in the second-level cache; or whole rows, one after the other, of a
 * slab that stays in the last one: then everything but the elements taken is read in the order of memory (measured on Zen 5
 * with 32 MiB, F64: 1000×1000 take 0.73 ms instead of 1.6; 1500×1500 take twice as long). */
enum { LEAST_COLUMNS = 32, MOST_TAKEN_COLUMNS = 1 << 10, MOST_WHOLE_BYTES = 10 << 20, ELEMENTS_OF_BLOCK = 1 << 13 };

/* The elements begin to end of the result's [count][inner]; false where an index is out of range. */
#define TAKE(name, T)                                                                                                  \
    static bool name(Index begin, Index end, Index length, Index inner, const void *line, const int64_t *indices,      \
                     void *result) {                                                                                   \
        const T *a = line;                                                                                             \
        T *d = result;                                                                                                 \
        Index column = begin % inner;                                                                                  \
        uint64_t outside = 0;                                                                                          \
        for (Index i = begin; i < end; i++) {                                                                          \
            const int64_t from = indices[i] < 0 ? indices[i] + length : indices[i];                                    \
            const bool is_outside = (uint64_t)from >= (uint64_t)length;                                                \
            outside |= is_outside;                                                                                     \
            d[i] = a[(is_outside ? 0 : from) * inner + column];                                                        \
            if (++column == inner) column = 0;                                                                         \
        }                                                                                                              \
        return outside == 0;                                                                                           \
    }
TAKE(take_1, uint8_t)
TAKE(take_4, uint32_t)
TAKE(take_8, uint64_t)
TAKE(take_16, Pair)

typedef struct {
    ArrayForm result;
    Take take;
    ReadAt read; /* in its place, of a line or of many columns */
    Index outer, length, inner, count;
    Index columns, rows; /* of a unit; 0 columns: there are too few */
    bool fetches;        /* of lines side by side, the next one while one is read */
    PyObject *fallback;
} TakingPlan;

typedef struct {
    const TakingPlan *plan;
    const char *source;
    const int64_t *indices;
    char *result;
    atomic_bool outside;
} Job;

/* Asks for a line before its elements are read in any order, which no processor foresees. */
static void fetch_line(const TakingPlan *plan, const char *line) {
    const Index bytes = plan->length * ELEMENT_BYTES[plan->result.type];
    for (Index byte = 0; byte < bytes; byte += CACHE_LINE) __builtin_prefetch(line + byte, 0, 2);
}

static void take_range(void *context, Index begin, Index end) {
    Job *job = context;
    const TakingPlan *plan = job->plan;
    const Index slab = plan->count * plan->inner, bytes = ELEMENT_BYTES[plan->result.type];
    bool good = true;
    while (begin < end) {
        const Index outer = begin / slab, first = begin % slab, count = smaller(end - begin, slab - first);
        const char *line = job->source + outer * plan->length * plan->inner * bytes;
        const int64_t *indices = job->indices + outer * slab;
        char *result = job->result + outer * slab * bytes;
        if (plan->fetches && outer + 1 < plan->outer) fetch_line(plan, line + plan->length * bytes);
        good &= plan->inner == 1 ? plan->read(count, indices + first, plan->length, plan->length - 1, 1, 0, line,
                                              result + first * bytes)
                                 : plan->take(first, first + count, plan->length, plan->inner, line, indices, result);
        begin += count;
    }
    if (!good) atomic_store(&job->outside, true);
}

static void take_blocks(void *context, Index begin, Index end) {
    Job *job = context;
    const TakingPlan *plan = job->plan;
    const Index blocks = pieces(plan->inner, plan->columns), parts = pieces(plan->count, plan->rows);
    const Index bytes = ELEMENT_BYTES[plan->result.type];
    bool good = true;
    for (Index unit = begin; unit < end; unit++) {
        const Index outer = unit / parts / blocks, first = unit / parts % blocks * plan->columns;
        const Index columns = smaller(plan->columns, plan->inner - first);
        const Index row = unit % parts * plan->rows, behind = smaller(plan->count, row + plan->rows);
        const char *source = job->source + (outer * plan->length * plan->inner + first) * bytes;
        Index to = (outer * plan->count + row) * plan->inner + first;
        for (Index k = row; k < behind; k++, to += plan->inner)
            good &= plan->read(columns, job->indices + to, plan->length, plan->length - 1, plan->inner, 1, source,
                               job->result + to * bytes);
    }
    if (!good) atomic_store(&job->outside, true);
}

static void take_all(Job *job) {
    const TakingPlan *plan = job->plan;
    if (plan->columns == 0) parallel_for(plan->result.size, WORTH_A_THREAD, take_range, job);
    else
        parallel_for(plan->outer * pieces(plan->inner, plan->columns) * pieces(plan->count, plan->rows),
                     1 + WORTH_A_THREAD / (plan->columns * plan->rows), take_blocks, job);
}

static PyObject *call(PyObject *self, PyObject *const *arguments, size_t flagged_count, PyObject *names) {
    const TakingPlan *plan = kernel_plan(self);
    if (!kernel_takes_arrays(self, flagged_count, names, arguments, 2)) return NULL;
    PyObject *result = array_new(&plan->result);
    if (result == NULL) return NULL;
    Job job = {.plan = plan, .source = array_data(arguments[0]), .result = array_data(result)};
    job.indices = (const int64_t *)(const void *)array_data(arguments[1]);
    if (plan->result.size <= WORTH_RELEASING_THE_GIL) {
        take_all(&job);
    } else {
        Py_BEGIN_ALLOW_THREADS take_all(&job);
        Py_END_ALLOW_THREADS
    }
    if (!atomic_load(&job.outside)) return result;
    Py_DECREF(result);
    return PyObject_Vectorcall(plan->fallback, arguments, 2, NULL);
}

static void release(void *taking) {
    TakingPlan *plan = taking;
    Py_XDECREF(plan->fallback);
    free(plan);
}

/* bind_take_along(type, (outer, length, inner, count), shape, fallback) */
static PyObject *bind_take_along(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (!arguments_count("bind_take_along", count, 4, "a type, extents, a shape and a fallback")) return NULL;
    Index extents[4];
    const int found = indices_read(extents, 4, arguments[1]), type = element_type_read(arguments[0]);
    if (found < 0 || type < 0) return NULL;
    Reach source = NO_AXES, target = NO_AXES;
    bool good = found == 4 && PyCallable_Check(arguments[3]);
    for (int k = 0; good && k < 4; k++) good = extents[k] >= 1;
    if (!good) return PyErr_Format(PyExc_ValueError, "bind_take_along: four extents above 0, and a fallback");
    for (int k = 0; k < 3; k++)
        if (!reach_read(&source, extents[k], 1) || !reach_read(&target, extents[k == 1 ? 3 : k], 1)) return NULL;
    TakingPlan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) return PyErr_NoMemory();
    plan->outer = extents[0], plan->length = extents[1], plan->inner = extents[2], plan->count = extents[3];
    if (array_form_read(&plan->result, arguments[2], arguments[0]) < 0) {
        release(plan);
        return NULL;
    }
    if (plan->result.size != target.size) {
        release(plan);
        return PyErr_Format(PyExc_ValueError, "bind_take_along: the extents do not fit the result");
    }
    const int bytes = ELEMENT_BYTES[type];
    if (plan->inner >= LEAST_COLUMNS) {
        const Index third = (Index)cpu_last_level_cache_bytes() / 3;
        const bool whole = plan->length * plan->inner * bytes <= smaller(third, MOST_WHOLE_BYTES);
        plan->columns = CACHED_BYTES / (plan->length * bytes) / LEAST_COLUMNS * LEAST_COLUMNS;
        plan->columns = smaller(plan->columns < LEAST_COLUMNS ? LEAST_COLUMNS : plan->columns, MOST_TAKEN_COLUMNS);
        if (whole) plan->columns = plan->inner;
        plan->rows = whole ? smaller(plan->count, 1 + ELEMENTS_OF_BLOCK / plan->inner) : plan->count;
    }
    plan->fetches = plan->inner == 1 && plan->length * bytes <= LONGEST_FETCHED && plan->count >= plan->length / 8 &&
                    plan->outer * plan->length * bytes > CACHED_BYTES;
    plan->take = bytes == 1 ? take_1 : bytes == 4 ? take_4 : bytes == 8 ? take_8 : take_16;
    plan->read = SIMD_CHOICE(read_kernels)->read[__builtin_ctz((unsigned)bytes)];
    plan->fallback = Py_NewRef(arguments[3]);
    const Operand operands[] = {{(ElementType)type, compact_reach(source.size), false},
                                {I64, compact_reach(target.size), false}};
    return kernel_with_operands(kernel_new("take_along_axis", call, plan, release), operands, 2);
}

PyMethodDef taking_functions[] = {
    {"bind_take_along", (PyCFunction)(void (*)(void))bind_take_along, METH_FASTCALL, "Elements at indices of lines."},
    {NULL, NULL, 0, NULL},
};
