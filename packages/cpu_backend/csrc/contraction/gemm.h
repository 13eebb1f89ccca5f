/* The scatter GEMM's inner part: blocks of packed operands in, a block of the result out. Panels are those of pack.h.
 */
#ifndef TENSOR_CPU_GEMM_H
#define TENSOR_CPU_GEMM_H

#include "core/common.h"
#include "core/cpu.h"
#include "contraction/pack.h"

/* A block of the result: `rows` by `columns` sums of `depth` products.
 *
 * Rows lie in panels of GemmLoop.rows, of which the last has as many whole vectors as it needs; columns lie in panels
 * of GemmLoop.columns, or wherever two tables of offsets say: then they are read as they lie. Factors of Bool are 0
 * or 1. */
typedef struct {
    Index rows, columns, depth;
    const Index *across, *along;         /* offsets of the result's rows and columns */
    const Index *y_columns, *y_products; /* of the columns' elements, by column and by product; NULL for panels */
    const Index *x_products;             /* of the rows' elements, neighbours in whole panels, by product; or NULL */
    bool adds;                           /* to what the result holds, instead of overwriting it */
} GemmBlock;

typedef struct {
    void (*multiply)(const GemmBlock *block, const char *rows, const char *columns, char *result);
    Index lanes, rows, columns; /* elements of a vector, of a panel's step over rows, and over columns */
} GemmLoop;

typedef struct {
    GemmLoop of_type[ELEMENT_TYPES];
} GemmKernels;

SIMD_TABLE(GemmKernels, gemm_kernels);

#endif
