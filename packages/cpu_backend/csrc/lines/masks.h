/* Elements where a line of Bool is true, side by side. */
#ifndef TENSOR_CPU_MASKS_H
#define TENSOR_CPU_MASKS_H

#include "core/common.h"
#include "core/cpu.h"

/* The `found` elements of x, in order, at which the mask is true; nothing is written behind the last one. */
typedef void (*Select)(Index length, const uint8_t *mask, const void *x, Index found, void *y);

typedef struct {
    Index (*count)(Index length, const uint8_t *mask); /* how often it is true */
    Select select[5];                                  /* by log2 of the bytes of an element */
} MaskKernels;

SIMD_TABLE(MaskKernels, mask_kernels);

#endif
