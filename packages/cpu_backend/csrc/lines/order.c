/* Indices that sort lines of numbers, stable, by radix; of short lines, by how many keys stand before each.
 *
 * A number becomes an unsigned key of its bits that is ordered as the numbers are: zeros of both signs are one key, and so
 * are all NaN, the last one. Keys are counted from the least; those of fewer than 33 bits share a word with their index.
 * Bytes in which all keys of a line agree cost no pass.
 */
#include "core/arguments.h"
#include "core/caching_allocator.h"
#include "core/kernel.h"
#include "core/threads.h"
#include "core/topics.h"
#include "lines/lines.h"

#include <stdlib.h>
#include <string.h>

enum { WORTH_A_THREAD = 1 << 11, WORTH_RELEASING_THE_GIL = 1 << 11 }; /* elements */
enum { BUCKETS = 256, DIGITS = 8 };
enum { MOST_RANKED = 128 }; /* elements of a line */

typedef struct {
    uint64_t key;
    Index index;
} Keyed;

typedef struct {
    ArrayForm result;
    ElementType type;
    bool descending;
    Index outer, length, inner;
    Ranks ranks;
} OrderPlan;

#define KEYS_OF_INTEGERS(name, T, U)                                                                                   \
    static void name(const void *source, Index length, Index stride, bool descending, uint64_t *keys) {                \
        const T *x = source;                                                                                           \
        const U sign = (U)1 << (sizeof(U) * 8 - 1), turned = descending ? (U)~sign : sign;                             \
        for (Index i = 0; i < length; i++) keys[i] = (U)((U)x[i * stride] ^ turned);                                   \
    }
KEYS_OF_INTEGERS(keys_of_i32, int32_t, uint32_t)
KEYS_OF_INTEGERS(keys_of_i64, int64_t, uint64_t)

#define KEYS_OF_FLOATS(name, T, U)                                                                                     \
    static void name(const void *source, Index length, Index stride, bool descending, uint64_t *keys) {                \
        const T *x = source;                                                                                           \
        const U sign = (U)1 << (sizeof(U) * 8 - 1);                                                                    \
        for (Index i = 0; i < length; i++) {                                                                           \
            const T number = (descending ? -x[i * stride] : x[i * stride]) + (T)0; /* -0 + 0 is 0 */                   \
            U bits;                                                                                                    \
            memcpy(&bits, &number, sizeof bits);                                                                       \
            bits ^= bits & sign ? ~(U)0 : sign;                                                                        \
            keys[i] = number == number ? bits : ~(U)0;                                                                 \
        }                                                                                                              \
    }
KEYS_OF_FLOATS(keys_of_f32, float, uint32_t)
KEYS_OF_FLOATS(keys_of_f64, double, uint64_t)

static void keys_of(const OrderPlan *plan, const char *line, uint64_t *keys) {
    switch (plan->type) {
    case F32: keys_of_f32(line, plan->length, plan->inner, plan->descending, keys); break;
    case F64: keys_of_f64(line, plan->length, plan->inner, plan->descending, keys); break;
    case I32: keys_of_i32(line, plan->length, plan->inner, plan->descending, keys); break;
    default: keys_of_i64(line, plan->length, plan->inner, plan->descending, keys);
    }
}

/* From counts of the numbers of a digit to where the first of each goes; false where all have the same. */
static bool starts_of(Index *counts, Index length) {
    Index start = 0;
    for (int bucket = 0; bucket < BUCKETS; bucket++) {
        const Index count = counts[bucket];
        if (count == length) return false;
        counts[bucket] = start;
        start += count;
    }
    return true;
}

/* Words of a key and an index, the index in the low half; `other` is room for as many. */
static const uint64_t *sort_words(uint64_t *words, uint64_t *other, Index length, Index (*counts)[BUCKETS]) {
    memset(counts, 0, 4 * sizeof *counts);
    for (Index i = 0; i < length; i++)
        for (int digit = 0; digit < 4; digit++) counts[digit][words[i] >> (32 + 8 * digit) & 255]++;
    for (int digit = 0; digit < 4; digit++) {
        Index *next = counts[digit];
        if (!starts_of(next, length)) continue;
        for (Index i = 0; i < length; i++) other[next[words[i] >> (32 + 8 * digit) & 255]++] = words[i];
        uint64_t *former = words;
        words = other;
        other = former;
    }
    return words;
}

static const Keyed *sort_keyed(Keyed *keyed, Keyed *other, Index length, Index (*counts)[BUCKETS]) {
    memset(counts, 0, DIGITS * sizeof *counts);
    for (Index i = 0; i < length; i++)
        for (int digit = 0; digit < DIGITS; digit++) counts[digit][keyed[i].key >> 8 * digit & 255]++;
    for (int digit = 0; digit < DIGITS; digit++) {
        Index *next = counts[digit];
        if (!starts_of(next, length)) continue;
        for (Index i = 0; i < length; i++) other[next[keyed[i].key >> 8 * digit & 255]++] = keyed[i];
        Keyed *former = keyed;
        keyed = other;
        other = former;
    }
    return keyed;
}

/* Keys become signed, which vectors compare. */
static void sort_short_line(const OrderPlan *plan, const char *line, int64_t *result) {
    uint64_t keys[MOST_RANKED];
    int64_t ordered[MOST_RANKED], ranks[MOST_RANKED];
    keys_of(plan, line, keys);
    for (Index i = 0; i < plan->length; i++) ordered[i] = (int64_t)(keys[i] ^ (uint64_t)1 << 63);
    plan->ranks(plan->length, ordered, ranks);
    for (Index i = 0; i < plan->length; i++) result[ranks[i] * plan->inner] = i;
}

static size_t scratch_bytes(Index length) {
    if (length <= MOST_RANKED) return 1;
    return DIGITS * BUCKETS * sizeof(Index) + (size_t)length * (sizeof(uint64_t) + 2 * sizeof(Keyed));
}

static void sort_line(const OrderPlan *plan, const char *line, int64_t *result, void *scratch) {
    const Index length = plan->length, inner = plan->inner;
    Index(*counts)[BUCKETS] = scratch;
    uint64_t *keys = (uint64_t *)(void *)(counts + DIGITS), *words = keys + length;
    keys_of(plan, line, keys);
    uint64_t least = ~(uint64_t)0, greatest = 0;
    bool in_order = true;
    for (Index i = 0; i < length; i++) {
        least = keys[i] < least ? keys[i] : least;
        greatest = keys[i] > greatest ? keys[i] : greatest;
        in_order &= i == 0 || keys[i - 1] <= keys[i];
    }
    if (in_order) {
        for (Index i = 0; i < length; i++) result[i * inner] = i;
    } else if (greatest - least <= UINT32_MAX && length <= UINT32_MAX) {
        for (Index i = 0; i < length; i++) words[i] = (keys[i] - least) << 32 | (uint64_t)i;
        const uint64_t *sorted = sort_words(words, words + length, length, counts);
        for (Index i = 0; i < length; i++) result[i * inner] = (int64_t)(uint32_t)sorted[i];
    } else {
        Keyed *keyed = (Keyed *)(void *)words;
        for (Index i = 0; i < length; i++) keyed[i] = (Keyed){keys[i] - least, i};
        const Keyed *sorted = sort_keyed(keyed, keyed + length, length, counts);
        for (Index i = 0; i < length; i++) result[i * inner] = sorted[i].index;
    }
}

typedef struct {
    const OrderPlan *plan;
    const char *source;
    int64_t *result;
    bool short_of_memory; /* any thread may set it, and none reads it */
} Job;

static void sort_lines(void *context, Index begin, Index end) {
    Job *job = context;
    const OrderPlan *plan = job->plan;
    const size_t bytes = scratch_bytes(plan->length);
    void *scratch = scratch_acquire(bytes);
    if (scratch == NULL) {
        __atomic_store_n(&job->short_of_memory, true, __ATOMIC_RELAXED);
        return;
    }
    for (Index line = begin; line < end; line++) {
        const Index first = line / plan->inner * plan->length * plan->inner + line % plan->inner;
        const char *source = job->source + first * ELEMENT_BYTES[plan->type];
        if (plan->length <= MOST_RANKED) sort_short_line(plan, source, job->result + first);
        else sort_line(plan, source, job->result + first, scratch);
    }
    scratch_release(scratch, bytes);
}

static PyObject *call(PyObject *self, PyObject *const *arguments, size_t flagged_count, PyObject *names) {
    const OrderPlan *plan = kernel_plan(self);
    if (!kernel_takes_arrays(self, flagged_count, names, arguments, 1)) return NULL;
    PyObject *result = array_new(&plan->result);
    if (result == NULL) return NULL;
    Job job = {.plan = plan, .source = array_data(arguments[0])};
    job.result = (int64_t *)(void *)array_data(result);
    const Index lines = plan->outer * plan->inner, grain = 1 + WORTH_A_THREAD / plan->length;
    if (plan->result.size <= WORTH_RELEASING_THE_GIL) {
        parallel_for(lines, grain, sort_lines, &job);
    } else {
        Py_BEGIN_ALLOW_THREADS parallel_for(lines, grain, sort_lines, &job);
        Py_END_ALLOW_THREADS
    }
    if (!job.short_of_memory) return result;
    Py_DECREF(result);
    return PyErr_NoMemory();
}

static bool is_sorted_by_radix(int type) { return type == F32 || type == F64 || type == I32 || type == I64; }

/* bind_argsort(type, (outer, length, inner), descending, shape) */
static PyObject *bind_argsort(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (!arguments_count("bind_argsort", count, 4, "a type, extents, whether descending, and a shape")) return NULL;
    Index extents[3];
    const int found = indices_read(extents, 3, arguments[1]), type = found < 0 ? -1 : element_type_read(arguments[0]);
    const int descending = type < 0 ? -1 : PyObject_IsTrue(arguments[2]);
    if (descending < 0) return NULL;
    if (!is_sorted_by_radix(type) || found != 3 || extents[0] < 1 || extents[1] < 1 || extents[2] < 1)
        return PyErr_Format(PyExc_ValueError, "bind_argsort: another type, or not three extents above 0");
    Reach reach = NO_AXES;
    for (int k = 0; k < 3; k++)
        if (!reach_read(&reach, extents[k], 1)) return NULL;
    OrderPlan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) return PyErr_NoMemory();
    plan->type = (ElementType)type, plan->descending = descending;
    plan->outer = extents[0], plan->length = extents[1], plan->inner = extents[2];
    plan->ranks = SIMD_CHOICE(line_kernels)->ranks;
    PyObject *name = PyUnicode_FromString(element_type_name(I64));
    const int read = name ? array_form_read(&plan->result, arguments[3], name) : -1;
    Py_XDECREF(name);
    if (read < 0 || plan->result.size != reach.size) {
        if (read >= 0) PyErr_Format(PyExc_ValueError, "bind_argsort: the extents do not fit the result");
        free(plan);
        return NULL;
    }
    const Operand operands[] = {{plan->type, compact_reach(reach.size), false}};
    return kernel_with_operands(kernel_new("argsort", call, plan, free), operands, 1);
}

PyMethodDef order_functions[] = {
    {"bind_argsort", (PyCFunction)(void (*)(void))bind_argsort, METH_FASTCALL, "Indices that sort lines."},
    {NULL, NULL, 0, NULL},
};
