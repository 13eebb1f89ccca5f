/* Loops of the kernels "convert" and "cast" (convert.c). Most are between element types where every value has a
 * counterpart; from floating-point numbers to integers, and from I64 to I32, they look at each value. */
#ifndef TENSOR_CPU_CONVERT_H
#define TENSOR_CPU_CONVERT_H

#include "core/common.h"
#include "core/cpu.h"

typedef void (*ConvertLoop)(const void *source, void *target, Index count);

/* False where some value has no counterpart, and what has been written is of no use. */
typedef bool (*CheckedLoop)(const void *source, void *target, Index count);

typedef struct {
    ConvertLoop loop[ELEMENT_TYPES][ELEMENT_TYPES];    /* [from][to]; NULL where values may not fit */
    CheckedLoop checked[ELEMENT_TYPES][ELEMENT_TYPES]; /* where they may */
} ConvertKernels;
SIMD_TABLE(ConvertKernels, convert_kernels);

#endif
