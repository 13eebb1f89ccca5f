/* Matrix products in algebras: what the front end (semiring.c) and the loops (simd/semiring.c) share.
 *
 * A matrix product is cut into blocks. The part of each operand that a block needs is packed into panels: a panel of
 * the left operand holds LEFT_WIDTH rows, one of the right operand right_width columns, both with the contracted
 * index outermost (pack.h), so that the loops read them one after the other whatever the strides of the operands were.
 */
#ifndef TENSOR_CPU_SEMIRING_H
#define TENSOR_CPU_SEMIRING_H

#include "core/common.h"
#include "core/cpu.h"

typedef enum { MAX_PLUS, MIN_PLUS, MAX_TIMES, OR_AND, SEMIRINGS } Semiring;

enum { LEFT_WIDTH = 6 };

/* What a panel contains, as far as it may lead to NaN. A product of two elements is NaN where either is, or where
 * one is HIGH and the other LOW: inf and -inf under addition, inf and 0 under multiplication. */
enum { HAS_NAN = 1, HAS_HIGH = 2, HAS_LOW = 4 };

/* A block of the result, of which element (i, j) is result[rows[i] + columns[j]]. */
typedef struct {
    const char *left, *right;                      /* packed panels */
    const unsigned char *left_marks, *right_marks; /* one per panel */
    Index depth;                                   /* contracted */
    char *result;
    const Index *rows, *columns; /* offsets in elements */
    Index row_count, column_count;
    bool continues; /* adds to what the result holds, rather than to zero */
} Block;

/* Part of a row of the result: the product of a vector and a matrix, which is read where it lies. */
typedef struct {
    const char *vector, *matrix; /* depth elements side by side; element (k, j) is matrix[along[k] + across[j]] */
    const Index *along, *across; /* one of them consecutive */
    bool across_is_consecutive;
    Index depth, column_count; /* at most LINE_COLUMNS columns */
    char *result;
    const Index *columns;
    bool continues;
} Line;

enum { LINE_COLUMNS = 1024 };

/* The loops of one algebra and element type. */
typedef struct {
    int right_width;
    unsigned char (*marks)(const char *panel, Index count); /* of so many elements: HAS_NAN and its like */
    void (*multiply)(const Block *block);
    void (*multiply_line)(const Line *line);
} SemiringLoops;

typedef struct {
    SemiringLoops loops[SEMIRINGS][ELEMENT_TYPES]; /* right_width is 0 where there are none */
} SemiringKernels;

SIMD_TABLE(SemiringKernels, semiring_kernels);

#endif
