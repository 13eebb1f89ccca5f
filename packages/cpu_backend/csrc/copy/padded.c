/* One value around the elements of an array, which may be cropped: the value fills what lies between its rows in the
 * result, in order, and a strided copy writes the rows. Each element is written once. */
#include "core/arguments.h"
#include "core/kernel.h"
#include "core/strided_walk.h"
#include "core/topics.h"
#include "copy/permute.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    ArrayForm result;
    CopyPlan *copy;            /* of the elements that are kept; NULL without any */
    Index source_start, start; /* bytes to the first of them in the operand; elements to it in the result */
    Index row, rows;           /* elements that are neighbours in the result; how often */
    int rank;                  /* of the loops over rows */
    Index loops[2 * MAX_RANK]; /* extents and strides in the result */
} PaddedPlan;

static void fill(char *target, const char *value, Index count, Index item) {
#define FILL(T)                                                                                                        \
    {                                                                                                                  \
        T one;                                                                                                         \
        memcpy(&one, value, sizeof one);                                                                               \
        for (Index k = 0; k < count; k++) memcpy(target + k * (Index)sizeof one, &one, sizeof one);                    \
        return;                                                                                                        \
    }
    typedef struct {
        uint64_t half[2];
    } Sixteen;
    switch (item) {
    case 1: memset(target, *value, (size_t)count); return;
    case 4: FILL(uint32_t)
    case 8: FILL(uint64_t)
    default: FILL(Sixteen)
    }
#undef FILL
}

static bool compute(const void *memory, const char *const *operands, char *target) {
    const PaddedPlan *plan = memory;
    const Index item = ELEMENT_BYTES[plan->result.type];
    const char *value = operands[1];
    Index written = 0;
    StridedWalk walk;
    if (plan->rows > 0) strided_walk_start(&walk, plan->rank, plan->loops, 1, 0);
    for (Index row = 0; row < plan->rows; row++) {
        const Index begin = plan->start + walk.offset[0];
        fill(target + written * item, value, begin - written, item);
        written = begin + plan->row;
        strided_walk_step(&walk, plan->rank, plan->loops, 1);
    }
    fill(target + written * item, value, plan->result.size - written, item);
    if (plan->copy != NULL) copy_run(plan->copy, operands[0] + plan->source_start, target + plan->start * item);
    return true;
}

static void release(void *memory) {
    PaddedPlan *plan = memory;
    if (plan->copy != NULL) copy_plan_free(plan->copy);
    free(plan);
}

/* The elements that are kept: of each axis, those that an offset of `low` leaves within the result. */
static bool plan_kept(PaddedPlan *plan, const StridedLayout *source, const Index *lows) {
    const ArrayForm *result = &plan->result;
    const int item = ELEMENT_BYTES[result->type];
    Index extents[MAX_RANK], strides[MAX_RANK], step = 1;
    StridedLayout from, to;
    for (int axis = result->rank - 1; axis >= 0; axis--) {
        const Index low = lows[axis], n = source->extents[axis], first = low < 0 ? -low : 0;
        const Index end = result->shape[axis] - low < n ? result->shape[axis] - low : n;
        extents[axis] = first < end ? end - first : 0;
        strides[axis] = step;
        plan->source_start += extents[axis] > 0 ? first * source->strides[axis] * item : 0;
        plan->start += extents[axis] > 0 && low > 0 ? low * step : 0;
        step *= result->shape[axis];
    }
    strided_layout(&from, result->rank, extents, source->strides, item); /* parts of layouts that were checked */
    strided_layout(&to, result->rank, extents, strides, item);
    if (from.reach.size == 0) return true;
    plan->copy = copy_plan(&from, &to);
    int axis = result->rank - 1;
    for (plan->row = 1; axis >= 0 && strides[axis] == plan->row; axis--) plan->row *= extents[axis];
    plan->rank = axis + 1;
    plan->rows = from.reach.size / plan->row;
    for (int k = 0; k <= axis; k++) {
        plan->loops[2 * k] = extents[k];
        plan->loops[2 * k + 1] = strides[k];
    }
    return plan->copy != NULL;
}

/* bind_padded(shape, dtype, extents, strides, lows): a kernel of an array with these extents and strides, and one of a
 * single element. Element i of an axis comes to i + low, where the result has that. */
static PyObject *bind_padded(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    ArrayForm form;
    StridedLayout source;
    Index lows[MAX_RANK];
    PaddedPlan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) return PyErr_NoMemory();
    bool good = arguments_count("bind_padded", count, 5, "a shape, an element type, extents, strides and places") &&
                array_form_read(&plan->result, arguments[0], arguments[1]) == 0 &&
                array_form_read(&form, arguments[2], arguments[1]) == 0 &&
                layout_read(&source, &form, arguments[3], form.type);
    const int places = good ? indices_read(lows, MAX_RANK, arguments[4]) : -1;
    good = places >= 0;
    if (good) good = places == form.rank && plan->result.rank == form.rank;
    for (int axis = 0; good && axis < places; axis++) good = lows[axis] >= -FARTHEST && lows[axis] <= FARTHEST;
    if (places >= 0 && !good) PyErr_SetString(PyExc_ValueError, "bind_padded: shape, extents and places do not fit");
    if (good && !plan_kept(plan, &source, lows)) {
        PyErr_NoMemory();
        good = false;
    }
    if (!good) {
        release(plan);
        return NULL;
    }
    const Operand operands[] = {{form.type, source.reach, false}, {form.type, NO_AXES, false}};
    const double nanoseconds = WORTH_NO_GIL / LONG_COPY * (double)plan->result.bytes;
    PyObject *kernel = kernel_new("padded", kernel_call, plan, release);
    return kernel_with_operands(kernel_computes(kernel, compute, &plan->result, nanoseconds), operands, 2);
}

PyMethodDef padded_functions[] = {
    {"bind_padded", (PyCFunction)(void (*)(void))bind_padded, METH_FASTCALL, "Kernel of a value around an array."},
    {NULL, NULL, 0, NULL},
};
