/* The plan behind a kernel that loops over LAPACK: which routine, on which matrices, with how much memory. */
#ifndef TENSOR_CPU_LAPACK_H
#define TENSOR_CPU_LAPACK_H

#include "core/arrays.h"
#include "core/blas.h"
#include "linalg/matrix_loop.h"
#include "linalg/routines.h"

enum { MOST_RESULTS = 3 };

typedef struct {
    Routine routine;
    ElementType type;                      /* of the operands */
    bool pairs;                            /* C32 and C64: pairs of doubles */
    bool narrow;                           /* F32 and C32: computed in double precision and rounded */
    bool check;                            /* refuse what is not finite */
    bool is_long;                          /* worth letting other Python threads run */
    bool shared;                           /* solve: one matrix for all batches of right-hand sides */
    BlasInt rows, columns, shorter, right; /* M, N, K of a; columns of b */
    int batch_rank;
    Index batch[MAX_RANK], count; /* transposed array order; matrices in all */
    MatrixStack a, b;
    int operand_count, result_count;
    ArrayForm results[MOST_RESULTS];
    Index block[MOST_RESULTS];                    /* of each result: doubles for one matrix */
    BlasInt work_size, reals_size, integers_size; /* what LAPACK asks for, in elements of its kind */
    size_t scratch_bytes;
    PyObject *fallback; /* NumPy's kernel: says why LAPACK refused */
} LapackPlan;

/* Memory for one matrix at a time; laid out by scratch_layout(). */
typedef struct {
    double *a; /* a copy of the operand that the routine may destroy; nothing where the copy is made in a result */
    double *out[MOST_RESULTS];
    double *tau, *work, *reals;
    BlasInt *integers;
} Scratch;

/* lapack_routines.c: asks LAPACK how much memory it wants. */
void routine_query(LapackPlan *plan);

/* Where the operand has to be copied to. */
double *routine_input(const LapackPlan *plan, const Scratch *scratch);

/* Computes the results of one matrix; whether LAPACK succeeded. */
bool routine_run(const LapackPlan *plan, const Scratch *scratch);

/* Whether an elimination that has been run may be wrong, as LAPACK's is where the reciprocal of a pivot is infinite;
 * the same by an elimination of our own, given the matrix again, which is lost, and right-hand sides. */
bool routine_is_doubtful(const LapackPlan *plan, const Scratch *scratch, bool succeeded);
bool routine_run_carefully(const LapackPlan *plan, const Scratch *scratch, double *a, int64_t *exchanges);

/* solve with a shared matrix: factors it, then solves for so many columns at b. */
bool routine_factor(const LapackPlan *plan, const Scratch *scratch);
bool routine_substitute(const LapackPlan *plan, const Scratch *scratch, BlasInt columns, double *b);

#endif
