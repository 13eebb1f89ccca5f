/* Loops of the kernels for tiny operands (tiny.c), in every element type but Bool. */
#ifndef TENSOR_CPU_TINY_H
#define TENSOR_CPU_TINY_H

#include "core/cpu.h"
#include "elementwise/operations.h"

/* out[i] = a[i * step_a] op b[i * step_b]; a step is 1, or 0 for an operand of one element. */
typedef void (*BinaryLoop)(const void *a, Index step_a, const void *b, Index step_b, void *out, Index count);
typedef void (*UnaryLoop)(const void *a, void *out, Index count);

/* out[batch, row, column] = sum over inner of left[batch, row, inner] * right[batch, inner, column].
 * The result's column has stride 1. A stride of an axis that an operand lacks is 0. */
typedef struct {
    Index batches, rows, columns, inner;
    Index left_batch, left_row, left_inner;
    Index right_batch, right_inner, right_column;
    Index out_batch, out_row;
} TinyProduct;
typedef void (*ProductLoop)(const TinyProduct *product, const void *left, const void *right, void *out);

enum {
    TINY_PANEL = 960
}; /* inner * columns: room to repack the right operand in, on the stack (caching_allocator.h) */

typedef struct { /* NULL where there is no such loop */
    BinaryLoop binary[ELEMENT_TYPES][OPERATIONS];
    UnaryLoop unary[ELEMENT_TYPES][OPERATIONS];
    ProductLoop product[ELEMENT_TYPES];
} TinyKernels;

SIMD_TABLE(TinyKernels, tiny_kernels);

#endif
