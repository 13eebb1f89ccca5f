/* BLAS and LAPACK, reached through function pointers: the extension links none.
 *
 * tensor_cpu.system.blas chooses a library when the first kernel needs one (one of our own, the OpenBLAS that NumPy
 * calls, SciPy's, or MKL) and hands over its path, or SciPy's capsules; from then on the table below is full and never
 * changes: to open a second library is an error, and kernels whose binder has called open_blas() read the table without
 * a lock.
 *
 * Matrices are column-major. Complex numbers are pairs of doubles (floats). Lengths of strings are not passed: no
 * library in use reads them, and NumPy and SciPy do the same.
 */
#ifndef TENSOR_CPU_BLAS_H
#define TENSOR_CPU_BLAS_H

#include "core/common.h"

/* An integer of LAPACK. Where the library's own have 32 bits, it reads the low half of ours (little-endian machines
 * only), writes the low half of info, and packs arrays of pivots twice as densely: see blas_integer(). */
typedef int64_t BlasInt;

typedef void Gemm(const char *transpose_a, const char *transpose_b, const BlasInt *m, const BlasInt *n,
                  const BlasInt *k, const void *alpha, const void *a, const BlasInt *lda, const void *b,
                  const BlasInt *ldb, const void *beta, void *c, const BlasInt *ldc);
typedef void Gemv(const char *transpose, const BlasInt *m, const BlasInt *n, const void *alpha, const void *a,
                  const BlasInt *lda, const void *x, const BlasInt *x_step, const void *beta, void *y,
                  const BlasInt *y_step);
typedef void Syrk(const char *triangle, const char *transpose, const BlasInt *n, const BlasInt *k, const void *alpha,
                  const void *a, const BlasInt *lda, const void *beta, void *c, const BlasInt *ldc);
typedef void Trsm(const char *side, const char *triangle, const char *transpose, const char *diagonal, const BlasInt *m,
                  const BlasInt *n, const void *alpha, const void *a, const BlasInt *lda, void *b, const BlasInt *ldb);
typedef void Trsv(const char *triangle, const char *transpose, const char *diagonal, const BlasInt *n, const void *a,
                  const BlasInt *lda, void *x, const BlasInt *x_step);
typedef float FloatDot(const BlasInt *n, const void *x, const BlasInt *x_step, const void *y, const BlasInt *y_step);
typedef double DoubleDot(const BlasInt *n, const void *x, const BlasInt *x_step, const void *y, const BlasInt *y_step);

/* LAPACK in every precision. Functions that take arguments of another kind for complex matrices have two types. */
typedef void AnyPotrf(const char *triangle, const BlasInt *n, void *a, const BlasInt *lda, BlasInt *info);
typedef void AnyGetrf(const BlasInt *m, const BlasInt *n, void *a, const BlasInt *lda, BlasInt *pivots, BlasInt *info);
typedef void AnyGetrs(const char *transpose, const BlasInt *n, const BlasInt *columns, const void *a,
                      const BlasInt *lda, const BlasInt *pivots, void *b, const BlasInt *ldb, BlasInt *info);
typedef void AnyGesv(const BlasInt *n, const BlasInt *columns, void *a, const BlasInt *lda, BlasInt *pivots, void *b,
                     const BlasInt *ldb, BlasInt *info);
typedef void AnyGetri(const BlasInt *n, void *a, const BlasInt *lda, const BlasInt *pivots, void *work,
                      const BlasInt *work_size, BlasInt *info);
typedef void RealSyevd(const char *vectors, const char *triangle, const BlasInt *n, void *a, const BlasInt *lda,
                       void *values, void *work, const BlasInt *work_size, BlasInt *integers,
                       const BlasInt *integers_size, BlasInt *info);
typedef void ComplexHeevd(const char *vectors, const char *triangle, const BlasInt *n, void *a, const BlasInt *lda,
                          void *values, void *work, const BlasInt *work_size, void *reals, const BlasInt *reals_size,
                          BlasInt *integers, const BlasInt *integers_size, BlasInt *info);
typedef void RealStedc(const char *vectors, const BlasInt *n, void *diagonal, void *beside, void *z, const BlasInt *ldz,
                       void *work, const BlasInt *work_size, BlasInt *integers, const BlasInt *integers_size,
                       BlasInt *info);
typedef void RealBdsdc(const char *triangle, const char *vectors, const BlasInt *n, void *diagonal, void *beside,
                       void *u, const BlasInt *ldu, void *vt, const BlasInt *ldvt, void *q, BlasInt *iq, void *work,
                       BlasInt *integers, BlasInt *info);
typedef void RealGesdd(const char *vectors, const BlasInt *m, const BlasInt *n, void *a, const BlasInt *lda,
                       void *values, void *u, const BlasInt *ldu, void *vh, const BlasInt *ldvh, void *work,
                       const BlasInt *work_size, BlasInt *integers, BlasInt *info);
typedef void ComplexGesdd(const char *vectors, const BlasInt *m, const BlasInt *n, void *a, const BlasInt *lda,
                          void *values, void *u, const BlasInt *ldu, void *vh, const BlasInt *ldvh, void *work,
                          const BlasInt *work_size, void *reals, BlasInt *integers, BlasInt *info);
typedef void AnySytrf(const char *triangle, const BlasInt *n, void *a, const BlasInt *lda, BlasInt *pivots, void *work,
                      const BlasInt *work_size, BlasInt *info);
typedef void AnyGeqrf(const BlasInt *m, const BlasInt *n, void *a, const BlasInt *lda, void *tau, void *work,
                      const BlasInt *work_size, BlasInt *info);
typedef void AnyOrgqr(const BlasInt *m, const BlasInt *n, const BlasInt *k, void *a, const BlasInt *lda,
                      const void *tau, void *work, const BlasInt *work_size, BlasInt *info);
typedef void RealGeqp3(const BlasInt *m, const BlasInt *n, void *a, const BlasInt *lda, BlasInt *order, void *tau,
                       void *work, const BlasInt *work_size, BlasInt *info);
typedef void ComplexGeqp3(const BlasInt *m, const BlasInt *n, void *a, const BlasInt *lda, BlasInt *order, void *tau,
                          void *work, const BlasInt *work_size, void *reals, BlasInt *info);
typedef void AnyGehrd(const BlasInt *n, const BlasInt *low, const BlasInt *high, void *a, const BlasInt *lda, void *tau,
                      void *work, const BlasInt *work_size, BlasInt *info);
typedef void AnyOrghr(const BlasInt *n, const BlasInt *low, const BlasInt *high, void *a, const BlasInt *lda,
                      const void *tau, void *work, const BlasInt *work_size, BlasInt *info);
typedef void RealGees(const char *vectors, const char *order, void *select, const BlasInt *n, void *a,
                      const BlasInt *lda, BlasInt *selected, void *real, void *imaginary, void *z, const BlasInt *ldz,
                      void *work, const BlasInt *work_size, BlasInt *flags, BlasInt *info);
typedef void ComplexGees(const char *vectors, const char *order, void *select, const BlasInt *n, void *a,
                         const BlasInt *lda, BlasInt *selected, void *values, void *z, const BlasInt *ldz, void *work,
                         const BlasInt *work_size, void *reals, BlasInt *flags, BlasInt *info);
typedef void RealGeev(const char *left, const char *right, const BlasInt *n, void *a, const BlasInt *lda, void *real,
                      void *imaginary, void *vl, const BlasInt *ldvl, void *vr, const BlasInt *ldvr, void *work,
                      const BlasInt *work_size, BlasInt *info);
typedef void ComplexGeev(const char *left, const char *right, const BlasInt *n, void *a, const BlasInt *lda,
                         void *values, void *vl, const BlasInt *ldvl, void *vr, const BlasInt *ldvr, void *work,
                         const BlasInt *work_size, void *reals, BlasInt *info);
typedef void AnySytrd(const char *triangle, const BlasInt *n, void *a, const BlasInt *lda, void *diagonal, void *beside,
                      void *tau, void *work, const BlasInt *work_size, BlasInt *info);
typedef void AnyStemr(const char *vectors, const char *range, const BlasInt *n, void *diagonal, void *beside,
                      const void *low, const void *high, const BlasInt *first, const BlasInt *last, BlasInt *found,
                      void *values, void *z, const BlasInt *ldz, const BlasInt *most, BlasInt *support,
                      BlasInt *try_accurate, void *work, const BlasInt *work_size, BlasInt *integers,
                      const BlasInt *integers_size, BlasInt *info);
typedef void AnyOrmtr(const char *side, const char *triangle, const char *transpose, const BlasInt *m, const BlasInt *n,
                      const void *a, const BlasInt *lda, const void *tau, void *c, const BlasInt *ldc, void *work,
                      const BlasInt *work_size, BlasInt *info);
typedef void AnyGbsv(const BlasInt *n, const BlasInt *lower, const BlasInt *upper, const BlasInt *columns, void *ab,
                     const BlasInt *ldab, BlasInt *pivots, void *b, const BlasInt *ldb, BlasInt *info);

/* In the order of element types: F32, F64, C32, C64. */
typedef struct {
    AnyPotrf *potrf[4];
    AnyGetrf *getrf[4];
    AnyGetrs *getrs[4];
    AnyGesv *gesv[4];
    AnyGetri *getri[4];
    RealSyevd *real_syevd[2];
    ComplexHeevd *complex_heevd[2];
    RealStedc *stedc[2];
    RealBdsdc *bdsdc[2];
    RealGesdd *real_gesdd[2];
    ComplexGesdd *complex_gesdd[2];
    AnySytrf *sytrf[4]; /* xHETRF for complex matrices, and so on */
    AnyGeqrf *geqrf[4];
    AnyOrgqr *orgqr[4];
    RealGeqp3 *real_geqp3[2];
    ComplexGeqp3 *complex_geqp3[2];
    AnyGehrd *gehrd[4];
    AnyOrghr *orghr[4];
    RealGees *real_gees[2];
    ComplexGees *complex_gees[2];
    RealGeev *real_geev[2];
    ComplexGeev *complex_geev[2];
    AnySytrd *sytrd[4];
    AnyStemr *stemr[4];
    AnyOrmtr *ormtr[4];
    AnyGbsv *gbsv[4];
} Lapack;

/* Everything that the chosen library computes for us. */
typedef struct {
    Gemm *gemm[4];
    Gemv *gemv[4];
    Syrk *syrk[4];
    Trsm *trsm[4];
    Trsv *trsv[4];
    FloatDot *sdot;
    DoubleDot *ddot;
    Lapack lapack;
} Blas;

/* The table, or NULL while no library has been opened. */
const Blas *blas_table(void);

/* What the library meant by an integer it wrote as its array's element number index. */
BlasInt blas_integer(const BlasInt *written, Index index);

#endif
