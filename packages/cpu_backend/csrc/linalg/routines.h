/* The routines of linear algebra, by the names that Python gives them. */
#ifndef TENSOR_CPU_ROUTINES_H
#define TENSOR_CPU_ROUTINES_H

#define LINALG_ROUTINES(X)                                                                                             \
    X(CHOLESKY, cholesky)                                                                                              \
    X(SOLVE, solve)                                                                                                    \
    X(INV, inv)                                                                                                        \
    X(DET, det)                                                                                                        \
    X(QR, qr)                                                                                                          \
    X(EIGH, eigh)                                                                                                      \
    X(SVD, svd)                                                                                                        \
    X(EIGVALSH, eigvalsh)                                                                                              \
    X(SVDVALS, svdvals)                                                                                                \
    X(FORWARD, forward)                                                                                                \
    X(BACKWARD, backward)                                                                                              \
    X(FORWARD_TRANSPOSED, forward_transposed)                                                                          \
    X(BACKWARD_TRANSPOSED, backward_transposed)                                                                        \
    X(LSTSQ, lstsq)                                                                                                    \
    X(LU_FACTOR, lu_factor)                                                                                            \
    X(SLOGDET, slogdet)                                                                                                \
    X(LU_COMPLETE, lu_complete)                                                                                        \
    X(LDL, ldl)                                                                                                        \
    X(QR_PIVOTED, qr_pivoted)                                                                                          \
    X(QR_COMPLETE, qr_complete)                                                                                        \
    X(SCHUR, schur)                                                                                                    \
    X(HESSENBERG, hessenberg)                                                                                          \
    X(EIG, eig)                                                                                                        \
    X(EIGVALS, eigvals)                                                                                                \
    X(EIGH_RANGE, eigh_range)                                                                                          \
    X(SOLVE_BANDED, solve_banded)                                                                                      \
    X(SOLVEH_BANDED, solveh_banded)                                                                                    \
    X(SOLVE_TOEPLITZ, solve_toeplitz)                                                                                  \
    X(EXPM, expm)                                                                                                      \
    X(SQRTM, sqrtm)

#define ROUTINE_VALUE(value, name) value,
typedef enum { LINALG_ROUTINES(ROUTINE_VALUE) ROUTINES } Routine;
#undef ROUTINE_VALUE
enum { LAPACK_ROUTINES = FORWARD };       /* before it: lapack.c; from there on, lanes alone */
enum { LANE_ROUTINES = EXPM };            /* before it: tables of LaneKernels; from there on of FunctionKernels */
enum { FIRST_FACTORIZATION = LU_FACTOR }; /* from there on: factorization.c; LU_FACTOR and SLOGDET are for lanes, too */

#define ROUTINE_NAME(value, name) #name,
static const char *const ROUTINE_NAMES[ROUTINES] = {LINALG_ROUTINES(ROUTINE_NAME)};
#undef ROUTINE_NAME

#endif
