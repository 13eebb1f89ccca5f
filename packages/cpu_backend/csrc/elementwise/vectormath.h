/* Elementary functions of blocks of real elements: several at once where the C library has such versions.
 *
 * glibc's libmvec has them for x86 under the names of its vector ABI, such as _ZGVeN8v_exp for eight at once; it is
 * looked for when the first function is wanted, and functions that are missing are computed one by one with libm.
 * Both are documented to be within 4 rounding units, with the infinities, NaN and limits of C.
 */
#ifndef TENSOR_CPU_VECTORMATH_H
#define TENSOR_CPU_VECTORMATH_H

#include "elementwise/elementwise.h"

typedef enum {
    EXP,
    EXPM1,
    LOG,
    LOG1P,
    SIN,
    COS,
    TAN,
    ASIN,
    ACOS,
    ATAN,
    SINH,
    COSH,
    TANH,
    ERF,
    ERFC,
    POW,
    ATAN2,
    MATH_FUNCTIONS
} MathFunction;

typedef struct {
    Loop loop;
    const void *function; /* what the loop takes as its third operand */
} MathLoop;

/* For F32 or F64 and the present instruction set; the loop is NULL for other types. */
MathLoop math_loop(MathFunction function, ElementType type);

/* The name of the kernel with the same meaning. */
const char *math_name(MathFunction function);
int math_operands(MathFunction function);

/* Loops that apply a function: [0] of one operand, [1] of two; by type. The scalar ones take a function of libm, the
 * others one of lanes[type] elements at once. */
typedef struct {
    int bits; /* of a vector; 0 without vectors */
    Loop vector[2][2], scalar[2][2];
} MathKernels;

SIMD_TABLE(MathKernels, math_kernels);

#endif
