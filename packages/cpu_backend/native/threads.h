/* One pool of threads for all kernels, with passive waiting.
 *
 * A waiting thread sleeps: pools that spin while another pool works cost five to eight times in contractions that
 * alternate between BLAS and kernels of ours. Workers keep clear of the processor of the thread that calls. A kernel
 * must not call a BLAS that runs threads of its own inside a body.
 */
#ifndef TENSOR_CPU_THREADS_H
#define TENSOR_CPU_THREADS_H

#include "common.h"

/* Works on the parts from begin up to end; must touch nothing that another part writes, and no Python object. */
typedef void (*ParallelBody)(void *context, Index begin, Index end);

/* Calls body on ranges that together cover 0 .. parts, and returns when all are done. The calling thread works too.
 * Runs everything in the calling thread when the pool has one thread, is busy for another caller, or there are fewer
 * than two grains of work. A grain is the fewest parts that are worth waking a thread for, about 20 microseconds.
 * Call without the GIL unless it is less than two grains. */
void parallel_for(Index parts, Index grain, ParallelBody body, void *context);

/* Threads that share the work, the caller included; at least 1. */
int threads_get(void);
void threads_set(int count);

#endif
