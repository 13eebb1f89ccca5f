/* The elementwise machine: its operations, its instructions, and the table of loops that carry them out.
 *
 * A program is a list of instructions over registers. A register holds a block of elements of one type: an operand of
 * the kernel, a constant, or a block of workspace. Every operation is one loop over a block, so deciding what to do
 * costs one indirect call per 1000 elements, and what lies between two operations stays in the first-level cache.
 *
 * Method: block-wise interpretation as in Francesc Alted's numexpr (2009).
 */
#ifndef TENSOR_CPU_ELEMENTWISE_H
#define TENSOR_CPU_ELEMENTWISE_H

#include "core/cpu.h"
#include "elementwise/operations.h"

typedef void (*AnyFunction)(void);

/* What a loop takes beside two operands: the elements of a third one, those of a third and a fourth, or the function that
 * it applies (vectormath.h). */
typedef union {
    const void *elements;
    const void *const *both;
    AnyFunction function;
} Third;

/* Sets n elements of the result from those of up to four operands. The result may lie where an operand of elements
 * of the same size lies, or apart from it. */
typedef void (*Loop)(Index n, void *result, const void *first, const void *second, Third third);

/* Sets rows of so many elements, one after the other, from one number for each and elements that lie side by side. The
 * numbers are `step` elements apart, the first elements of rows `pitch`. The result lies apart from the numbers, and where
 * the elements lie or apart from them. */
typedef void (*RowsLoop)(Index rows, Index columns, void *result, const void *numbers, Index step, const void *others,
                         Index pitch);

/* Sets n elements of the result, which lies apart from all operands, from two of which the elements are so many apart. */
typedef void (*StepsLoop)(Index n, void *result, const void *first, Index first_step, const void *second,
                          Index second_step);

/* Sets rows of so many elements, whose first elements are `result_pitch` apart, from an operand that is turned, of which
 * neighbours are one element of each row and rows are elements that are `pitch` apart, and from others, whose rows are
 * `other_pitch` and elements `step` apart, which is 0 or 1. The result lies apart from both; with `past_cache`, which loops
 * of real elements overlook, whole lines of it are written past the cache. */
typedef void (*TurnedLoop)(Index rows, Index columns, void *result, Index result_pitch, const void *operand,
                           Index pitch, const void *others, Index other_pitch, Index step, bool past_cache);

typedef struct {
    RowsLoop rows[OPERATIONS][ELEMENT_TYPES][2];     /* with the number as the first operand, as the second; or NULL */
    TurnedLoop turned[OPERATIONS][ELEMENT_TYPES][2]; /* of the first operand, of the second; or NULL */
    StepsLoop steps[OPERATIONS][ELEMENT_TYPES];      /* or NULL */
    Loop loops[OPERATIONS][ELEMENT_TYPES];           /* by the type of the operands (where(): of the last two) */
} ElementwiseKernels;

SIMD_TABLE(ElementwiseKernels, elementwise_kernels);

#endif
