/* Contractions that are a small batch of small matrix products: found from the forms, and bound to a loop of tiny.h.
 *
 * A contraction of a network binds a kernel for each distinct step, so that finding out whether this one fits is most of
 * what a first call costs. Axes that occur in the same operands are walked as one, where they are evenly spaced.
 */
#include "elementwise/tiny.h"

#include "core/arguments.h"
#include "core/kernel.h"
#include "core/topics.h"

#include <stdlib.h>

enum { FIRST, SECOND, RESULT, ROLES };
static const double CALL_NANOSECONDS = 20.0;

typedef struct {
    ArrayForm result;
    bool swapped; /* the first argument is the right operand */
    ProductLoop multiply;
    TinyProduct product;
} ProductPlan;

/* The axes of an operand, in the tensor's order. */
typedef struct {
    int rank;
    Index labels[MAX_RANK], extents[MAX_RANK], strides[MAX_RANK];
    Index size;
} Factor;

/* Axes of the same operands, walked as one; strides of an operand that lacks them are 0. */
typedef struct {
    Index extent, strides[ROLES];
} Group;

/* Groups by the operands that have them: bit 0 for the first one, bit 1 for the second, bit 2 for the result. */
enum { INNER = 3, FREE_FIRST = 5, FREE_SECOND = 6, BATCH = 7, GROUPS = 8 };

typedef enum { FITS, DOES_NOT_FIT, FAILED } Fit;

HOT static bool compute_product(const void *tiny, const char *const *operands, char *result) {
    const ProductPlan *plan = tiny;
    plan->multiply(&plan->product, operands[plan->swapped], operands[!plan->swapped], result);
    return true;
}

static int place_of(const Index *labels, int count, Index label) {
    for (int i = 0; i < count; i++)
        if (labels[i] == label) return i;
    return -1;
}

/* Reads labels, extents and strides; a size beyond `most` is some number above it. */
static bool factor_read(Factor *factor, PyObject *const *arguments, Index most) {
    factor->rank = indices_read(factor->labels, MAX_RANK, arguments[0]);
    const int extents = factor->rank < 0 ? -1 : indices_read(factor->extents, MAX_RANK, arguments[1]);
    const int strides = extents < 0 ? -1 : indices_read(factor->strides, MAX_RANK, arguments[2]);
    if (strides < 0) return false;
    if (extents != factor->rank || strides != factor->rank) {
        PyErr_Format(PyExc_ValueError, "bind_tiny_contraction: %R, %R and %R are not of one length", arguments[0],
                     arguments[1], arguments[2]);
        return false;
    }
    factor->size = 1;
    for (int axis = 0; axis < factor->rank; axis++) {
        if (factor->extents[axis] < 0) {
            PyErr_Format(PyExc_ValueError, "extents must not be negative, found %R", arguments[1]);
            return false;
        }
        if (place_of(factor->labels, axis, factor->labels[axis]) >= 0) {
            PyErr_Format(PyExc_ValueError, "bind_tiny_contraction: %R repeats a label", arguments[0]);
            return false;
        }
        const Index extent = factor->extents[axis];
        if (extent == 0 || factor->size <= most) factor->size *= extent > most ? most + 1 : extent;
    }
    return true;
}

/* Puts an axis inside the group of its operands; false where the two are not evenly spaced. */
static bool join_axis(Group *group, Index extent, const Index strides[ROLES]) {
    if (group->extent > 1)
        for (int role = 0; role < ROLES; role++) {
            Index whole;
            if (__builtin_mul_overflow(extent, strides[role], &whole) || group->strides[role] != whole) return false;
        }
    group->extent *= extent;
    for (int role = 0; role < ROLES; role++) group->strides[role] = strides[role];
    return true;
}

/* Contracted axes from the slowest to the fastest in the larger operand; equal ones as they come. */
static void sort_inner(int *axes, int count, const Factor *a, const Factor *b) {
    Index rank[MAX_RANK]; /* minus the magnitude of the stride, which cannot overflow */
    for (int i = 0; i < count; i++) {
        const int other = place_of(b->labels, b->rank, a->labels[axes[i]]);
        const Index stride = a->size >= b->size ? a->strides[axes[i]] : b->strides[other];
        rank[i] = stride < 0 ? stride : -stride;
    }
    for (int i = 1; i < count; i++) {
        const Index moved = rank[i];
        const int axis = axes[i];
        int k = i;
        for (; k > 0 && moved < rank[k - 1]; k--) {
            rank[k] = rank[k - 1];
            axes[k] = axes[k - 1];
        }
        rank[k] = moved;
        axes[k] = axis;
    }
}

/* Fills in the groups and the shape of the result, whose labels are distinct and come from the operands. */
static Fit groups_find(Group groups[GROUPS], Index shape[MAX_RANK], const Factor *a, const Factor *b,
                       const Index *labels, int rank, Index most) {
    Index strides[MAX_RANK], size = 1;
    int in_a[MAX_RANK], in_b[MAX_RANK], inner[MAX_RANK], inner_count = 0, met = 0;
    for (int axis = 0; axis < rank; axis++) {
        in_a[axis] = place_of(a->labels, a->rank, labels[axis]);
        in_b[axis] = place_of(b->labels, b->rank, labels[axis]);
        if ((in_a[axis] < 0 && in_b[axis] < 0) || place_of(labels, axis, labels[axis]) >= 0) {
            PyErr_Format(PyExc_ValueError, "bind_tiny_contraction: label %lld of the result is repeated, or unknown",
                         (long long)labels[axis]);
            return FAILED;
        }
        met += (in_a[axis] >= 0) + (in_b[axis] >= 0);
        shape[axis] = in_a[axis] >= 0 ? a->extents[in_a[axis]] : b->extents[in_b[axis]];
        strides[axis] = size;
        size *= shape[axis];
        if (size > most) return DOES_NOT_FIT;
    }
    for (int axis = 0; axis < a->rank; axis++) {
        const int other = place_of(b->labels, b->rank, a->labels[axis]);
        if (other >= 0 && b->extents[other] != a->extents[axis]) {
            PyErr_Format(PyExc_ValueError, "bind_tiny_contraction: label %lld has two extents",
                         (long long)a->labels[axis]);
            return FAILED;
        }
        if (place_of(labels, rank, a->labels[axis]) >= 0) continue;
        if (other < 0) return DOES_NOT_FIT; /* one operand sums it by itself */
        inner[inner_count++] = axis;
        met += 2;
    }
    if (met != a->rank + b->rank) return DOES_NOT_FIT;
    if (inner_count > 1) sort_inner(inner, inner_count, a, b);
    for (int axis = rank - 1; axis >= 0; axis--) {
        if (shape[axis] == 1) continue;
        const Index along[ROLES] = {in_a[axis] < 0 ? 0 : a->strides[in_a[axis]],
                                    in_b[axis] < 0 ? 0 : b->strides[in_b[axis]], strides[axis]};
        const int group = (in_a[axis] >= 0) + 2 * (in_b[axis] >= 0) + 4;
        if (!join_axis(&groups[group], shape[axis], along)) return DOES_NOT_FIT;
    }
    for (int i = 0; i < inner_count; i++) {
        const int axis = inner[i], other = place_of(b->labels, b->rank, a->labels[axis]);
        const Index along[ROLES] = {a->strides[axis], b->strides[other], 0};
        if (a->extents[axis] != 1 && !join_axis(&groups[INNER], a->extents[axis], along)) return DOES_NOT_FIT;
    }
    return FITS;
}

/* The product that the groups are: the right factor has the fastest axis of the result. */
static Fit product_of(TinyProduct *p, bool *swapped, const Group groups[GROUPS], Index most) {
    const Group *first = &groups[FREE_FIRST], *second = &groups[FREE_SECOND], *inner = &groups[INNER];
    const Group *batch = &groups[BATCH];
    *swapped = first->extent > 1 && first->strides[RESULT] == 1;
    const Group *rows = *swapped ? second : first, *columns = *swapped ? first : second;
    const int left = *swapped ? SECOND : FIRST, right = *swapped ? FIRST : SECOND;
    if (columns->extent > 1 ? columns->strides[RESULT] != 1 : rows->extent > 1 || batch->extent > 1)
        return DOES_NOT_FIT; /* the fastest axis is in both */
    if (batch->extent * rows->extent * columns->extent > most / inner->extent) return DOES_NOT_FIT;
    if (inner->extent * columns->extent > TINY_PANEL) return DOES_NOT_FIT;
    *p = (TinyProduct){
        .batches = batch->extent,
        .rows = rows->extent,
        .columns = columns->extent,
        .inner = inner->extent,
        .left_batch = batch->strides[left],
        .left_row = rows->strides[left],
        .left_inner = inner->strides[left],
        .right_batch = batch->strides[right],
        .right_inner = inner->strides[right],
        .right_column = columns->extent > 1 ? columns->strides[right] : 1,
        .out_batch = batch->strides[RESULT],
        .out_row = rows->strides[RESULT],
    };
    return FITS;
}

static bool factors_reach(const TinyProduct *p, Reach *left, Reach *right) {
    *left = *right = NO_AXES;
    return reach_read(left, p->batches, p->left_batch) && reach_read(left, p->rows, p->left_row) &&
           reach_read(left, p->inner, p->left_inner) && reach_read(right, p->batches, p->right_batch) &&
           reach_read(right, p->inner, p->right_inner) && reach_read(right, p->columns, p->right_column);
}

static PyObject *bind_found(PyObject *type_name, ElementType type, const TinyProduct *product, bool swapped,
                            const Index *shape, int rank) {
    ProductLoop multiply = SIMD_CHOICE(tiny_kernels)->product[type];
    if (multiply == NULL)
        return PyErr_Format(PyExc_ValueError, "bind_tiny_contraction: there are no products of %R", type_name);
    Operand factors[] = {{type, NO_AXES, false}, {type, NO_AXES, false}};
    if (!factors_reach(product, &factors[swapped].reach, &factors[!swapped].reach)) return NULL;
    ProductPlan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) return PyErr_NoMemory();
    *plan = (ProductPlan){.swapped = swapped, .multiply = multiply, .product = *product};
    plan->result.type = type;
    plan->result.rank = rank;
    plan->result.size = 1;
    for (int axis = 0; axis < rank; axis++) { /* arrays have the axes of tensors in reverse */
        plan->result.shape[axis] = (npy_intp)shape[rank - 1 - axis];
        plan->result.size *= shape[axis];
    }
    plan->result.bytes = (size_t)(plan->result.size * ELEMENT_BYTES[type]);
    const double nanoseconds = CALL_NANOSECONDS + (double)plan->result.size * (double)product->inner;
    PyObject *kernel = kernel_new("contract_tiny", kernel_call, plan, free);
    return kernel_with_operands(kernel_computes(kernel, compute_product, &plan->result, nanoseconds), factors, 2);
}

/* bind_tiny_contraction(dtype, most multiplications, labels, extents and strides of the first operand, the same of the
 * second, labels of the result); None where it is no small batch of small products. */
static PyObject *bind_tiny_contraction(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (!arguments_count("bind_tiny_contraction", count, 9,
                         "an element type, a number, labels, extents and strides of two operands, and labels"))
        return NULL;
    const int type = element_type_read(arguments[0]);
    if (type < 0) return NULL;
    const Index most = PyLong_AsLongLong(arguments[1]);
    if (most == -1 && PyErr_Occurred()) return NULL;
    if (most < 1 || most > INT32_MAX)
        return PyErr_Format(PyExc_ValueError, "bind_tiny_contraction: %R multiplications", arguments[1]);
    Factor factors[2];
    Index labels[MAX_RANK], shape[MAX_RANK];
    if (!factor_read(&factors[FIRST], arguments + 2, most) || !factor_read(&factors[SECOND], arguments + 5, most))
        return NULL;
    const int rank = indices_read(labels, MAX_RANK, arguments[8]);
    if (rank < 0) return NULL;
    Group groups[GROUPS];
    for (int i = 0; i < GROUPS; i++) groups[i] = (Group){1, {0, 0, 0}};
    TinyProduct product;
    bool swapped = false;
    Fit fit = FITS;
    for (int i = 0; i < 2; i++)
        if (factors[i].size == 0 || factors[i].size > most) fit = DOES_NOT_FIT;
    if (fit == FITS) fit = groups_find(groups, shape, &factors[FIRST], &factors[SECOND], labels, rank, most);
    if (fit == FITS) fit = product_of(&product, &swapped, groups, most);
    if (fit == FAILED) return NULL;
    if (fit == DOES_NOT_FIT) Py_RETURN_NONE;
    return bind_found(arguments[0], (ElementType)type, &product, swapped, shape, rank);
}

PyMethodDef tiny_product_functions[] = {
    {"bind_tiny_contraction", (PyCFunction)(void (*)(void))bind_tiny_contraction, METH_FASTCALL,
     "Kernel of a contraction that is a small batch of small matrix products, or None."},
    {NULL, NULL, 0, NULL},
};
