/* Kernels that make elements of another type: a permuted copy where the operand has gaps or another order, then one
 * loop over elements that lie together, shared among threads. The copy is a temporary as large as the operand. */
#include "copy/convert.h"

#include "core/arguments.h"
#include "core/kernel.h"
#include "copy/permute.h"
#include "core/caching_allocator.h"
#include "core/threads.h"
#include "core/topics.h"

#include <stdlib.h>

enum { WORTH_A_THREAD = 1 << 20 };          /* bytes read and written */
enum { WORTH_RELEASING_THE_GIL = 1 << 15 }; /* elements */

typedef struct {
    ArrayForm result;
    ConvertLoop loop;
    CopyPlan *copy;                   /* NULL for an operand that lies as the result does */
    Index source_bytes, target_bytes; /* of an element */
} ConvertPlan;

typedef struct {
    const ConvertPlan *plan;
    const char *source;
    char *target;
} Job;

static void convert_range(void *context, Index begin, Index end) {
    const Job *job = context;
    const ConvertPlan *plan = job->plan;
    plan->loop(job->source + begin * plan->source_bytes, job->target + begin * plan->target_bytes, end - begin);
}

static bool run(const void *convert, const char *const *operands, char *target) {
    const ConvertPlan *plan = convert;
    const char *source = operands[0];
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
    Job job = {plan, source, target};
    parallel_for(count, WORTH_A_THREAD / (plan->source_bytes + plan->target_bytes), convert_range, &job);
    if (gathered != NULL) scratch_release(gathered, bytes);
    return true;
}

static void release(void *plan) {
    copy_plan_free(((ConvertPlan *)plan)->copy);
    free(plan);
}

/* bind_convert(extents, strides, from, to): a kernel from an array with these strides to a new one; None where values
 * may not fit. */
static PyObject *bind_convert(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    ArrayForm result;
    StridedLayout source;
    if (!arguments_count("bind_convert", count, 4, "extents, strides and two element types")) return NULL;
    const int from = element_type_read(arguments[2]);
    if (from < 0 || array_form_read(&result, arguments[0], arguments[3]) < 0 ||
        !layout_read(&source, &result, arguments[1], (ElementType)from))
        return NULL;
    const ConvertLoop loop = SIMD_CHOICE(convert_kernels)->loop[from][result.type];
    if (loop == NULL) Py_RETURN_NONE;
    ConvertPlan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) return PyErr_NoMemory();
    plan->result = result;
    plan->loop = loop;
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
    double nanoseconds = WORTH_NO_GIL / WORTH_RELEASING_THE_GIL * (double)result.size;
    if (plan->copy != NULL && copy_takes_long(plan->copy) && nanoseconds < WORTH_NO_GIL) nanoseconds = WORTH_NO_GIL;
    PyObject *kernel = kernel_new("convert", kernel_call, plan, release);
    return kernel_with_operands(kernel_computes(kernel, run, &plan->result, nanoseconds), &operand, 1);
}

PyMethodDef convert_functions[] = {
    {"bind_convert", (PyCFunction)(void (*)(void))bind_convert, METH_FASTCALL, "A kernel that changes the type."},
    {NULL, NULL, 0, NULL},
};
