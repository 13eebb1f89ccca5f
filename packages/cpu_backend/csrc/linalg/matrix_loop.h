/* Stacks of matrices, and whose threads work on them; what all loops over LAPACK use. */
#ifndef TENSOR_CPU_MATRIX_LOOP_H
#define TENSOR_CPU_MATRIX_LOOP_H

#include "core/arguments.h"
#include "core/strided_layout.h"
#include "core/threads.h"

typedef struct {
    int rank;                        /* of the batch; 0 where all share one matrix */
    Index axes[2 * MAX_RANK];        /* batch axes: records of strided_walk.h, in elements; transposed array order */
    Index row_stride, column_stride; /* in elements */
    Reach reach;                     /* of all its matrices */
} MatrixStack;

/* Reads the strides of a stack of so many rows and columns: those of its batch axes, or none where one matrix is for
 * all, then of columns, then of rows; all in elements. False with an exception set. */
bool matrix_stack_read(MatrixStack *stack, PyObject *strides, int batch_rank, const Index *batch, Index rows,
                       Index columns);

/* Whether so many matrices can be addressed, with room for the workspaces that LAPACK asks for. */
bool matrices_are_addressable(Index rows, Index columns, Index count);

static const double WORTH_A_LOOP = 40e3; /* operations: about 20 microseconds of small matrices */

typedef struct {
    Index count;   /* matrices */
    double work;   /* operations for one of them, roughly */
    bool is_large; /* one is worth the library's threads */
    bool is_whole; /* the calling thread does all */
} MatrixLoop;

/* Calls body for ranges of matrices; it may call the library. */
void matrix_loop_run(const MatrixLoop *loop, ParallelBody body, void *context);

#endif
