/* The plan behind kernels that factor every matrix of a stack in a loop: LU, LDL, pivoted and complete QR, Schur,
 * Hessenberg, eigenvalues of any matrices, some eigenvalues of Hermitian ones; banded and Toeplitz systems.
 *
 * A matrix is computed in the precision of its elements, or, where the plan says so, in double precision and rounded
 * once at the end.
 */
#ifndef TENSOR_CPU_FACTORIZATION_H
#define TENSOR_CPU_FACTORIZATION_H

#include "core/arrays.h"
#include "core/blas.h"
#include "linalg/matrix_loop.h"
#include "linalg/routines.h"

enum { MOST_PARTS = 3 }; /* results of one kernel */

/* Rows and columns up to which matrices are eliminated here: to call LAPACK costs more. */
enum { LARGEST_ELIMINATION = 16 };
enum { LARGEST_NARROW_BAND = 24 }; /* diagonals beside the main one up to which that holds for a band */

typedef struct {
    Routine routine;
    ElementType type, computed; /* of the operands; of the numbers on the way */
    bool check;                 /* refuse what is not finite */
    bool is_long;               /* worth letting other Python threads run */
    BlasInt rows, columns;      /* M, N of a */
    BlasInt order, right;       /* rows and columns of b */
    BlasInt first, last;        /* diagonals below and above of a band; which eigenvalues, from 1 */
    int batch_rank;
    Index batch[MAX_RANK], count; /* transposed array order; matrices in all */
    MatrixStack a, b;
    int operand_count, result_count;
    ArrayForm results[MOST_PARTS];
    Index block[MOST_PARTS];                      /* elements of each result that belong to one matrix */
    bool rounded[MOST_PARTS];                     /* from double precision */
    BlasInt work_size, reals_size, integers_size; /* what LAPACK asks for, in numbers of its kind */
    Index copy_size, extra_size;                  /* numbers of a copy of the operand, and of what else is needed */
    size_t scratch_bytes;
    PyObject *fallback; /* a Python kernel for the same forms, for matrices that are refused */
} FactorizationPlan;

/* Memory for one matrix at a time; laid out by scratch_layout(). */
typedef struct {
    void *a;               /* of copy_size */
    void *out[MOST_PARTS]; /* where results are computed; of those of I64, the results themselves */
    void *extra, *work, *reals;
    BlasInt *integers;
    const char *source_a, *source_b; /* the first elements of the matrices */
} FactorizationScratch;

/* factorization_routines.c: how much memory of each kind is wanted. */
void factorization_query(FactorizationPlan *plan);

/* Computes the results of one matrix; false where an element is not finite, or LAPACK failed. */
bool factorization_run(const FactorizationPlan *plan, const FactorizationScratch *scratch);

#endif
