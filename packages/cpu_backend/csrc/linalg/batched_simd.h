/* Linear algebra for batches of small matrices, one matrix in each lane of a vector register.
 *
 * A *group* is as many matrices as a register has lanes: 8 doubles with AVX-512, 4 with AVX2, else 2. The routines of
 * simd/linalg_*.h compute every matrix of a group at once, step by step as the textbook does for one, in binary64:
 * elements of F32 and C32 become wider when they are loaded and are rounded when they are stored. Where the steps of
 * matrices differ (which row is the pivot, which rotation is needed), each lane selects its own outcome.
 *
 * A routine answers false when any matrix of its groups needs another look: elements that are not finite, no positive
 * definite matrix, a pivot of zero, an iteration without end. What it has stored then means nothing.
 */
#ifndef TENSOR_CPU_BATCHED_SIMD_H
#define TENSOR_CPU_BATCHED_SIMD_H

#include "core/common.h"
#include "core/cpu.h"
#include "linalg/routines.h"

/* Of a matrix. Two groups of matrices with the smaller side take 32 KiB, a first-level cache, with real elements and
 * AVX-512, or complex ones and AVX2; with complex ones and AVX-512 they take twice that. Of larger ones two groups take
 * half a MiB, a part of a second-level cache, or a whole one. */
enum { LARGEST_JACOBI_SIDE = 16, LARGEST_SIDE = 64 };
enum { MOST_ROWS = 1 << 24 }; /* of any matrix: those of its elements can be counted */

typedef struct {
    int rows, columns; /* of each matrix of the first operand */
    Index right;       /* columns of the second operand, for SOLVE, substitutions and LSTSQ alone */
    bool narrow;       /* elements of F32 or C32 */
    bool check;        /* substitutions look at elements that are not finite, and zeros on the diagonal, again, too;
                          eliminations at solutions that are not finite */
    double tolerance;  /* of LSTSQ: values count above this part of the largest one */
    bool streams;      /* results are written past the caches, as far as they are whole lines */
    int jacobi_side;   /* of the shorter side: up to it EIGH and SVD turn pairs of rows or columns, at most
                          LARGEST_JACOBI_SIDE; else they go to diagonals first */
} LaneProblem;

/* The numbers of one group that routines need room for, of matrices whose longer side this is. */
#define CHOLESKY_ROOM(side) ((side) * ((side) + 1))
#define SOLVE_ROOM(side, columns) ((side) * ((side) + (columns) + 1))
#define INV_ROOM(side) ((side) * (2 * (side) + 1))
#define DET_ROOM(side) ((side) * ((side) + 1))
#define LU_LARGE_ROOM(side, columns) (((side) + 1) * ((side) + (columns) + 7)) /* 4 columns and 2 more as they come */
#define QR_ROOM(side) (((side) + 1) * (2 * (side) + 5))
#define EIGH_ROOM(side) ((side) * (2 * (side) + 1))
#define EIGH_LARGE_ROOM(side) (((side) + 1) * (2 * (side) + 15))
#define SVD_ROOM(side) ((side) * (3 * (side) + 1))
#define PLACES_ROOM(side) (((side) + 1) * (4 * (side) + 7)) /* of rotations beyond LARGEST_CONSTANT_SIDE, besides */
#define SVD_LARGE_ROOM(side) (((side) + 1) * (4 * (side) + 34))
#define LSTSQ_ROOM(longer, shorter, columns)                                                                           \
    ((longer) * ((shorter) + 2 * (columns) + 1) + (shorter) * ((longer) + (shorter) + (columns) + 2) + 2 * (columns))
#define SUBSTITUTION_ROOM(side, columns) (((side) + 1) * ((side) + (columns) + 1))
#define EXPM_ROOM(side) ((side) * (8 * (side) + 2))
#define SQRTM_ROOM(side) (6 * (side) * (side))
enum { RIGHT_AT_ONCE = 16 }; /* columns of right-hand sides in lanes at the same time */

/* Square matrices of 2 to this many rows bring room of their own. */
enum { LARGEST_CONSTANT_SIDE = 4 };

/* Rows up to which elimination exchanges them by selecting from all; beyond, by their places, and several columns at a
 * time. */
enum { LARGEST_MASKED_SIDE = 16 };

/* Rows up to which, from LARGEST_CONSTANT_SIDE on, two groups of Cholesky factors are found side by side. */
enum { LARGEST_PAIRED_SIDE = 8, AT_ONCE = 2 };

static inline bool is_substitution(Routine routine) {
    return routine == FORWARD || routine == BACKWARD || routine == FORWARD_TRANSPOSED || routine == BACKWARD_TRANSPOSED;
}

/* Whether it has right-hand sides. */
static inline bool is_system(Routine routine) { return routine == SOLVE || is_substitution(routine); }

/* Whether a substitution may go along the columns of each matrix, with the same bits; one that is left over does. */
static inline bool may_go_along_columns(Routine routine, const LaneProblem *problem) {
    return (routine == FORWARD || routine == BACKWARD) && problem->right >= 1 && problem->right <= 2 &&
           problem->rows >= (problem->narrow ? 17 : 8) && problem->rows <= MOST_ROWS;
}

/* Whether it does so for all of them, which is faster than lanes from so many rows on; then there may be MOST_ROWS. */
static inline bool goes_along_columns(Routine routine, const LaneProblem *problem) {
    return may_go_along_columns(routine, problem) && problem->rows > LARGEST_JACOBI_SIDE;
}

/* Whether it is a function of square matrices of up to LARGEST_MASKED_SIDE rows. */
static inline bool is_matrix_function(Routine routine) { return routine == EXPM || routine == SQRTM; }

/* Whether its matrices may have more rows than columns, or fewer. */
static inline bool is_rectangular(Routine routine) {
    return routine == QR || routine == SVD || routine == SVDVALS || routine == LSTSQ;
}

/* Whether EIGH and SVD go to diagonals. */
static inline bool is_reduced(const LaneProblem *problem) {
    const int m = problem->rows, n = problem->columns, shorter = m < n ? m : n, longer = m < n ? n : m;
    return shorter > problem->jacobi_side || longer > LARGEST_JACOBI_SIDE;
}

/* Numbers of room for one group; none where the routine brings its own. */
static inline Index lane_room(Routine routine, const LaneProblem *problem) {
    const int m = problem->rows, n = problem->columns, side = m > n ? m : n, shorter = m < n ? m : n;
    if (is_matrix_function(routine)) return routine == EXPM ? EXPM_ROOM(side) : SQRTM_ROOM(side);
    if (m == n && n > 1 && n <= LARGEST_CONSTANT_SIDE && routine != LSTSQ) return 0;
    if (goes_along_columns(routine, problem)) return side; /* more than one solution */
    switch (routine) {
    case SOLVE: {
        const Index columns = smaller(problem->right, RIGHT_AT_ONCE);
        return side > LARGEST_MASKED_SIDE ? LU_LARGE_ROOM(side, columns) : SOLVE_ROOM(side, columns);
    }
    case FORWARD:
    case BACKWARD:
    case FORWARD_TRANSPOSED:
    case BACKWARD_TRANSPOSED:
        return (side > LARGEST_MASKED_SIDE ? 1 : AT_ONCE) *
               SUBSTITUTION_ROOM(side, smaller(problem->right, RIGHT_AT_ONCE));
    case INV: return side > LARGEST_MASKED_SIDE ? LU_LARGE_ROOM(side, side) : INV_ROOM(side);
    case DET:
    case SLOGDET: return side > LARGEST_MASKED_SIDE ? LU_LARGE_ROOM(side, 0) : DET_ROOM(side);
    case QR: return (side > LARGEST_PAIRED_SIDE ? 1 : AT_ONCE) * QR_ROOM(side);
    case EIGVALSH:
    case EIGH: return is_reduced(problem) ? EIGH_LARGE_ROOM(side) : EIGH_ROOM(side) + PLACES_ROOM(side);
    case SVDVALS:
    case SVD: return is_reduced(problem) ? SVD_LARGE_ROOM(side) : SVD_ROOM(side) + PLACES_ROOM(side);
    case LSTSQ: return LSTSQ_ROOM(side, shorter, problem->right) + PLACES_ROOM(shorter);
    default: return (side > LARGEST_PAIRED_SIDE ? 1 : AT_ONCE) * CHOLESKY_ROOM(side);
    }
}

/* Whether it iterates by rotations of pairs of rows or columns, up to LARGEST_JACOBI_SIDE. */
static inline bool is_iterating(Routine routine) {
    return routine == EIGH || routine == SVD || routine == EIGVALSH || routine == SVDVALS || routine == LSTSQ;
}

/* Whether a routine for single matrices, where there is one, takes these sides. Those that iterate have two columns in
 * each lane of so many; least squares rotate a triangle. */
static inline bool is_taken_alone(Routine routine, const LaneProblem *problem, int width) {
    const int m = problem->rows, n = problem->columns, shorter = m < n ? m : n, longer = m < n ? n : m;
    if (is_substitution(routine)) return may_go_along_columns(routine, problem);
    if (routine == CHOLESKY || routine == QR) return longer > LARGEST_CONSTANT_SIDE;
    if (!is_iterating(routine)) return true;
    const bool fits = shorter > LARGEST_CONSTANT_SIDE && shorter <= 2 * width;
    return fits && (routine == LSTSQ || !is_reduced(problem));
}

/* The same for one elimination, where lanes are so many rows. */
static inline Index single_room(const LaneProblem *problem, int width) {
    const Index n = problem->rows, blocks = (n + width - 1) / width;
    return blocks * n + (blocks + 1) * (n + RIGHT_AT_ONCE); /* factors; right-hand sides, or two numbers for each row */
}

/* Operands and results are arrays of compact column-major matrices; the pointers are to the first of them. The room is
 * aligned to 64 bytes. */
typedef bool (*LaneRoutine)(const LaneProblem *problem, const char *const *operands, char *const *results, Index groups,
                            void *room);

typedef struct {
    int width;        /* matrices in a group */
    int number_bytes; /* of one element of each matrix of a group */
    LaneRoutine routines[LANE_ROUTINES];
    LaneRoutine singles[LANE_ROUTINES]; /* where there is one: the same bits, for so many matrices instead of groups */
} LaneKernels;

/* The same for functions of matrices. */
typedef struct {
    int width, number_bytes;
    LaneRoutine expm, sqrtm, expm_single, sqrtm_single;
} FunctionKernels;

SIMD_TABLE(LaneKernels, linalg_real);
SIMD_TABLE(LaneKernels, linalg_complex);
SIMD_TABLE(LaneKernels, linalg_lu_real); /* solve, inv, determinants and substitutions */
SIMD_TABLE(LaneKernels, linalg_lu_complex);
SIMD_TABLE(FunctionKernels, linalg_functions_real);
SIMD_TABLE(FunctionKernels, linalg_functions_complex);

/* Those that have the routine, for this processor. */
static inline const LaneKernels *lane_kernels(Routine routine, bool has_parts) {
    if (is_system(routine) || routine == INV || routine == DET || routine == SLOGDET)
        return has_parts ? SIMD_CHOICE(linalg_lu_complex) : SIMD_CHOICE(linalg_lu_real);
    return has_parts ? SIMD_CHOICE(linalg_complex) : SIMD_CHOICE(linalg_real);
}

static inline const FunctionKernels *function_kernels(bool has_parts) {
    return has_parts ? SIMD_CHOICE(linalg_functions_complex) : SIMD_CHOICE(linalg_functions_real);
}

/* Of one routine, from either table; groups is NULL where there is none. */
typedef struct {
    LaneRoutine groups, alone;
    int width, number_bytes;
} LaneChoice;
static inline LaneChoice lane_choice(Routine routine, bool has_parts) {
    if (is_matrix_function(routine)) {
        const FunctionKernels *kernels = function_kernels(has_parts);
        return (LaneChoice){routine == EXPM ? kernels->expm : kernels->sqrtm,
                            routine == EXPM ? kernels->expm_single : kernels->sqrtm_single, kernels->width,
                            kernels->number_bytes};
    }
    const LaneKernels *kernels = lane_kernels(routine, has_parts);
    return (LaneChoice){kernels->routines[routine], kernels->singles[routine], kernels->width, kernels->number_bytes};
}

#endif
