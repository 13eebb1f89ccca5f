/* Elementary functions of blocks of real elements: several at once where the C library has such versions.
 *
 * glibc's libmvec has them for x86 under the names of its vector ABI, such as _ZGVeN8v_exp for eight at once; it is
 * looked for when the first function is wanted, and functions that are missing are computed one by one with libm.
 * Both are documented to be within 4 rounding units, with the infinities, NaN and limits of C.
 */
#ifndef TENSOR_CPU_VECTORMATH_H
#define TENSOR_CPU_VECTORMATH_H

#include "elementwise/elementwise.h"

/* The functions, each in one row: the number that C knows it by, its name, which is that of the kernel and of the
 * function of C alike, and how many operands it has. */
#define MATH_FUNCTION_LIST(ROW)                                                                                        \
    ROW(EXP, exp, 1)                                                                                                   \
    ROW(EXPM1, expm1, 1)                                                                                               \
    ROW(LOG, log, 1)                                                                                                   \
    ROW(LOG1P, log1p, 1)                                                                                               \
    ROW(SIN, sin, 1)                                                                                                   \
    ROW(COS, cos, 1)                                                                                                   \
    ROW(TAN, tan, 1)                                                                                                   \
    ROW(ASIN, asin, 1)                                                                                                 \
    ROW(ACOS, acos, 1)                                                                                                 \
    ROW(ATAN, atan, 1)                                                                                                 \
    ROW(SINH, sinh, 1)                                                                                                 \
    ROW(COSH, cosh, 1)                                                                                                 \
    ROW(TANH, tanh, 1)                                                                                                 \
    ROW(ERF, erf, 1)                                                                                                   \
    ROW(ERFC, erfc, 1)                                                                                                 \
    ROW(POW, pow, 2)                                                                                                   \
    ROW(ATAN2, atan2, 2)

#define MATH_NUMBER(number, name, operands) number,
typedef enum { MATH_FUNCTION_LIST(MATH_NUMBER) MATH_FUNCTIONS } MathFunction;
#undef MATH_NUMBER

typedef struct {
    Loop loop;
    AnyFunction function; /* what the loop applies */
} MathLoop;

/* For the present instruction set; the loop is NULL where there is none for the type. */
MathLoop math_loop(MathFunction function, ElementType type);

extern const char *const MATH_NAMES[MATH_FUNCTIONS];
int math_operands(MathFunction function);

/* Loops that apply a function: [0] of one operand, [1] of two; by type. The scalar ones take a function of libm, the
 * others one of lanes[type] elements at once. */
typedef struct {
    int bits; /* of a vector; 0 without vectors */
    Loop vector[2][2], scalar[2][2];
    Loop of_complex[MATH_FUNCTIONS][2]; /* of C32 and C64; NULL where there is none */
    Loop own[MATH_FUNCTIONS][2];        /* of F32 and F64, faster than libmvec's; NULL where there is none */
} MathKernels;

SIMD_TABLE(MathKernels, math_kernels);

#endif
