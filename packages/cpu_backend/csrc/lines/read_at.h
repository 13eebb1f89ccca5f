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

enum { MOST_NAMED = 2 }; /* axes of which numbers of their own name an element */

/* y[i] = x[numbers[0][i] * strides[0] + numbers[1][i] * strides[1]], where extents are added to negative numbers; false
 * where one is then outside, and x[0] was read in its place. */
typedef bool (*ReadPairs)(Index count, const int64_t *const *numbers, const Index *extents, const Index *strides,
                          const void *x, void *y);

typedef struct {
    ReadAt read[5]; /* by log2 of the bytes of an element */
    ReadPairs read_pairs[5];
} ReadKernels;

SIMD_TABLE(ReadKernels, read_kernels);

#endif
