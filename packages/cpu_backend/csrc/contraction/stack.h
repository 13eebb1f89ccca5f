/* What the kernel of small products (stack.c) and its loops (simd/stack.c) share: one product of a stack, how far apart
 * its elements lie, and the loops, by what makes their vectors.
 */
#ifndef TENSOR_CPU_STACK_H
#define TENSOR_CPU_STACK_H

#include "core/common.h"
#include "core/cpu.h"

/* c[row, column] = sum over inner of a[row, inner] * b[inner, column], and the steps from one product of the stack to
 * the next. Steps count elements. */
typedef struct {
    Index rows, columns, depth;
    Index a_row, a_inner, b_inner, b_column, c_row, c_column;
    Index a_next, b_next, c_next;
    bool adds;    /* to what c holds, instead of overwriting it; by rows alone */
    bool streams; /* whole lines are written past the cache; by lanes alone */
} StackProblem;

/* Computes `count` products in turn. */
typedef void StackLoop(const StackProblem *problem, const char *a, const char *b, char *c, Index count);

typedef struct {
    StackLoop *by_rows;  /* vectors of neighbouring rows: a_row and c_row are 1 */
    StackLoop *by_lanes; /* vectors of neighbouring products: a_next, b_next and c_next are 1 */
    Index lanes;         /* elements of a vector */
} StackLoops;

enum { MOST_PACKED_BYTES = 1 << 19 }; /* of one operand: a product, or one for each lane of a vector */

typedef struct {
    StackLoops of_type[C64 + 1];
} StackKernels;

SIMD_TABLE(StackKernels, stack_kernels);

#endif
