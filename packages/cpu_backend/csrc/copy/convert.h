/* Loops of the kernels "convert" and "cast" (convert.c), between element types where every value has a counterpart:
 * not from floating-point numbers to integers, nor from I64 to I32. */
#ifndef TENSOR_CPU_CONVERT_H
#define TENSOR_CPU_CONVERT_H

#include "core/common.h"
#include "core/cpu.h"

typedef void (*ConvertLoop)(const void *source, void *target, Index count);

typedef struct {
    ConvertLoop loop[ELEMENT_TYPES][ELEMENT_TYPES]; /* [from][to]; NULL where values may not fit */
} ConvertKernels;
SIMD_TABLE(ConvertKernels, convert_kernels);

#endif
