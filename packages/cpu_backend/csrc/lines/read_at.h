/* Elements of 1, 4, 8 or 16 bytes at numbers, side by side: each is read as soon as its number is known. */
#ifndef TENSOR_CPU_READ_AT_H
#define TENSOR_CPU_READ_AT_H

#include "core/common.h"
#include "core/cpu.h"

typedef struct {
    double real, imaginary;
} Pair;

/* y[i] = x[numbers[i] * stride + i * step], where `wraps` is added to negative numbers; false where one is then not in 0
 * to last, and x[i * step] was read in its place. */
typedef bool (*ReadAt)(Index count, const int64_t *numbers, Index wraps, Index last, Index stride, Index step,
                       const void *x, void *y);

typedef struct {
    ReadAt read[5]; /* by log2 of the bytes of an element */
} ReadKernels;

SIMD_TABLE(ReadKernels, read_kernels);

#endif
