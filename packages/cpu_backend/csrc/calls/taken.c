/* x[y] of a line, and x[y, z] of a matrix, at elements that tensors of I64 without gaps name: read in one call. An index out
 * of range is left to Python, which says which one. */
#include "calls/call.h"
#include "core/threads.h"
#include "lines/read_at.h"

#include <stdatomic.h>

enum { WORTH_A_THREAD = 1 << 14, WORTH_RELEASING_THE_GIL = 1 << 14 }; /* elements */

typedef struct {
    const ReadKernels *kernels;
    int width; /* log2 of the bytes of an element */
    int named; /* axes */
    const int64_t *numbers[MOST_NAMED];
    Index extents[MOST_NAMED], strides[MOST_NAMED];
    const char *source;
    char *result;
    atomic_bool outside;
} Job;

static void take_some(void *context, Index begin, Index end) {
    Job *job = context;
    char *result = job->result + (begin << job->width);
    const int64_t *first = job->numbers[0] + begin;
    const bool inside =
        job->named == 1
            ? job->kernels->read[job->width](end - begin, first, job->extents[0], job->extents[0] - 1, job->strides[0],
                                             0, job->source, result)
            : job->kernels->read_pairs[job->width](end - begin, (const int64_t *[]){first, job->numbers[1] + begin},
                                                   job->extents, job->strides, job->source, result);
    if (!inside) atomic_store(&job->outside, true);
}

/* Whether the index is one tensor for each axis of the array, all of the same form, which is then *form, borrowed. */
HOT static bool read_index(const Call *self, PyObject *array, PyObject *index, Job *job, PyObject **indices,
                           PyObject **form) {
    PyObject *const one[] = {index}, *const *items = one;
    const int rank = PyArray_NDIM((PyArrayObject *)array);
    if (rank < 1 || rank > MOST_NAMED || array_element_type(array) < 0) return false;
    if (PyTuple_CheckExact(index)) {
        if (PyTuple_GET_SIZE(index) != rank) return false;
        items = &PyTuple_GET_ITEM(index, 0);
    } else if (rank != 1) return false;
    const Index bytes = array_item_bytes(array);
    job->named = rank;
    for (int axis = 0; axis < rank; axis++) {
        PyObject *its;
        if (!call_parts(self, items[axis], &its, &indices[axis]) || (axis > 0 && its != *form)) return false;
        *form = its;
        job->extents[axis] = PyArray_DIM((PyArrayObject *)array, rank - 1 - axis);
        job->strides[axis] = PyArray_STRIDE((PyArrayObject *)array, rank - 1 - axis);
        if (job->extents[axis] == 0 || job->strides[axis] % bytes != 0) return false;
        job->strides[axis] /= bytes;
        if (array_element_type(indices[axis]) != I64 || !array_is_gapless(indices[axis])) return false;
        job->numbers[axis] = (const int64_t *)(const void *)array_data(indices[axis]);
    }
    const int named_rank = PyArray_NDIM((PyArrayObject *)indices[0]);
    return named_rank > 0 && named_rank <= MAX_RANK;
}

static PyObject *take(Job *job, PyObject *array, PyObject *indices) {
    ArrayForm made = {.type = (ElementType)array_element_type(array), .rank = PyArray_NDIM((PyArrayObject *)indices)};
    for (int axis = 0; axis < made.rank; axis++) made.shape[axis] = PyArray_DIM((PyArrayObject *)indices, axis);
    job->width = __builtin_ctz((unsigned)array_item_bytes(array));
    made.size = array_size(indices);
    made.bytes = (size_t)made.size << job->width;
    PyObject *result = array_new(&made);
    if (!result) return NULL;
    job->kernels = SIMD_CHOICE(read_kernels);
    job->source = array_data(array);
    job->result = array_data(result);
    if (made.size <= WORTH_RELEASING_THE_GIL) {
        take_some(job, 0, made.size);
    } else {
        Py_BEGIN_ALLOW_THREADS parallel_for(made.size, WORTH_A_THREAD, take_some, job);
        Py_END_ALLOW_THREADS
    }
    if (!atomic_load(&job->outside)) return result;
    Py_DECREF(result);
    return NULL;
}

HOT PyObject *call_taken(const Call *self, PyObject *const *arguments, size_t flagged_count, PyObject *form,
                         PyObject *array) {
    Job job = {.named = 0};
    PyObject *indices[MOST_NAMED] = {NULL}, *named = NULL;
    if (!read_index(self, array, arguments[1], &job, indices, &named)) return NULL;
    Key key;
    key_begin(&key, KEY_TAKEN, form);
    key_add(&key, (Index)(intptr_t)named);
    PyObject *forms = PyTuple_Pack(2, form, named);
    if (!forms) return NULL;
    PyObject *found = call_find(self, &key), *result = NULL;
    if (found) {
        PyObject *kept[] = {Py_NewRef(array), Py_NewRef(indices[0]), Py_XNewRef(indices[1])};
        PyObject *taken = take(&job, array, indices[0]);
        for (int k = 0; k < 3; k++) Py_XDECREF(kept[k]);
        if (taken) result = call_wrap(self, self->tensor, found, taken);
        else Py_DECREF(found);
        if (!taken && !PyErr_Occurred()) result = call_function(self, arguments, flagged_count, NULL);
    } else {
        result = call_learned(self, &key, forms, call_function(self, arguments, flagged_count, NULL));
    }
    Py_DECREF(forms);
    return result;
}
