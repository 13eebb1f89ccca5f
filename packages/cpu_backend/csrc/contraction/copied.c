/* A contraction between copies: kernels that rearrange one operand or both before another kernel computes, or its result
 * afterwards; and one kernel for all blocks of a result, so that copies are made of one block at a time. All of them
 * compute from addresses (core/kernel.h), so that the whole is one step of a sequence.
 */
#include "core/arguments.h"
#include "core/caching_allocator.h"
#include "core/kernel.h"
#include "core/threads.h"
#include "core/topics.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { COPY_RESULT = MOST_READ, COPIES };

typedef struct {
    PyObject *inner, *copies[COPIES]; /* of either operand, and of the result; NULL for none */
    ArrayForm result;
} CopiedPlan;

static const Kernel *kernel_of(PyObject *object) { return (const Kernel *)object; }

static bool run(PyObject *object, const char *const *operands, char *result) {
    return kernel_of(object)->compute(kernel_of(object)->plan, operands, result);
}

/* The inner product of the copied operands, and its copy. */
static bool multiply(const CopiedPlan *plan, const char *const *operands, char *result) {
    PyObject *last = plan->copies[COPY_RESULT];
    if (last == NULL) return run(plan->inner, operands, result);
    const size_t bytes = kernel_of(plan->inner)->result->bytes;
    char *product = scratch_acquire(bytes);
    if (product == NULL) return false;
    const char *const made[] = {product};
    const bool done = run(plan->inner, operands, product) && run(last, made, result);
    scratch_release(product, bytes);
    return done;
}

static bool compute(const void *copied, const char *const *operands, char *result) {
    const CopiedPlan *plan = copied;
    const char *read[MOST_READ];
    char *held[MOST_READ] = {NULL};
    bool done = true;
    for (int i = 0; i < MOST_READ; i++) {
        read[i] = operands[i];
        if (plan->copies[i] == NULL || !done) continue;
        read[i] = held[i] = scratch_acquire(kernel_of(plan->copies[i])->result->bytes);
        done = held[i] != NULL && run(plan->copies[i], operands + i, held[i]);
    }
    done = done && multiply(plan, read, result);
    for (int i = 0; i < MOST_READ; i++)
        if (held[i] != NULL) scratch_release(held[i], kernel_of(plan->copies[i])->result->bytes);
    return done;
}

static void release(void *memory) {
    CopiedPlan *plan = memory;
    Py_XDECREF(plan->inner);
    for (int i = 0; i < COPIES; i++) Py_XDECREF(plan->copies[i]);
    free(plan);
}

static bool takes(PyObject *object, int operands) {
    if (Py_TYPE(object) == &Kernel_Type && kernel_of(object)->compute != NULL && kernel_of(object)->operands != NULL &&
        kernel_of(object)->operand_count == operands)
        return true;
    PyErr_Format(PyExc_TypeError, "expected a kernel that computes from %d addresses, found %R", operands, object);
    return false;
}

/* Whether what a kernel reads lies in what a copy has made. */
static bool suits(const Operand *operand, const ArrayForm *made) {
    const Reach *reach = &operand->reach;
    if (operand->type == made->type && (reach->size == 0 || (reach->low >= 0 && reach->high < made->size))) return true;
    PyErr_SetString(PyExc_ValueError, "a copy is not what is read of it");
    return false;
}

static bool copies_read(CopiedPlan *plan, PyObject *const *copies, Operand operands[MOST_READ]) {
    for (int i = 0; i < COPIES; i++) {
        if (copies[i] == Py_None) continue;
        if (!takes(copies[i], 1)) return false;
        plan->copies[i] = Py_NewRef(copies[i]);
        const Operand *read = kernel_of(copies[i])->operands;
        if (i == COPY_RESULT) return suits(read, kernel_of(plan->inner)->result);
        if (!suits(operands + i, kernel_of(copies[i])->result)) return false;
        operands[i] = *read;
    }
    return true;
}

/* bind_copied(type, shape, kernel, copies): the kernel after copies of its operands and before one of its result. */
static PyObject *bind_copied(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (!arguments_count("bind_copied", count, 6, "a type, a shape, a kernel and three copies or None")) return NULL;
    if (!takes(arguments[2], MOST_READ)) return NULL;
    CopiedPlan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) return PyErr_NoMemory();
    plan->inner = Py_NewRef(arguments[2]);
    const Kernel *inner = kernel_of(plan->inner);
    Operand operands[MOST_READ] = {inner->operands[0], inner->operands[1]};
    if (array_form_read(&plan->result, arguments[1], arguments[0]) < 0 || !copies_read(plan, arguments + 3, operands)) {
        release(plan);
        return NULL;
    }
    const PyObject *last = plan->copies[COPY_RESULT];
    const ArrayForm *made = last == NULL ? inner->result : ((const Kernel *)last)->result;
    if (made->type != plan->result.type || made->size != plan->result.size) {
        release(plan);
        return PyErr_Format(PyExc_ValueError, "bind_copied: the result has another type or number of elements");
    }
    double nanoseconds = inner->nanoseconds, shared_from = inner->shared_from;
    size_t workspace = inner->workspace_bytes + (last == NULL ? 0 : inner->result->bytes);
    size_t kept = sizeof *plan + sizeof *inner + inner->more_bytes;
    for (int i = 0; i < COPIES; i++) {
        if (plan->copies[i] == NULL) continue;
        nanoseconds += kernel_of(plan->copies[i])->nanoseconds;
        kept += sizeof(Kernel) + kernel_of(plan->copies[i])->more_bytes;
        if (i != COPY_RESULT) workspace += kernel_of(plan->copies[i])->result->bytes;
    }
    PyObject *kernel =
        kernel_computes(kernel_new("contract_copied", kernel_call, plan, release), compute, &plan->result, nanoseconds);
    kernel = kernel_with_operands(kernel_shared_from(kernel, shared_from), operands, MOST_READ);
    return kernel_with_tables(kernel_with_workspace(kernel, workspace), (long long)(kept / sizeof(int64_t)));
}

static const double LONG_BLOCK = 2e6; /* nanoseconds, from which on a block is shared, and BLAS lends its threads */

typedef struct {
    PyObject *block;
    Index count, steps[MOST_READ], result_step; /* bytes from block to block */
    int parts;                                  /* as many threads as there were, each of which needs a workspace */
    ArrayForm result;
} RepeatedPlan;

typedef struct {
    const RepeatedPlan *plan;
    const char *const *operands;
    char *result;
    atomic_bool failed;
} BlocksCall;

/* The blocks of some parts. */
static void compute_parts(void *context, Index begin, Index end) {
    BlocksCall *call = context;
    const RepeatedPlan *plan = call->plan;
    const Index first = begin * plan->count / plan->parts, last = end * plan->count / plan->parts;
    for (Index i = first; i < last; i++) {
        const char *read[MOST_READ];
        for (int k = 0; k < MOST_READ; k++) read[k] = call->operands[k] + i * plan->steps[k];
        if (!run(plan->block, read, call->result + i * plan->result_step)) atomic_store(&call->failed, true);
    }
}

/* Blocks side by side, as most are too little to be shared; one after the other where there is but one part. */
static bool compute_blocks(const void *repeated, const char *const *operands, char *result) {
    BlocksCall call = {repeated, operands, result, false};
    parallel_for(call.plan->parts, 1, compute_parts, &call);
    return !call.failed;
}

static void release_blocks(void *memory) {
    Py_DECREF(((RepeatedPlan *)memory)->block);
    free(memory);
}

/* Notes how many blocks there are, and how far apart: a tuple of three. */
static bool blocks_read(RepeatedPlan *plan, PyObject *blocks, Operand operands[MOST_READ]) {
    Index numbers[1 + MOST_READ];
    const int found = indices_read(numbers, 1 + MOST_READ, blocks);
    if (found < 0) return false;
    if (found != 1 + MOST_READ || numbers[0] < 1) {
        PyErr_SetString(PyExc_ValueError, "bind_repeated: expected a number of blocks, and a step of each operand");
        return false;
    }
    plan->count = numbers[0];
    for (int i = 0; i < MOST_READ; i++) {
        if (!reach_read(&operands[i].reach, plan->count, numbers[1 + i])) return false;
        plan->steps[i] = numbers[1 + i] * ELEMENT_BYTES[operands[i].type];
    }
    return true;
}

/* bind_repeated(type, shape, kernel, (count, steps)): the kernel for each block of a result; blocks follow one another. */
static PyObject *bind_repeated(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (!arguments_count("bind_repeated", count, 4, "a type, a shape, a kernel and how its blocks lie")) return NULL;
    if (!takes(arguments[2], MOST_READ)) return NULL;
    const Kernel *block = kernel_of(arguments[2]);
    Operand operands[MOST_READ] = {block->operands[0], block->operands[1]};
    RepeatedPlan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) return PyErr_NoMemory();
    plan->block = Py_NewRef(arguments[2]);
    if (array_form_read(&plan->result, arguments[1], arguments[0]) < 0 || !blocks_read(plan, arguments[3], operands)) {
        release_blocks(plan);
        return NULL;
    }
    const ArrayForm *made = block->result, *all = &plan->result;
    if (made->type != all->type || all->size % plan->count != 0 || made->size != all->size / plan->count) {
        release_blocks(plan);
        return PyErr_Format(PyExc_ValueError, "bind_repeated: the result is not so many blocks");
    }
    plan->result_step = (Index)made->bytes;
    const int threads = threads_get(); /* three blocks leave one of two threads without work for half of the time */
    const bool is_even = plan->count >= 2 * threads || plan->count % threads == 0;
    plan->parts = is_even && block->nanoseconds < LONG_BLOCK ? threads : 1;
    const double blocks = (double)plan->count;
    PyObject *kernel = kernel_computes(kernel_new("contract_blocks", kernel_call, plan, release_blocks), compute_blocks,
                                       &plan->result, block->nanoseconds * blocks);
    kernel = kernel_with_operands(kernel, operands, MOST_READ);
    kernel = kernel_with_workspace(kernel, (size_t)plan->parts * block->workspace_bytes);
    const size_t kept = sizeof *plan + sizeof *block + block->more_bytes;
    return kernel_with_tables(kernel, (long long)(kept / sizeof(int64_t)));
}

PyMethodDef copied_functions[] = {
    {"bind_copied", (PyCFunction)(void (*)(void))bind_copied, METH_FASTCALL,
     "A kernel of two operands after copies of them, and before one of its result."},
    {"bind_repeated", (PyCFunction)(void (*)(void))bind_repeated, METH_FASTCALL,
     "A kernel of two operands for each block of its result."},
    {NULL, NULL, 0, NULL},
};
