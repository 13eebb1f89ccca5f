/* A contraction in another order than that of its result: block by block, each of which is copied to where its elements
 * lie while it is in the cache. Kernels compute from addresses (core/kernel.h), so that the whole is one step of a
 * sequence.
 */
#include "contraction/groups.h"
#include "core/arguments.h"
#include "core/caching_allocator.h"
#include "core/threads.h"
#include "core/topics.h"
#include "copy/permute.h"

#include <stdatomic.h>
#include <stdlib.h>

static const double COPY_OF_AN_ELEMENT = 0.4, WORTH_A_THREAD = 20000.0; /* nanoseconds */

typedef struct {
    PyObject *block; /* a kernel of two operands */
    CopyPlan *copy;  /* of a block to its places in the result */
    ArrayForm result;
    Group outer;             /* the axes from block to block */
    int parts;               /* as many threads as there were when this was bound, each of which needs a workspace */
    double part_nanoseconds; /* that one takes, roughly */
} ScatteredPlan;

typedef struct {
    const ScatteredPlan *plan;
    const char *const *operands;
    char *result;
    atomic_bool failed;
} Call;

static const Kernel *block_of(const ScatteredPlan *plan) { return (const Kernel *)plan->block; }

static void compute_parts(void *context, Index begin, Index end) {
    Call *call = context;
    const ScatteredPlan *plan = call->plan;
    const Kernel *block = block_of(plan);
    const Index first = begin * plan->outer.size / plan->parts, last = end * plan->outer.size / plan->parts;
    const Index item = ELEMENT_BYTES[plan->result.type];
    char *const made = scratch_acquire(block->result->bytes);
    if (made == NULL) {
        atomic_store(&call->failed, true);
        return;
    }
    StridedWalk walk;
    group_walk_start(&walk, &plan->outer, first);
    for (Index number = first; number < last; number++) {
        const char *const read[] = {call->operands[0] + walk.offset[FIRST] * item,
                                    call->operands[1] + walk.offset[SECOND] * item};
        if (!block->compute(block->plan, read, made)) {
            atomic_store(&call->failed, true);
            break;
        }
        copy_run(plan->copy, made, call->result + walk.offset[RESULT] * item);
        group_walk_step(&walk, &plan->outer);
    }
    scratch_release(made, block->result->bytes);
}

static bool compute(const void *scattered, const char *const *operands, char *result) {
    Call call = {scattered, operands, result, false};
    const Index grain = 1 + (Index)(WORTH_A_THREAD / (call.plan->part_nanoseconds + 1));
    parallel_for(call.plan->parts, grain, compute_parts, &call);
    return !call.failed;
}

static void release(void *memory) {
    ScatteredPlan *plan = memory;
    Py_XDECREF(plan->block);
    if (plan->copy != NULL) copy_plan_free(plan->copy);
    free(plan);
}

static bool is_block(PyObject *object) {
    const Kernel *kernel = (const Kernel *)object;
    if (Py_TYPE(object) == &Kernel_Type && kernel->compute != NULL && kernel->operands != NULL &&
        kernel->operand_count == MOST_READ)
        return true;
    PyErr_Format(PyExc_TypeError, "expected a kernel that computes from %d addresses, found %R", MOST_READ, object);
    return false;
}

/* The axes of a block, outermost first, as they lie in the result; and all axes as they reach through the arrays. */
static bool axes_read(ScatteredPlan *plan, PyObject *outer, PyObject *extents, PyObject *strides, PyObject *type,
                      Operand operands[MOST_READ]) {
    ArrayForm form;
    StridedLayout target;
    if (group_read(&plan->outer, outer) < 0 || array_form_read(&form, extents, type) < 0 ||
        !layout_read(&target, &form, strides, form.type))
        return false;
    const ArrayForm *made = block_of(plan)->result;
    for (int role = FIRST; role <= SECOND; role++)
        if (operands[role].type != plan->result.type) {
            PyErr_SetString(PyExc_ValueError, "bind_scattered: operands and result are of one type");
            return false;
        }
    if (made->type != plan->result.type || made->size != form.size) {
        PyErr_SetString(PyExc_ValueError, "bind_scattered: the kernel makes no such block");
        return false;
    }
    Group within = group_empty();
    for (int axis = 0; axis < target.rank; axis++)
        if (group_extend(&within, (GroupAxis){target.extents[axis], {0, 0, target.strides[axis]}}) < 0) return false;
    if (!groups_make_result((const Group *[]){&plan->outer, &within}, 2, plan->result.size)) return false;
    for (int role = FIRST; role <= SECOND; role++)
        for (int axis = 0; axis < plan->outer.rank; axis++)
            if (!reach_read(&operands[role].reach, plan->outer.axes[axis].extent, plan->outer.axes[axis].stride[role]))
                return false;
    const StridedLayout source = compact_layout(&target);
    plan->copy = copy_plan(&source, &target);
    if (plan->copy == NULL) PyErr_NoMemory();
    return plan->copy != NULL;
}

/* bind_scattered(type, shape, kernel, outer axes, extents, strides): the kernel for each block, and a copy of that. */
static PyObject *bind_scattered(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (!arguments_count("bind_scattered", count, 6, "a type, a shape, a kernel, axes, extents and strides") ||
        !is_block(arguments[2]))
        return NULL;
    ScatteredPlan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) return PyErr_NoMemory();
    plan->block = Py_NewRef(arguments[2]);
    const Kernel *block = block_of(plan);
    Operand operands[MOST_READ] = {block->operands[0], block->operands[1]};
    if (array_form_read(&plan->result, arguments[1], arguments[0]) < 0 ||
        !axes_read(plan, arguments[3], arguments[4], arguments[5], arguments[0], operands)) {
        release(plan);
        return NULL;
    }
    plan->parts = (int)smaller(threads_get(), plan->outer.size);
    const double each = block->nanoseconds + COPY_OF_AN_ELEMENT * (double)block->result->size;
    plan->part_nanoseconds = each * (double)plan->outer.size / plan->parts;
    PyObject *kernel = kernel_computes(kernel_new("contract_scattered", kernel_call, plan, release), compute,
                                       &plan->result, each * (double)plan->outer.size);
    kernel = kernel_with_operands(kernel, operands, MOST_READ);
    kernel = kernel_with_workspace(kernel, (size_t)plan->parts * (block->workspace_bytes + block->result->bytes));
    const size_t kept = sizeof *plan + sizeof *block + block->more_bytes;
    return kernel_with_tables(kernel, (long long)(kept / sizeof(int64_t)));
}

PyMethodDef scattered_functions[] = {
    {"bind_scattered", (PyCFunction)(void (*)(void))bind_scattered, METH_FASTCALL,
     "A kernel of two operands for each block of a result, which is copied to where it lies."},
    {NULL, NULL, 0, NULL},
};
