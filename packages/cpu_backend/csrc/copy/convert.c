/* Kernels that make elements of another type: a permuted copy where the operand has gaps or another order, then one
 * loop over elements that lie together, shared among threads. The copy is a temporary as large as the operand. Where
 * a value does not fit, all is left to a fallback, which raises the error or puts another value there. */
#include "copy/convert.h"

#include "core/arguments.h"
#include "core/kernel.h"
#include "copy/permute.h"
#include "core/caching_allocator.h"
#include "core/threads.h"
#include "core/topics.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { WORTH_A_THREAD = 1 << 20 };          /* bytes read and written */
enum { WORTH_RELEASING_THE_GIL = 1 << 15 }; /* elements */

typedef struct {
    ArrayForm result;
    ConvertLoop loop;
    CheckedLoop checked;              /* in its place */
    PyObject *fallback;               /* of a checked loop */
    CopyPlan *copy;                   /* NULL for an operand that lies as the result does */
    Index source_bytes, target_bytes; /* of an element */
} ConvertPlan;

typedef struct {
    const ConvertPlan *plan;
    const char *source;
    char *target;
    atomic_bool outside; /* whether some value had no counterpart */
} Job;

static void convert_range(void *context, Index begin, Index end) {
    Job *job = context;
    const ConvertPlan *plan = job->plan;
    const char *source = job->source + begin * plan->source_bytes;
    char *target = job->target + begin * plan->target_bytes;
    if (plan->checked == NULL) plan->loop(source, target, end - begin);
    else if (!plan->checked(source, target, end - begin)) atomic_store(&job->outside, true);
}

static bool convert_all(const ConvertPlan *plan, const char *source, char *target, bool *outside) {
    const Index count = plan->result.size;
    const size_t bytes = (size_t)(count * plan->source_bytes);
    void *gathered = NULL;
    if (count == 0) return true;
    if (plan->copy != NULL) {
        gathered = scratch_acquire(bytes);
        if (gathered == NULL) return false;
        copy_run(plan->copy, source, gathered);
        source = gathered;
    }
    Job job = {.plan = plan, .source = source, .target = target};
    parallel_for(count, WORTH_A_THREAD / (plan->source_bytes + plan->target_bytes), convert_range, &job);
    if (gathered != NULL) scratch_release(gathered, bytes);
    *outside = atomic_load(&job.outside);
    return true;
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
        plan->copy = copy_plan(&source, &together);
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
