/* Where values belong in a sorted line, which elements of a line are true, and which of a sorted line are distinct.
 *
 * Several values are searched for at once, without a branch, so that the processor waits for memory once for all of them.
 * Many integers are looked up in a table of all values from the first of the line to its last, where these are few.
 * NaN is greater than every number.
 */
#include "core/arguments.h"
#include "core/kernel.h"
#include "core/threads.h"
#include "core/topics.h"
#include "lines/masks.h"

#include <stdlib.h>
#include <string.h>

enum { AT_ONCE = 16, LARGEST_TABLE = 1 << 17 };                                 /* values */
enum { WORTH_A_THREAD = 1 << 12, WORTH_RELEASING_THE_GIL = 1 << 12, WORD = 8 }; /* elements */

typedef void (*Search)(Index count, const void *values, Index length, const void *line, int64_t *places);

/* How many elements of a sorted line are numbers; NaN are its last ones. */
#define NUMBERS(name, T)                                                                                               \
    static Index name(Index length, const T *a) {                                                                      \
        Index first = 0, behind = length; /* the first NaN is not before the one, and not behind the other */          \
        while (first < behind) {                                                                                       \
            const Index middle = first + (behind - first) / 2;                                                         \
            if (a[middle] == a[middle]) first = middle + 1;                                                            \
            else behind = middle;                                                                                      \
        }                                                                                                              \
        return first;                                                                                                  \
    }
NUMBERS(numbers_f32, float)
NUMBERS(numbers_f64, double)

/* Of a line, how many elements are BEFORE(x, v) a value v; they are the first ones. No element is before NaN by comparison:
 * of such a value, all BEFORE_NAN are. */
#define SEARCH(name, T, BEFORE, BEFORE_NAN)                                                                            \
    static void name(Index count, const void *values, Index length, const void *line, int64_t *places) {               \
        const T *a = line, *given = values;                                                                            \
        for (Index first = 0; first < count; first += AT_ONCE) {                                                       \
            const Index some = smaller(count - first, AT_ONCE);                                                        \
            Index found[AT_ONCE] = {0};                                                                                \
            T wanted[AT_ONCE] = {0};                                                                                   \
            bool all = true;                                                                                           \
            memcpy(wanted, given + first, (size_t)some * sizeof(T));                                                   \
            for (Index left = length; left > 1;) {                                                                     \
                const Index half = left / 2;                                                                           \
                for (int k = 0; k < AT_ONCE; k++) {                                                                    \
                    const T x = a[found[k] + half - 1], v = wanted[k];                                                 \
                    found[k] += half & -(Index)(BEFORE);                                                               \
                }                                                                                                      \
                left -= half;                                                                                          \
            }                                                                                                          \
            for (int k = 0; k < some; k++) {                                                                           \
                const T x = a[found[k]], v = wanted[k];                                                                \
                places[first + k] = found[k] + (Index)(BEFORE);                                                        \
                all &= v == v;                                                                                         \
            }                                                                                                          \
            for (int k = 0; k < some && !all; k++)                                                                     \
                if (wanted[k] != wanted[k]) places[first + k] = BEFORE_NAN;                                            \
        }                                                                                                              \
    }
SEARCH(left_f32, float, x < v, numbers_f32(length, a))
SEARCH(left_f64, double, x < v, numbers_f64(length, a))
SEARCH(left_i32, int32_t, x < v, 0)
SEARCH(left_i64, int64_t, x < v, 0)
SEARCH(right_f32, float, x <= v, length)
SEARCH(right_f64, double, x <= v, length)
SEARCH(right_i32, int32_t, x <= v, 0)
SEARCH(right_i64, int64_t, x <= v, 0)

/* How many values a table of a sorted line is for, from the first to the last; 0 where making it would take too long. */
#define SPAN(name, T)                                                                                                  \
    static Index name(Index count, Index length, const void *line) {                                                   \
        const T *a = line;                                                                                             \
        const uint64_t span = (uint64_t)a[length - 1] - (uint64_t)a[0];                                                \
        const bool few = length / 4 <= count && span < (uint64_t)smaller(count, LARGEST_TABLE);                        \
        return few && a[length - 1] >= a[0] ? (Index)span + 1 : 0;                                                     \
    }
SPAN(span_i32, int32_t)
SPAN(span_i64, int64_t)

/* Of each value from the first of a line, and of the one before it and the one behind the last, how many elements are
 * BEFORE(x, v) it. The line is not trusted to be sorted. */
#define TABLE(name, T, BEFORE)                                                                                         \
    static void name(Index length, const void *line, Index span, int32_t *table) {                                     \
        const T *a = line;                                                                                             \
        Index found = 0;                                                                                               \
        table[0] = 0, table[span + 1] = (int32_t)length;                                                               \
        for (Index k = 0; k < span; k++) {                                                                             \
            const T v = (T)((uint64_t)a[0] + (uint64_t)k);                                                             \
            for (; found < length; found++) {                                                                          \
                const T x = a[found];                                                                                  \
                if (!(BEFORE)) break;                                                                                  \
            }                                                                                                          \
            table[k + 1] = (int32_t)found;                                                                             \
        }                                                                                                              \
    }
TABLE(left_table_i32, int32_t, x < v)
TABLE(left_table_i64, int64_t, x < v)
TABLE(right_table_i32, int32_t, x <= v)
TABLE(right_table_i64, int64_t, x <= v)

#define LOOK_UP(name, T, U)                                                                                            \
    static void name(Index count, const void *values, const void *line, Index span, const int32_t *table,              \
                     int64_t *places) {                                                                                \
        const T *given = values, first = *(const T *)line;                                                             \
        for (Index i = 0; i < count; i++) {                                                                            \
            const T v = given[i];                                                                                      \
            U place = (U)v - (U)first;                                                                                 \
            place = place < (U)span ? place + 1 : (U)span + 1;                                                         \
            places[i] = table[v < first ? 0 : place];                                                                  \
        }                                                                                                              \
    }
LOOK_UP(look_up_i32, int32_t, uint32_t)
LOOK_UP(look_up_i64, int64_t, uint64_t)

typedef struct {
    Index (*span)(Index count, Index length, const void *line);
    void (*make)(Index length, const void *line, Index span, int32_t *table);
    void (*look_up)(Index count, const void *values, const void *line, Index span, const int32_t *table,
                    int64_t *places);
} Tables;

static const char *const SIDES[] = {"left", "right"};
static const Search SEARCHES[][ELEMENT_TYPES] = {
    {[F32] = left_f32, [F64] = left_f64, [I32] = left_i32, [I64] = left_i64},
    {[F32] = right_f32, [F64] = right_f64, [I32] = right_i32, [I64] = right_i64}};

static const Tables TABLES[][ELEMENT_TYPES] = {
    {[I32] = {span_i32, left_table_i32, look_up_i32}, [I64] = {span_i64, left_table_i64, look_up_i64}},
    {[I32] = {span_i32, right_table_i32, look_up_i32}, [I64] = {span_i64, right_table_i64, look_up_i64}}};

typedef struct {
    ArrayForm result;
    Search search;
    const Tables *tables;     /* NULL of floats and long lines */
    Index length, item_bytes; /* of the line */
} SearchPlan;

typedef struct {
    const SearchPlan *plan;
    const char *line, *values;
    int64_t *places;
    Index span;
    int32_t *table; /* NULL: the line is searched */
} SearchJob;

static void search_some(void *context, Index begin, Index end) {
    const SearchJob *job = context;
    const SearchPlan *plan = job->plan;
    const char *values = job->values + begin * plan->item_bytes;
    if (job->table) plan->tables->look_up(end - begin, values, job->line, job->span, job->table, job->places + begin);
    else plan->search(end - begin, values, plan->length, job->line, job->places + begin);
}

static void search_all(SearchJob *job) {
    const SearchPlan *plan = job->plan;
    const Index count = plan->result.size;
    job->span = plan->tables ? plan->tables->span(count, plan->length, job->line) : 0;
    job->table = job->span > 0 ? malloc((size_t)(job->span + 2) * sizeof *job->table) : NULL; /* else it is searched */
    if (job->table) plan->tables->make(plan->length, job->line, job->span, job->table);
    parallel_for(count, WORTH_A_THREAD, search_some, job);
    free(job->table);
}

static PyObject *search(PyObject *self, PyObject *const *arguments, size_t flagged_count, PyObject *names) {
    const SearchPlan *plan = kernel_plan(self);
    if (!kernel_takes_arrays(self, flagged_count, names, arguments, 2)) return NULL;
    PyObject *result = array_new(&plan->result);
    if (result == NULL) return NULL;
    SearchJob job = {plan, array_data(arguments[0]), array_data(arguments[1]), (int64_t *)(void *)array_data(result), 0,
                     NULL};
    if (plan->result.size <= WORTH_RELEASING_THE_GIL) {
        search_all(&job);
    } else {
        Py_BEGIN_ALLOW_THREADS search_all(&job);
        Py_END_ALLOW_THREADS
    }
    return result;
}

static bool whole_form_read(ArrayForm *form, PyObject *shape) {
    PyObject *whole = PyUnicode_FromString(element_type_name(I64));
    const bool good = whole != NULL && array_form_read(form, shape, whole) == 0;
    Py_XDECREF(whole);
    return good;
}

/* bind_search(side, type, length, shape): of a line and values, both without gaps */
static PyObject *bind_search(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (!arguments_count("bind_search", count, 4, "a side, a type, a length and a shape")) return NULL;
    const int side = name_read(arguments[0], SIDES, 2), type = element_type_read(arguments[1]);
    const Index length = type < 0 ? -1 : PyLong_AsLongLong(arguments[2]);
    if (type < 0 || PyErr_Occurred()) return NULL;
    if (side < 0 || SEARCHES[side][type] == NULL || length < 1)
        return PyErr_Format(PyExc_ValueError, "bind_search: another side or type, or a line without elements");
    SearchPlan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) return PyErr_NoMemory();
    plan->search = SEARCHES[side][type];
    plan->length = length, plan->item_bytes = ELEMENT_BYTES[type];
    plan->tables = TABLES[side][type].span && length <= INT32_MAX ? &TABLES[side][type] : NULL;
    Reach reach = NO_AXES;
    if (!reach_read(&reach, length, 1) || !whole_form_read(&plan->result, arguments[3])) {
        free(plan);
        return NULL;
    }
    const Operand operands[] = {{(ElementType)type, reach, false},
                                {(ElementType)type, compact_reach(plan->result.size), false}};
    return kernel_with_operands(kernel_new("searchsorted", search, plan, free), operands, 2);
}

typedef struct {
    Index length;
} TruePlan;

/* Writes nothing behind the last of so many places. */
static void places_of_true(Index count, Index length, const uint8_t *a, int64_t *places) {
    Index found = 0, i = 0;
    for (; i + WORD <= length && found + WORD <= count; i += WORD) {
        uint64_t word;
        memcpy(&word, a + i, sizeof word);
        if (word == 0) continue;
        for (int k = 0; k < WORD; k++) {
            places[found] = i + k;
            found += a[i + k] != 0;
        }
    }
    for (; found < count && i < length; i++) {
        places[found] = i;
        found += a[i] != 0;
    }
}

static PyObject *find_true(PyObject *self, PyObject *const *arguments, size_t flagged_count, PyObject *names) {
    const TruePlan *plan = kernel_plan(self);
    if (!kernel_takes_arrays(self, flagged_count, names, arguments, 1)) return NULL;
    const uint8_t *a = (const uint8_t *)array_data(arguments[0]);
    const Index count = SIMD_CHOICE(mask_kernels)->count(plan->length, a);
    const ArrayForm form = {
        .type = I64, .rank = 1, .shape = {count}, .size = count, .bytes = (size_t)count * sizeof(int64_t)};
    PyObject *result = array_new(&form);
    if (result == NULL) return NULL;
    int64_t *places = (int64_t *)(void *)array_data(result);
    if (plan->length <= WORTH_RELEASING_THE_GIL) {
        places_of_true(count, plan->length, a, places);
    } else {
        Py_BEGIN_ALLOW_THREADS places_of_true(count, plan->length, a, places);
        Py_END_ALLOW_THREADS
    }
    return result;
}

/* bind_true(length): the places of what is true in a line of Bool without gaps, as a vector of I64 */
static PyObject *bind_true(PyObject *module, PyObject *argument) {
    (void)module;
    const Index length = PyLong_AsLongLong(argument);
    Reach reach = NO_AXES;
    if ((length == -1 && PyErr_Occurred()) || !reach_read(&reach, length, 1)) return NULL;
    TruePlan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) return PyErr_NoMemory();
    plan->length = length;
    const Operand operand = {BOOL, reach, false};
    return kernel_with_operands(kernel_new("nonzero", find_true, plan, free), &operand, 1);
}

#define NEGATIVE_ZERO(name, U)                                                                                         \
    static bool name(Index length, const void *source) {                                                               \
        const U *x = source, sought = (U)1 << (sizeof(U) * 8 - 1);                                                     \
        U found = 0;                                                                                                   \
        for (Index i = 0; i < length; i++) found |= (U) - (U)(x[i] == sought);                                         \
        return found != 0;                                                                                             \
    }
NEGATIVE_ZERO(negative_zero_f32, uint32_t)
NEGATIVE_ZERO(negative_zero_f64, uint64_t)

/* has_negative_zero(array): whether an array of floats without gaps has one */
static PyObject *has_negative_zero(PyObject *module, PyObject *array) {
    (void)module;
    const int type = is_array(array) ? array_element_type(array) : -1;
    if ((type != F32 && type != F64) || !array_is_gapless(array))
        return PyErr_Format(PyExc_TypeError, "has_negative_zero: an array of floats without gaps");
    const char *source = array_data(array);
    const Index length = array_size(array);
    return PyBool_FromLong(type == F32 ? negative_zero_f32(length, source) : negative_zero_f64(length, source));
}

/* NaN differs from itself and comes last, so that all behind the first one can be left out. Where counts are asked for,
 * they hold where each number begins at first. */
#define DISTINCT(name, T)                                                                                              \
    static Index name(Index length, T *sorted, bool one_nan, int64_t *counts) {                                        \
        if (length == 0) return 0;                                                                                     \
        T last = sorted[0];                                                                                            \
        Index kept = 1;                                                                                                \
        if (counts) counts[0] = 0;                                                                                     \
        for (Index i = 1; i < length; i++) {                                                                           \
            if (one_nan && last != last) break;                                                                        \
            const bool differs = sorted[i] != last;                                                                    \
            last = differs ? sorted[i] : last;                                                                         \
            sorted[kept] = sorted[i]; /* overwritten unless it is kept */                                              \
            if (counts) counts[kept] = i;                                                                              \
            kept += differs;                                                                                           \
        }                                                                                                              \
        for (Index k = 0; counts && k < kept; k++) counts[k] = (k + 1 < kept ? counts[k + 1] : length) - counts[k];    \
        return kept;                                                                                                   \
    }
DISTINCT(distinct_f32, float)
DISTINCT(distinct_f64, double)
DISTINCT(distinct_i32, int32_t)
DISTINCT(distinct_i64, int64_t)

/* keep_distinct(sorted, one_nan, counts): moves the first of equal numbers to the front of a sorted vector without gaps,
 * one NaN or each of them, and returns how many there are; counts is None, or a vector of I64 as long, without gaps, whose
 * first elements become how often each number occurs. */
static PyObject *keep_distinct(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (!arguments_count("keep_distinct", count, 3, "a sorted array, a truth value and counts")) return NULL;
    if (!is_array(arguments[0]) || !array_is_writable(arguments[0]) || !array_is_gapless(arguments[0]))
        return PyErr_Format(PyExc_TypeError, "keep_distinct: an array without gaps, which is written");
    const int one_nan = PyObject_IsTrue(arguments[1]);
    if (one_nan < 0) return NULL;
    void *sorted = array_data(arguments[0]);
    const Index length = array_size(arguments[0]);
    int64_t *counts = NULL;
    if (arguments[2] != Py_None) {
        PyObject *given = arguments[2];
        if (!is_array(given) || !array_is_writable(given) || !array_is_gapless(given) ||
            array_element_type(given) != I64 || array_size(given) != length)
            return PyErr_Format(PyExc_TypeError, "keep_distinct: counts of I64 without gaps, one for each element");
        counts = (int64_t *)(void *)array_data(given);
    }
    switch (array_element_type(arguments[0])) {
    case F32: return PyLong_FromSsize_t(distinct_f32(length, sorted, one_nan, counts));
    case F64: return PyLong_FromSsize_t(distinct_f64(length, sorted, one_nan, counts));
    case I32: return PyLong_FromSsize_t(distinct_i32(length, sorted, false, counts));
    case I64: return PyLong_FromSsize_t(distinct_i64(length, sorted, false, counts));
    default: return PyErr_Format(PyExc_ValueError, "keep_distinct: an array of real numbers");
    }
}

PyMethodDef search_functions[] = {
    {"bind_search", (PyCFunction)(void (*)(void))bind_search, METH_FASTCALL, "Where values belong in a sorted line."},
    {"bind_true", bind_true, METH_O, "The places of what is true."},
    {"has_negative_zero", has_negative_zero, METH_O, "Whether one of the floats is -0.0."},
    {"keep_distinct", (PyCFunction)(void (*)(void))keep_distinct, METH_FASTCALL, "The first of equal numbers."},
    {NULL, NULL, 0, NULL},
};
