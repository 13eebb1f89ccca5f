/* Tensors that Python lends to C: a pointer, extents, and strides in elements, which may be negative.
 *
 * A header and nothing else: copy it beside your own sources. Nothing here allocates, and nothing is freed: the memory
 * is Python's, lives as long as the tensor there does, and holds no element twice where it is writable.
 *
 * C99. All names start with is_ or IS_.
 */
#ifndef IRONSTRIDE_H
#define IRONSTRIDE_H

#include <stddef.h>
#include <stdint.h>

#define IS_MOST_AXES 64

enum is_dtype {
    IS_BOOL, /* a byte, 0 or 1; treat any other as true */
    IS_I32,
    IS_I64,
    IS_F32,
    IS_F64,
    IS_C32, /* two floats: complex64 of NumPy, float _Complex */
    IS_C64, /* two doubles: complex128 of NumPy, double _Complex */
    IS_OTHER
};

typedef struct {
    void *first;            /* the element whose indices are all 0; with a negative stride not the lowest address */
    const int64_t *shape;   /* extents */
    const int64_t *strides; /* in elements, not in bytes; {1, M, M * N, ...} for a compact column-major tensor */
    int32_t rank;
    int32_t dtype;    /* of enum is_dtype */
    int32_t writable; /* 0: do not write */
} is_view;

/* The number of elements: the product of the extents, 1 for rank 0. */
static inline int64_t is_size(const is_view *x) {
    int64_t size = 1;
    for (int32_t axis = 0; axis < x->rank; axis++) size *= x->shape[axis];
    return size;
}

/* Where the element of an index lies, in elements from the first. */
static inline int64_t is_offset(const is_view *x, const int64_t *index) {
    int64_t offset = 0;
    for (int32_t axis = 0; axis < x->rank; axis++) offset += index[axis] * x->strides[axis];
    return offset;
}

/* Whether elements lie one behind the other with the first index fastest, as Fortran, Julia and LAPACK have them. */
static inline int is_compact(const is_view *x) {
    int64_t stride = 1;
    for (int32_t axis = 0; axis < x->rank; axis++) {
        if (x->shape[axis] != 1 && x->strides[axis] != stride) return is_size(x) == 0;
        stride *= x->shape[axis];
    }
    return 1;
}

/* The next index, the first one fastest, and the offset that goes with it; 0 after the last. Start both at 0:
 *
 *     int64_t index[IS_MOST_AXES] = {0}, offset = 0;
 *     if (is_size(x)) do use(((double *)x->first)[offset]); while (is_next(x, index, &offset));
 */
static inline int is_next(const is_view *x, int64_t *index, int64_t *offset) {
    for (int32_t axis = 0; axis < x->rank; axis++) {
        *offset += x->strides[axis];
        if (++index[axis] < x->shape[axis]) return 1;
        *offset -= x->shape[axis] * x->strides[axis];
        index[axis] = 0;
    }
    return 0;
}

/* What a DLPack capsule named "dltensor_versioned" points to (DLPack 1.x, which dlpack.h declares, too). */
typedef struct {
    void *data;
    int32_t device_kind, device_number; /* 1, 0: memory of the host */
    int32_t rank;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides; /* strides in elements, or NULL for row-major elements without gaps */
    uint64_t byte_offset;
} is_dl_tensor;

typedef struct is_dl_managed {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct is_dl_managed *);
    uint64_t flags; /* 1: read-only */
    is_dl_tensor tensor;
} is_dl_managed;

/* A view of what a capsule lends; 0, or -1 for what this header does not know. `room` takes IS_MOST_AXES strides. */
static inline int is_from_dlpack(const is_dl_managed *lent, is_view *view, int64_t *room) {
    const is_dl_tensor *from = &lent->tensor;
    int64_t stride = 1;
    if (lent->major != 1 || from->device_kind != 1 || from->lanes != 1) return -1;
    if (from->rank < 0 || from->rank > IS_MOST_AXES) return -1;
    switch (from->code << 8 | from->bits) {
    case 0x0608: view->dtype = IS_BOOL; break;
    case 0x0020: view->dtype = IS_I32; break;
    case 0x0040: view->dtype = IS_I64; break;
    case 0x0220: view->dtype = IS_F32; break;
    case 0x0240: view->dtype = IS_F64; break;
    case 0x0540: view->dtype = IS_C32; break;
    case 0x0580: view->dtype = IS_C64; break;
    default: return -1;
    }
    for (int32_t axis = from->rank - 1; axis >= 0; axis--) {
        room[axis] = from->strides ? from->strides[axis] : stride;
        stride *= from->shape[axis];
    }
    view->first = (char *)from->data + from->byte_offset;
    view->shape = from->shape;
    view->strides = room;
    view->rank = from->rank;
    view->writable = !(lent->flags & 1);
    return 0;
}

#endif
