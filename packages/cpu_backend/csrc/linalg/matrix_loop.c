/* Strides of stacks as Python gives them, and the choice of threads. */
#include "linalg/matrix_loop.h"
#include "core/blas_threads.h"

bool matrix_stack_read(MatrixStack *stack, PyObject *strides, int batch_rank, const Index *batch, Index rows,
                       Index columns) {
    Reach *reach = &stack->reach;
    *reach = NO_AXES;
    Index read[MAX_RANK + 2];
    int count = indices_read(read, MAX_RANK + 2, strides);
    if (count < 2 || (count != batch_rank + 2 && count != 2)) {
        if (!PyErr_Occurred()) PyErr_Format(PyExc_ValueError, "strides %R for %d batch axes", strides, batch_rank);
        return false;
    }
    stack->rank = count - 2;
    for (int axis = 0; axis < stack->rank; axis++) {
        stack->axes[2 * axis] = batch[axis];
        stack->axes[2 * axis + 1] = read[axis];
        if (!reach_read(reach, batch[axis], read[axis])) return false;
    }
    stack->column_stride = read[count - 2];
    stack->row_stride = read[count - 1];
    return reach_read(reach, columns, stack->column_stride) && reach_read(reach, rows, stack->row_stride);
}

bool matrices_are_addressable(Index rows, Index columns, Index count) {
    Reach reach = NO_AXES;
    return reach_read(&reach, 8, 0) && reach_read(&reach, rows, 0) && reach_read(&reach, columns, 0) &&
           reach_read(&reach, count, 0);
}

typedef struct {
    ParallelBody body;
    void *context;
} Part;

static void run_part(void *context, Index begin, Index end) {
    const Part *part = context;
    int former = blas_alone_begin();
    part->body(part->context, begin, end);
    blas_alone_end(former);
}

/* Whose threads work: ours on many matrices, nobody's on small ones, the library's on a large one. On a small one the
 * library's threads gain little when the machine is idle, and cost several hundred times the work when it is not, for
 * they spin while they wait for one another. */
void matrix_loop_run(const MatrixLoop *loop, ParallelBody body, void *context) {
    const int threads = loop->work * (double)loop->count >= 2.0 * WORTH_A_LOOP ? threads_for_caller() : 1;
    blas_enter();
    if (threads > 1 && loop->count >= threads && !loop->is_whole && blas_works_alone()) {
        Index grain = loop->work >= WORTH_A_LOOP ? 1 : (Index)(WORTH_A_LOOP / loop->work) + 1;
        const Index fewest = pieces(loop->count, MOST_CALLERS);
        Part part = {body, context};
        parallel_for(loop->count, grain > fewest ? grain : fewest, run_part, &part);
    } else {
        int lent;
        const bool has_lent = blas_borrow_threads(loop->is_large ? threads_for_caller() : 1, &lent);
        body(context, 0, loop->count);
        if (has_lent) blas_return_threads(lent);
    }
    blas_leave();
}
