/* Reductions over any axes: the loops over rows and lines, which reduce.c arranges.
 *
 * A row is a piece of a kept axis whose elements are neighbours; each of its columns is folded into a result of its
 * own. A line is a piece of a reduced axis whose elements are neighbours; all of it is folded into one result.
 *
 * Sums are cascaded: up to ROWS_AT_ONCE rows are added up one after the other, and such partial sums are added
 * pairwise, as a binary counter would carry (Nicholas Higham, The accuracy of floating point summation, SIAM Journal on
 * Scientific Computing 14, 1993). The error grows with the logarithm of the number of elements, as that of NumPy's
 * pairwise sums along a contiguous axis does; along other axes NumPy adds one after the other.
 *
 * The order of all operations depends on the extents alone, never on the number of threads.
 */
#ifndef TENSOR_CPU_REDUCE_H
#define TENSOR_CPU_REDUCE_H

#include "core/common.h"
#include "core/cpu.h"

enum { LONG_ROW = 1 << 12 }; /* bytes of a row, from which several are read at once, one after the other */
enum { FARTHEST_NEXT = 8 };  /* elements from one to the next of a line, while what is fetched holds several */
enum { DISTANT = 1 << 14 };  /* bytes from row to row, from which loops take several rows at a time */

typedef enum { SUM, PRODUCT, LARGEST, LEAST, FOLDS } Fold;

/* Folds of real elements that are made in double, whatever the elements are: sums of x, of x², of (x - c)² with a
 * centre c for each result, and of |x|; the largest |x|. So squares of F32 neither overflow nor lose a digit. */
typedef enum { TOTAL, SQUARES, DEVIATIONS, SIZES, LARGEST_SIZE, WIDE_FOLDS } WideFold;

enum {
    ROWS_AT_ONCE = 64,
    WIDE_ROW = 32, /* elements that rows are widened to, so that loops over a row pay */
    MOST_IN_LINE = ROWS_AT_ONCE * WIDE_ROW,
};

/* Does a step for the places k below half, which is half of the number, a power of 2 up to 32, then a quarter of it, and
 * so on to 1: loops of constants, which the compiler makes into straight lines. */
#define HALVED_ONCE(number, most, ...)                                                                                 \
    for (int k = 0, half = (most); (number) > (most) && k < half; k++) {                                               \
        __VA_ARGS__;                                                                                                   \
    }
#define HALVED(number, ...)                                                                                            \
    HALVED_ONCE(number, 16, __VA_ARGS__)                                                                               \
    HALVED_ONCE(number, 8, __VA_ARGS__)                                                                                \
    HALVED_ONCE(number, 4, __VA_ARGS__)                                                                                \
    HALVED_ONCE(number, 2, __VA_ARGS__)                                                                                \
    HALVED_ONCE(number, 1, __VA_ARGS__)

typedef struct {
    /* Folds a few rows into so many folds, one per column, which hold something already when they are begun. The stride
     * from row to row counts elements. */
    void (*rows)(Index rows, Index columns, Index row_stride, const void *source, void *folds, bool begun);
    /* Folds other into folds, element by element. */
    void (*join)(Index columns, void *folds, const void *other);
    /* Folds so many parts that lie side by side, of so many columns each, into the first of them. */
    void (*parts)(Index count, Index columns, void *folds);
    /* Sets one fold to that of a line of at most MOST_IN_LINE elements. */
    void (*line)(Index count, const void *source, void *fold);
    /* The same of elements that are so many apart; or NULL. */
    void (*line_apart)(Index count, const void *source, Index step, void *fold);
} FoldLoops;

/* The same of wide folds; the centres are one for each column. A sum that is no deviation does not look at them. */
typedef struct {
    void (*rows)(Index rows, Index columns, Index row_stride, const void *source, const double *centres, void *folds,
                 bool begun);
    void (*join)(Index columns, void *folds, const void *other);
    void (*parts)(Index count, Index columns, void *folds);
    void (*line)(Index count, const void *source, const double *centre, void *fold);
} WideLoops;

typedef struct {
    FoldLoops loops[FOLDS][ELEMENT_TYPES]; /* by the type of the operand; NULL where there are none */
} ReduceKernels;

typedef struct {
    WideLoops loops[WIDE_FOLDS][ELEMENT_TYPES]; /* of F32 and F64 */
} WideKernels;

/* Bytes before they are read, those that lie so far ahead of them. A line is folded in pieces, at whose ends the processor
 * stops fetching ahead by itself, and so it does at ends of pages (measured on Zen 5 over 72 MB: 60 GB/s instead of 40 to
 * 55, whatever the alignment). What lies behind all elements is named as well, and never read. */
enum { FOLDED_AHEAD = 1 << 13 };
static inline void fetch_ahead(const void *first, Index bytes) {
    for (Index byte = 0; byte < bytes; byte += CACHE_LINE)
        __builtin_prefetch((const char *)first + FOLDED_AHEAD + byte);
}

SIMD_TABLE(ReduceKernels, reduce_kernels);
SIMD_TABLE(WideKernels, wide_kernels);

#endif
