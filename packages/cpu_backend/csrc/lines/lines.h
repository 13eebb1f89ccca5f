/* What is computed along the lines of one axis: running sums and products, places of extremes, softmax; and folds of
 * lines too short for the loops of reductions (reduction/reduce.h).
 *
 * An operand without gaps is [outer][length][inner]: its lines lie side by side in memory where inner is 1 ("along"), and
 * else are columns of `length` rows ("across"), which vectors take many at once.
 */
#ifndef TENSOR_CPU_LINES_H
#define TENSOR_CPU_LINES_H

#include "core/common.h"
#include "core/cpu.h"

typedef enum { ARGMAX, ARGMIN, CUMSUM, CUMPROD, SOFTMAX, LOG_SOFTMAX, LINE_OPERATIONS } LineOperation;

enum {
    SHORT_LINE = 32,         /* elements */
    LINES_AT_ONCE = 32,      /* short ones, turned into columns of a tile */
    MOST_LINE_COLUMNS = 512, /* of a block of rows */
};

enum { MOST_RANKED_AT_ONCE = 8 };

enum { LINE_SCRATCH = (3 * MOST_LINE_COLUMNS + 2 * SHORT_LINE * LINES_AT_ONCE) * 8 };

/* The lines follow one another in the source, and their results in the result: one element or a line for each. Scratch
 * is room for a line, or for LINE_SCRATCH bytes: MOST_LINE_COLUMNS elements of F64 three times, and two tiles. */
typedef void (*Along)(Index lines, Index length, const void *source, void *result, void *scratch);

/* At most MOST_LINE_COLUMNS columns, whose rows are so many elements apart in the source, and in a result of lines, too. */
typedef void (*Across)(Index length, Index columns, Index stride, const void *source, void *result, void *scratch);

typedef enum {
    LINE_SUM,
    LINE_LARGEST,
    LINE_LEAST,
    LINE_MEAN,
    LINE_SPREAD,
    LINE_SQUARES,
    LINE_PRODUCT, /* of complex elements */
    LINE_ANY,     /* of lines of any length and all types, with results of Bool */
    LINE_ALL,
    SHORT_FOLDS
} ShortFold;

/* Folds short lines that lie side by side, one result for each; sums of squares, of elements or of what differs from
 * the mean, are divided, and rooted if wanted. */
typedef void (*FoldShort)(Index lines, Index length, const void *source, void *result, double divisor, bool root);

/* The extremes of pieces begin to end, of MOST_IN_LINE elements each; and, with those of all, the place of the first
 * extreme where the first axis is the fastest: extents are those of the array, the last axis of which is so in memory. */
typedef void (*ExtremesOfPieces)(Index begin, Index end, Index length, const void *source, void *extremes);
typedef Index (*PlaceInOtherOrder)(Index length, const void *source, const void *extremes, int rank,
                                   const Index *extents);

/* At which places the keys stand when they are in order, equal ones in the order that they have. Both arrays have room for
 * a multiple of MOST_RANKED_AT_ONCE. */
typedef void (*Ranks)(Index count, const int64_t *keys, int64_t *ranks);

typedef struct {
    Along along[LINE_OPERATIONS][ELEMENT_TYPES]; /* by the type of the operand; NULL where there is none */
    Across across[LINE_OPERATIONS][ELEMENT_TYPES];
    ExtremesOfPieces extremes[2][ELEMENT_TYPES]; /* of ARGMAX and ARGMIN */
    PlaceInOtherOrder places[2][ELEMENT_TYPES];
    FoldShort folds[SHORT_FOLDS][ELEMENT_TYPES];
    Ranks ranks;
} LineKernels;

SIMD_TABLE(LineKernels, line_kernels);

#endif
