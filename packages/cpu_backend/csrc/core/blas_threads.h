/* How many threads the BLAS library uses for a call of ours, and forks beside such calls.
 *
 * Nothing here changes what others get from a library: the count of a library of our own is 1 but for moments, MKL
 * has a count for each thread, and that of a library shared with NumPy or SciPy is read, never set.
 */
#ifndef TENSOR_CPU_BLAS_THREADS_H
#define TENSOR_CPU_BLAS_THREADS_H

#include "core/common.h"

typedef enum {
    SHARED,     /* others call the library too: its threads are theirs */
    OURS,       /* nobody else calls it; SHARED once somebody else has set its threads */
    PER_CALLER, /* the library has a count for every thread that calls it */
} BlasControl;

/* An OpenBLAS has buffers for so many threads of one process; more of them would wait, or be warned of. */
enum { MOST_CALLERS = 64 };

/* Between these, kernels call the library. A fork waits until all such calls are over: what another thread leaves
 * locked in the library would stay locked in the child. Needs no GIL, so that a forking thread may hold it. */
void blas_enter(void);
void blas_leave(void);

/* After blas_enter(): whether the library computes in the calling thread alone, so that parallel_for may call it in
 * every thread; that holds until blas_leave(). While another call has lent threads it does not: the library then runs
 * this call with them, too. */
bool blas_works_alone(void);

/* In the thread that is about to call the library, and afterwards with the answer of the former: makes sure of what
 * blas_works_alone() promises. */
int blas_alone_begin(void);
void blas_alone_end(int former);

/* For one large call, after blas_enter(): lets the library use so many threads, on the processors of the calling one,
 * and takes them back, given what was lent. Answers whether it did: not where others call the library at this
 * moment, or where its threads are theirs. */
bool blas_borrow_threads(int count, int *lent);
void blas_return_threads(int lent);

/* What OpenBLAS has for the processors of one of its threads: its number, and a cpu_set_t of so many bytes. */
typedef int SetAffinity(int thread, size_t bytes, void *processors);

/* Once, when the library has been opened; all functions may be NULL, but what the control needs. */
void blas_control(BlasControl control, int (*getter)(void), void (*setter)(int), int (*setter_here)(int),
                  SetAffinity *place);

/* Threads of the library when it is called by others, 0 if it does not tell. */
int blas_threads(void);

#endif
