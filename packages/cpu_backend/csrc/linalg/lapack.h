/* The plan behind a kernel that loops over LAPACK: which routine, on which matrices, with how much memory. */
#ifndef TENSOR_CPU_LAPACK_H
#define TENSOR_CPU_LAPACK_H

#include "core/arrays.h"
#include "core/blas.h"
#include "linalg/diagonals.h"
#include "linalg/matrix_loop.h"
#include "linalg/reduction.h"
#include "linalg/routines.h"

enum { MOST_RESULTS = 3 };

typedef struct LapackPlan {
    Routine routine;
    ElementType type, computed;            /* of the operands; of the numbers on the way */
    bool pairs;                            /* C32 and C64: pairs of real numbers */
    bool narrow;                           /* computed in double precision and rounded */
    bool check;                            /* refuse what is not finite */
    bool is_long;                          /* worth letting other Python threads run */
    bool shared;                           /* solve: one matrix for all batches of right-hand sides */
    bool overwrite;                        /* the operand's memory is a result's, or scratch; one compact matrix */
    BlasInt rows, columns, shorter, right; /* M, N, K of a; columns of b */
    int batch_rank;
    Index batch[MAX_RANK], count; /* transposed array order; matrices in all */
    MatrixStack a, b;
    int operand_count, result_count;
    ArrayForm results[MOST_RESULTS];
    Index block[MOST_RESULTS];                    /* of each result: real numbers for one matrix */
    BlasInt work_size, reals_size, integers_size; /* what LAPACK asks for, in elements of its kind */
    /* Of svd and eigh: by reductions of our own, with so many doubles of room; or NULL and 0. */
    const ReductionKernels *reduction;
    const DiagonalKernels *diagonals;
    Index room_size;
    size_t scratch_bytes;
    struct LapackPlan *wide;  /* of F32 and C32: the same in double precision, for matrices that are refused; or NULL */
    struct LapackPlan *alone; /* of a shared matrix: that for one batch of right-hand sides; or NULL */
    PyObject *fallback;       /* NumPy's kernel: says why LAPACK refused */
} LapackPlan;

/* Memory for one matrix at a time; laid out by lapack_scratch(). */
typedef struct {
    void *a; /* a copy of the operand that the routine may destroy; nothing where the copy is made in a result */
    void *out[MOST_RESULTS];
    void *tau, *work, *reals;
    double *room;
    BlasInt *integers;
} Scratch;

/* Whether numbers are floats on the way. */
static inline bool lapack_in_floats(const LapackPlan *plan) { return plan->computed == F32 || plan->computed == C32; }

/* Bytes of a real number on the way. */
static inline size_t lapack_real_bytes(const LapackPlan *plan) {
    return lapack_in_floats(plan) ? sizeof(float) : sizeof(double);
}

/* lapack_plan.c: reads the arguments of bind_lapack(); NULL with an exception set. */
LapackPlan *lapack_plan(PyObject *arguments, PyObject *named);
void lapack_plan_free(void *plan);

/* Floating-point operations on one matrix, roughly. */
double lapack_work(const LapackPlan *plan);

/* Lays the parts out behind one another from memory on, at multiples of 64 bytes from it; returns the bytes of all. */
size_t lapack_scratch(const LapackPlan *plan, char *memory, Scratch *scratch);

/* lapack_routines.c: asks LAPACK how much memory it wants. */
void routine_query(LapackPlan *plan);

/* Where the operand has to be copied to. */
void *routine_input(const LapackPlan *plan, const Scratch *scratch);

/* The result that may lie where the last operand was; -1 where the operand is scratch alone. */
int routine_overwrites(Routine routine);

/* Computes the results of one matrix, in the plan's precision; whether LAPACK succeeded. */
bool routine_run(const LapackPlan *plan, const Scratch *scratch);

/* Whether an elimination that has been run may be wrong, as LAPACK's is where the reciprocal of a pivot is infinite;
 * the same by an elimination of our own, in double precision, given the matrix again, which is lost, and right-hand
 * sides. */
bool routine_is_doubtful(const LapackPlan *plan, const Scratch *scratch, bool succeeded);
bool routine_run_carefully(const LapackPlan *plan, const Scratch *scratch, double *a, int64_t *exchanges);

/* solve with a shared matrix: factors it, then solves for so many columns at b. */
bool routine_factor(const LapackPlan *plan, const Scratch *scratch);
bool routine_substitute(const LapackPlan *plan, const Scratch *scratch, BlasInt columns, void *b);

#endif
