/* One pool of threads for all kernels.
 *
 * A waiting thread looks for work for 200 microseconds at most, if nobody else of the pool needs its processor, and
 * sleeps then: pools that spin for longer while another pool works cost five to eight times in contractions that
 * alternate between BLAS and kernels of ours. A caller never waits for a worker that has not begun. Workers use the
 * processors that the thread that calls may use, and keep clear of the one it is on where there are enough. No signal is
 * delivered to them: those that a program blocks or waits for in its threads would be. A kernel must not call a BLAS that
 * runs threads of its own inside a body.
 */
#ifndef TENSOR_CPU_THREADS_H
#define TENSOR_CPU_THREADS_H

#include "core/common.h"

/* Works on the parts from begin up to end; must touch nothing that another part writes, and no Python object. */
typedef void (*ParallelBody)(void *context, Index begin, Index end);

/* Calls body on ranges that together cover 0 .. parts, and returns when all are done. The calling thread works too.
 * Runs everything in the calling thread when the pool has one thread, is busy for another caller, or there are fewer
 * than two grains of work. A grain is the fewest parts that are worth waking a thread for, about 20 microseconds.
 * Call without the GIL unless it is less than two grains. Each topic says in a unit of its own, such as elements or
 * products, what is WORTH_A_THREAD, and from where on the GIL is let go: WORTH_RELEASING_THE_GIL. */
void parallel_for(Index parts, Index grain, ParallelBody body, void *context);

enum { MOST_THREADS = 1024 }; /* more is a mistake of units; as in tensor_cpu.system.threads */

/* Threads that share the work, the caller included; 1 to MOST_THREADS. A count that nobody chose is only a bound: then
 * no job, and no call of BLAS, gets more threads than its caller has processors. */
int threads_get(void);
/* How many a job of the calling thread gets. Asks the system, which takes less than a microsecond. */
int threads_for_caller(void);
void threads_set(int count, bool chosen);

#endif
