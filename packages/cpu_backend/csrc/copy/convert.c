/* Kernels that make elements of another type: a permuted copy where the operand has gaps or another order, then one
 * loop over elements that lie together, shared among threads. The copy is a temporary as large as the operand. */
#include "copy/convert.h"

#include "core/arrays.h"
#include "core/kernel.h"
#include "copy/permute.h"
#include "core/caching_allocator.h"
#include "core/threads.h"
#include "core/topics.h"

#include <stdlib.h>

enum { GRAIN_BYTES = 1 << 20 }; /* read and written: worth waking a thread for */
enum { MANY = 1 << 15 };        /* elements worth releasing the GIL for */

typedef struct {
    ArrayForm result;
    ConvertLoop loop;
    CopyPlan *plan;                   /* NULL for an operand that lies as the result does */
    Index source_bytes, target_bytes; /* of an element */
} ConvertPlan;

typedef struct {
    const ConvertPlan *converting;
    const char *source;
    char *target;
} Job;

static void convert_range(void *context, Index begin, Index end) {
    const Job *job = context;
    const ConvertPlan *converting = job->converting;
    converting->loop(job->source + begin * converting->source_bytes, job->target + begin * converting->target_bytes,
                     end - begin);
}

/* Whether there was memory. */
static bool run(const ConvertPlan *converting, const char *source, char *target) {
    const Index count = converting->result.size;
    const size_t bytes = (size_t)(count * converting->source_bytes);
    void *gathered = NULL;
    if (converting->plan != NULL) {
        gathered = allocator_acquire(bytes);
        if (gathered == NULL) return false;
        copy_run(converting->plan, source, gathered);
        source = gathered;
    }
    Job job = {converting, source, target};
    parallel_for(count, GRAIN_BYTES / (converting->source_bytes + converting->target_bytes), convert_range, &job);
    if (gathered != NULL) allocator_release(gathered, bytes);
    return true;
}

static PyObject *call(PyObject *self, PyObject *const *arguments, size_t flagged_count, PyObject *names) {
    const ConvertPlan *converting = kernel_plan(self);
    if (!kernel_takes(self, flagged_count, names, 1) || !are_arrays(arguments, 1)) return NULL;
    PyObject *result = array_new(&converting->result);
    if (result == NULL || converting->result.size == 0) return result;
    const char *source = array_data(arguments[0]);
    char *target = array_data(result);
    bool done;
    if (converting->result.size < MANY && (converting->plan == NULL || !copy_takes_long(converting->plan))) {
        done = run(converting, source, target);
    } else {
        Py_BEGIN_ALLOW_THREADS done = run(converting, source, target);
        Py_END_ALLOW_THREADS
    }
    if (done) return result;
    Py_DECREF(result);
    return PyErr_NoMemory();
}

static void release(void *plan) {
    ConvertPlan *converting = plan;
    copy_plan_free(converting->plan);
    free(converting);
}

/* bind_convert(extents, strides, from, to): a kernel from an array with these strides to a new one; None where values
 * may not fit. */
static PyObject *bind_convert(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (count != 4) return PyErr_Format(PyExc_TypeError, "bind_convert takes extents, strides and two element types");
    Index extents[MAX_RANK], strides[MAX_RANK], together[MAX_RANK];
    ConvertPlan *converting = calloc(1, sizeof *converting);
    if (converting == NULL) return PyErr_NoMemory();
    int from = element_type_read(arguments[2]);
    if (from < 0 || array_form_read(&converting->result, arguments[0], arguments[3]) < 0) {
        release(converting);
        return NULL;
    }
    int rank = converting->result.rank, found = indices_read(strides, MAX_RANK, arguments[1]);
    if (found != rank) {
        if (found >= 0) PyErr_Format(PyExc_ValueError, "expected %d strides, found %d", rank, found);
        release(converting);
        return NULL;
    }
    bool lies_alike = true;
    for (Index axis = rank - 1, stride = 1; axis >= 0; axis--) {
        extents[axis] = converting->result.shape[axis];
        together[axis] = stride;
        lies_alike = lies_alike && (extents[axis] == 1 || strides[axis] == stride);
        stride *= extents[axis];
    }
    if (!copy_is_addressable(rank, extents, strides, ELEMENT_BYTES[from])) {
        release(converting);
        return PyErr_Format(PyExc_ValueError, "strides %R reach beyond any memory", arguments[1]);
    }
    converting->loop = SIMD_CHOICE(convert_kernels)->loop[from][converting->result.type];
    converting->source_bytes = ELEMENT_BYTES[from];
    converting->target_bytes = ELEMENT_BYTES[converting->result.type];
    if (converting->loop == NULL) {
        release(converting);
        Py_RETURN_NONE;
    }
    if (!lies_alike && converting->result.size > 0) {
        converting->plan = copy_plan(rank, extents, strides, together, ELEMENT_BYTES[from]);
        if (converting->plan == NULL) {
            release(converting);
            return PyErr_NoMemory();
        }
    }
    return kernel_new("convert", call, converting, release);
}

PyMethodDef convert_functions[] = {
    {"bind_convert", (PyCFunction)(void (*)(void))bind_convert, METH_FASTCALL, "A kernel that changes the type."},
    {NULL, NULL, 0, NULL},
};
