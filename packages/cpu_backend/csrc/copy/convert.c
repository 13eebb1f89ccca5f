/* Kernels that make elements of another type: one loop over elements that lie together, shared among threads. Of an operand
 * with gaps or in another order, tiles of a permuted copy are converted while they are in the cache. Where a value does not
 * fit, all is left to a fallback, which raises the error or puts another value there. */
#include "copy/convert.h"

#include "core/arguments.h"
#include "core/kernel.h"
#include "copy/permute.h"
#include "core/threads.h"
#include "core/topics.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { WORTH_A_THREAD = 1 << 20 };          /* bytes read and written */
enum { WORTH_RELEASING_THE_GIL = 1 << 15 }; /* elements */
enum { STREAMED_AT_ONCE = 1 << 12 };        /* bytes */

typedef struct {
    ArrayForm result;
    ConvertLoop loop;
    CheckedLoop checked;              /* in its place */
    PyObject *fallback;               /* of a checked loop */
    CopyPlan *copy;                   /* NULL for an operand that lies as the result does */
    bool first;                       /* elements become narrower before they are copied */
    bool streamed;                    /* what is made of it is written past the cache */
    Index source_bytes, target_bytes; /* of an element */
} ConvertPlan;

typedef struct {
    const ConvertPlan *plan;
    const char *source;
    char *target;
    atomic_bool outside; /* whether some value had no counterpart */
} Job;

static void convert_run(Job *job, const char *source, char *target, Index count) {
    const ConvertPlan *plan = job->plan;
    if (plan->checked == NULL) plan->loop(source, target, count);
    else if (!plan->checked(source, target, count)) atomic_store(&job->outside, true);
}

static void convert_range(void *context, Index begin, Index end) {
    Job *job = context;
    const ConvertPlan *plan = job->plan;
    convert_run(job, job->source + begin * plan->source_bytes, job->target + begin * plan->target_bytes, end - begin);
}

/* Elements in the order of the result, of a plan that hands them over. */
static void take_run(void *context, const char *elements, Index place, Index bytes) {
    Job *job = context;
    const ConvertPlan *plan = job->plan;
    const Index item = plan->source_bytes, wide = plan->target_bytes, most = STREAMED_AT_ONCE / wide;
    char *target = job->target + place / item * wide;
    if (!plan->streamed) {
        convert_run(job, elements, target, bytes / item);
        return;
    }
    _Alignas(CACHE_LINE) char made[STREAMED_AT_ONCE];
    for (Index left = bytes / item, count; left > 0; left -= count, elements += count * item, target += count * wide) {
        count = smaller(left, most);
        convert_run(job, elements, made, count);
        SIMD_CHOICE(copy_kernels)->stream_run(made, target, count * wide);
    }
}

/* Elements as they lie in the operand, of a plan that is given those of the result. */
static void give_run(void *context, Index place, char *elements, Index bytes) {
    Job *job = context;
    const ConvertPlan *plan = job->plan;
    const Index item = plan->target_bytes;
    convert_run(job, job->source + place / item * plan->source_bytes, elements, bytes / item);
}

static bool convert_all(const ConvertPlan *plan, const char *source, char *target, bool *outside) {
    const Index count = plan->result.size;
    if (count == 0) return true;
    Job job = {.plan = plan, .source = source, .target = target};
    bool done = true;
    if (plan->copy != NULL && plan->first)
        done = copy_given_elements(plan->copy, give_run, &job, target, plan->streamed);
    else if (plan->copy != NULL) done = copy_hand_over(plan->copy, source, take_run, &job);
    else parallel_for(count, WORTH_A_THREAD / (plan->source_bytes + plan->target_bytes), convert_range, &job);
    *outside = atomic_load(&job.outside);
    return done;
}

static bool run(const void *plan, const char *const *operands, char *target) {
    bool outside;
    return convert_all(plan, operands[0], target, &outside);
}

static PyObject *call_checked(PyObject *self, PyObject *const *arguments, size_t flagged_count, PyObject *names) {
    const ConvertPlan *plan = kernel_plan(self);
    if (!kernel_takes_arrays(self, flagged_count, names, arguments, 1)) return NULL;
    PyObject *result = array_new(&plan->result);
    if (result == NULL) return NULL;
    const char *source = array_data(arguments[0]);
    char *target = array_data(result);
    bool outside = false, done;
    if (plan->result.size <= WORTH_RELEASING_THE_GIL) {
        done = convert_all(plan, source, target, &outside);
    } else {
        Py_BEGIN_ALLOW_THREADS done = convert_all(plan, source, target, &outside);
        Py_END_ALLOW_THREADS
    }
    if (done && !outside) return result;
    Py_DECREF(result);
    return done ? PyObject_Vectorcall(plan->fallback, arguments, 1, NULL) : PyErr_NoMemory();
}

static void release(void *convert) {
    ConvertPlan *plan = convert;
    copy_plan_free(plan->copy);
    Py_XDECREF(plan->fallback);
    free(plan);
}

/* How an operand that does not lie as the result does is read; NULL when memory is short. Within 32 MiB of cache, 16 MB read
 * and written take 0.9 of the time through it, and 24 MB 1.7 of it. */
static CopyPlan *copy_of(ConvertPlan *plan, const StridedLayout *source) {
    StridedLayout narrow = *source;
    narrow.item_bytes = (int)plan->target_bytes;
    const StridedLayout result = compact_layout(&narrow), together = compact_layout(source);
    CopyPlan *first = plan->target_bytes < plan->source_bytes ? copy_plan_given(&narrow, &result) : NULL;
    plan->first = first != NULL;
    plan->streamed = 2 * (plan->result.bytes + (size_t)(source->reach.size * plan->source_bytes)) >= cpu_far_bytes();
    return plan->first ? first : copy_plan_handed(source, &together);
}

/* bind_convert(extents, strides, from, to, fallback): a kernel from an array with these strides to a new one; None where
 * there is no such loop. */
static PyObject *bind_convert(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    ArrayForm result;
    StridedLayout source;
    if (!arguments_count("bind_convert", count, 5, "extents, strides, two element types and a fallback")) return NULL;
    const int from = element_type_read(arguments[2]);
    if (from < 0 || array_form_read(&result, arguments[0], arguments[3]) < 0 ||
        !layout_read(&source, &result, arguments[1], (ElementType)from))
        return NULL;
    const ConvertKernels *kernels = SIMD_CHOICE(convert_kernels);
    const ConvertLoop loop = kernels->loop[from][result.type];
    const CheckedLoop checked = kernels->checked[from][result.type];
    if (loop == NULL && checked == NULL) Py_RETURN_NONE;
    if (checked != NULL && !PyCallable_Check(arguments[4]))
        return PyErr_Format(PyExc_TypeError, "bind_convert: what does not fit needs a fallback, found %R",
                            arguments[4]);
    ConvertPlan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) return PyErr_NoMemory();
    plan->result = result;
    plan->loop = loop;
    plan->checked = checked;
    plan->fallback = Py_NewRef(arguments[4]);
    plan->source_bytes = ELEMENT_BYTES[from];
    plan->target_bytes = ELEMENT_BYTES[result.type];
    const StridedLayout together = compact_layout(&source);
    if (!lie_alike(&source, &together) && result.size > 0) {
        plan->copy = copy_of(plan, &source);
        if (plan->copy == NULL) {
            release(plan);
            return PyErr_NoMemory();
        }
    }
    const Operand operand = {(ElementType)from, source.reach, false};
    if (checked != NULL) return kernel_with_operands(kernel_new("convert", call_checked, plan, release), &operand, 1);
    double nanoseconds = WORTH_NO_GIL / WORTH_RELEASING_THE_GIL * (double)result.size;
    if (plan->copy != NULL && copy_takes_long(plan->copy) && nanoseconds < WORTH_NO_GIL) nanoseconds = WORTH_NO_GIL;
    PyObject *kernel = kernel_new("convert", kernel_call, plan, release);
    return kernel_with_operands(kernel_computes(kernel, run, &plan->result, nanoseconds), &operand, 1);
}

PyMethodDef convert_functions[] = {
    {"bind_convert", (PyCFunction)(void (*)(void))bind_convert, METH_FASTCALL, "A kernel that changes the type."},
    {NULL, NULL, 0, NULL},
};
