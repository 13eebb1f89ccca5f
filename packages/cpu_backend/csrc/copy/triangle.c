/* One side of a diagonal of matrices, and zeros on the other: lines along the faster of the two axes, each of elements
 * that are kept and of zeros. An operand with gaps or another order is copied first, and loses the others then. */
#include "core/arguments.h"
#include "core/kernel.h"
#include "core/moved_bytes.h"
#include "core/threads.h"
#include "core/topics.h"
#include "copy/permute.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    ArrayForm result;
    CopyPlan *copy;           /* NULL for an operand that lies as the result does */
    Index lines, slow, among; /* of all matrices; extent of the slower axis; lines between two of its steps */
    Index extent, piece;      /* of a line; bytes of what has one place in it */
    Index shift;              /* line s of a matrix is kept from the place s + shift on, or up to it */
    bool from;
} TrianglePlan;

typedef struct {
    const TrianglePlan *plan;
    const char *source; /* NULL where the elements are there */
    char *target;
} Job;

static void fill_lines(void *context, Index begin, Index end) {
    const Job *job = context;
    const TrianglePlan *plan = job->plan;
    const Index bytes = plan->extent * plan->piece;
    for (Index line = begin; line < end; line++) {
        Index cut = line / plan->among % plan->slow + plan->shift;
        cut = (cut < 0 ? 0 : smaller(cut, plan->extent)) * plan->piece;
        const Index kept = plan->from ? cut : 0, zeros = plan->from ? 0 : cut;
        char *target = job->target + line * bytes;
        if (job->source)
            move_bytes(target + kept, job->source + line * bytes + kept, (size_t)(plan->from ? bytes - cut : cut));
        memset(target + zeros, 0, (size_t)(plan->from ? cut : bytes - cut));
    }
}

static bool compute(const void *memory, const char *const *operands, char *target) {
    const TrianglePlan *plan = memory;
    Job job = {plan, plan->copy ? NULL : operands[0], target};
    if (plan->result.size == 0) return true;
    if (plan->copy) copy_run(plan->copy, operands[0], target);
    parallel_for(plan->lines, 1 + LONG_COPY / (plan->extent * plan->piece), fill_lines, &job);
    return true;
}

static void release(void *memory) {
    TrianglePlan *plan = memory;
    if (plan->copy) copy_plan_free(plan->copy);
    free(plan);
}

/* Extents between two axes, multiplied. */
static Index among(const ArrayForm *form, Index begin, Index end) {
    Index product = 1;
    for (Index axis = begin; axis < end; axis++) product *= form->shape[axis];
    return product;
}

/* bind_triangle(shape, dtype, strides, slow, fast, shift, from): a kernel that keeps of each line along the axis `fast`
 * what lies at s + shift or behind it, s being the index along the axis `slow`; or else what lies before it. */
static PyObject *bind_triangle(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    TrianglePlan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) return PyErr_NoMemory();
    ArrayForm *form = &plan->result;
    StridedLayout source;
    Index numbers[4] = {0};
    bool good =
        arguments_count("bind_triangle", count, 7, "a shape, an element type, strides, axes, a shift, a side") &&
        array_form_read(form, arguments[0], arguments[1]) == 0 && layout_read(&source, form, arguments[2], form->type);
    for (int k = 0; good && k < 4; k++) {
        numbers[k] = PyLong_AsLongLong(arguments[3 + k]);
        good = !PyErr_Occurred();
    }
    const Index slow = numbers[0], fast = numbers[1], shift = numbers[2];
    if (good && (slow < 0 || slow >= fast || fast >= form->rank || magnitude(shift) > FARTHEST)) {
        PyErr_SetString(PyExc_ValueError, "bind_triangle: axes and shift do not fit the shape");
        good = false;
    }
    if (good) {
        const StridedLayout together = compact_layout(&source);
        plan->among = among(form, slow + 1, fast);
        plan->slow = form->shape[slow];
        plan->extent = form->shape[fast];
        plan->piece = among(form, fast + 1, form->rank) * ELEMENT_BYTES[form->type];
        plan->lines = among(form, 0, slow) * plan->slow * plan->among;
        plan->shift = shift;
        plan->from = numbers[3] != 0;
        if (form->size > 0 && !lie_alike(&source, &together)) plan->copy = copy_plan(&source, &together);
        if (form->size > 0 && !lie_alike(&source, &together) && plan->copy == NULL) {
            PyErr_NoMemory();
            good = false;
        }
    }
    if (!good) {
        release(plan);
        return NULL;
    }
    const Operand operand = {form->type, source.reach, false};
    const double nanoseconds = WORTH_NO_GIL / LONG_COPY * (double)form->bytes;
    PyObject *kernel = kernel_new("triangle", kernel_call, plan, release);
    return kernel_with_operands(kernel_computes(kernel, compute, form, nanoseconds), &operand, 1);
}

PyMethodDef triangle_functions[] = {
    {"bind_triangle", (PyCFunction)(void (*)(void))bind_triangle, METH_FASTCALL, "Kernel of one side of a diagonal."},
    {NULL, NULL, 0, NULL},
};
