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
    X(BACKWARD_TRANSPOSED, backward_transposed)

#define ROUTINE_VALUE(value, name) value,
typedef enum { LINALG_ROUTINES(ROUTINE_VALUE) ROUTINES } Routine;
#undef ROUTINE_VALUE
enum { LAPACK_ROUTINES = FORWARD }; /* substitutions, which come last, are for lanes alone */

#define ROUTINE_NAME(value, name) #name,
static const char *const ROUTINE_NAMES[ROUTINES] = {LINALG_ROUTINES(ROUTINE_NAME)};
#undef ROUTINE_NAME

#endif
