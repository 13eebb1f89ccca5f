/* Numbers at equal distances. */
#ifndef TENSOR_CPU_SPACED_H
#define TENSOR_CPU_SPACED_H

#include "core/common.h"

/* Elements begin to end of an array of F32, F64, I32 or I64: start + k * step, rounded twice as NumPy does; of integers
 * both numbers are whole, and no element leaves the type. */
void spaced_fill(ElementType type, Index begin, Index end, double start, double step, void *array);

#endif
