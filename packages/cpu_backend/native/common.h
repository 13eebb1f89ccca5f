/* What every file of the extension uses: the index type, the element types, the most axes.
 *
 * Lengths and strides count elements unless a name ends in _bytes. Axes are in twin order, outermost first: the
 * reverse of the tensor's, so that the last axis of a compact array has stride 1.
 */
#ifndef TENSOR_CPU_COMMON_H
#define TENSOR_CPU_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int64_t Index;

enum { MAX_RANK = 64 }; /* of a NumPy array, and so of a twin */

typedef enum { F32, F64, C32, C64, I32, I64, BOOL, ELEMENT_TYPES } ElementType;

static const int ELEMENT_BYTES[ELEMENT_TYPES] = {4, 8, 8, 16, 4, 8, 1};

#endif
