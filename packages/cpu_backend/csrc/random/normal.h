/* Pairs of numbers of the standard normal distribution, as tensor_runtime.ops.random fixes them. */
#ifndef TENSOR_CPU_NORMAL_H
#define TENSOR_CPU_NORMAL_H

#include "core/common.h"
#include "core/cpu.h"

enum { NORMALS = 128 }; /* at once, an even number */

typedef struct {
    void (*normals)(const uint64_t *words, double *numbers); /* NORMALS of them */
} NormalKernels;

SIMD_TABLE(NormalKernels, normal_kernels);

#endif
