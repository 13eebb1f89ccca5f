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

#include "core/common.h"
#include "core/cpu.h"

/* The names are those of the kernels of the same meaning; elementwise.c lists them in this order. TO_F32 + type
 * converts to that type. */
typedef enum {
    ADD,
    SUBTRACT,
    MULTIPLY,
    DIVIDE,
    MAXIMUM,
    MINIMUM,
    EQUAL,
    NOT_EQUAL,
    LESS,
    LESS_EQUAL,
    GREATER,
    GREATER_EQUAL,
    LOGICAL_AND,
    LOGICAL_OR,
    LOGICAL_XOR,
    BITWISE_AND,
    BITWISE_OR,
    BITWISE_XOR,
    LEFT_SHIFT,
    RIGHT_SHIFT,
    WHERE,
    NEGATIVE,
    ABSOLUTE,
    CONJUGATE,
    SIGN,
    LOGICAL_NOT,
    INVERT,
    SQRT,
    FLOOR,
    CEIL,
    TRUNC,
    ROUND,
    ISNAN,
    ISINF,
    ISFINITE,
    REAL_PART,
    IMAGINARY_PART,
    JOIN_PARTS,
    TO_F32,
    TO_F64,
    TO_C32,
    TO_C64,
    TO_I32,
    TO_I64,
    TO_BOOL,
    LOOPED_OPERATIONS
} Operation;

/* Sets n elements of the result from those of up to three operands. The result may lie where an operand of elements
 * of the same size lies, or apart from it. A function of vectormath.h has its address in place of the third. */
typedef void (*Loop)(Index n, void *result, const void *first, const void *second, const void *third);

typedef struct {
    Loop loops[LOOPED_OPERATIONS][ELEMENT_TYPES]; /* by the type of the operands (where(): of the last two) */
} ElementwiseKernels;

SIMD_TABLE(ElementwiseKernels, elementwise_kernels);

#endif
