/* The elementwise operations, each in one row: the number that C knows it by, the name of its kernel, how many operands
 * it has, and what its result is made of. The elementwise machine (elementwise.h) and the kernels for tiny operands
 * (tiny.h) both count by this list; which loops there are for which types their tables say (simd/elementwise.c,
 * simd/tiny.c).
 */
#ifndef TENSOR_CPU_OPERATIONS_H
#define TENSOR_CPU_OPERATIONS_H

#include "core/common.h"

typedef enum {
    OF_OPERANDS, /* the type of the operands */
    OF_TRUTH,    /* Bool */
    OF_PARTS,    /* of complex operands the type of a part, else that of the operands */
    OF_PAIRS,    /* the complex type whose parts the operands are */
    OF_ITSELF,   /* conversions, in the order of ElementType */
} ResultType;

#define ELEMENTWISE_OPERATIONS(ROW)                                                                                    \
    ROW(ADD, "add", 2, OF_OPERANDS)                                                                                    \
    ROW(SUBTRACT, "subtract", 2, OF_OPERANDS)                                                                          \
    ROW(MULTIPLY, "multiply", 2, OF_OPERANDS)                                                                          \
    ROW(DIVIDE, "divide", 2, OF_OPERANDS)                                                                              \
    ROW(FLOOR_DIVIDE, "floor_divide", 2, OF_OPERANDS)                                                                  \
    ROW(REMAINDER, "remainder", 2, OF_OPERANDS)                                                                        \
    ROW(FMOD, "fmod", 2, OF_OPERANDS)                                                                                  \
    ROW(HYPOT, "hypot", 2, OF_OPERANDS)                                                                                \
    ROW(COPYSIGN, "copysign", 2, OF_OPERANDS)                                                                          \
    ROW(NEXTAFTER, "nextafter", 2, OF_OPERANDS)                                                                        \
    ROW(MAXIMUM, "maximum", 2, OF_OPERANDS)                                                                            \
    ROW(MINIMUM, "minimum", 2, OF_OPERANDS)                                                                            \
    ROW(CLIP, "clip", 3, OF_OPERANDS)                                                                                  \
    ROW(EQUAL, "equal", 2, OF_TRUTH)                                                                                   \
    ROW(NOT_EQUAL, "not_equal", 2, OF_TRUTH)                                                                           \
    ROW(LESS, "less", 2, OF_TRUTH)                                                                                     \
    ROW(LESS_EQUAL, "less_equal", 2, OF_TRUTH)                                                                         \
    ROW(GREATER, "greater", 2, OF_TRUTH)                                                                               \
    ROW(GREATER_EQUAL, "greater_equal", 2, OF_TRUTH)                                                                   \
    ROW(LOGICAL_AND, "logical_and", 2, OF_OPERANDS)                                                                    \
    ROW(LOGICAL_OR, "logical_or", 2, OF_OPERANDS)                                                                      \
    ROW(LOGICAL_XOR, "logical_xor", 2, OF_OPERANDS)                                                                    \
    ROW(BITWISE_AND, "bitwise_and", 2, OF_OPERANDS)                                                                    \
    ROW(BITWISE_OR, "bitwise_or", 2, OF_OPERANDS)                                                                      \
    ROW(BITWISE_XOR, "bitwise_xor", 2, OF_OPERANDS)                                                                    \
    ROW(LEFT_SHIFT, "bitwise_left_shift", 2, OF_OPERANDS)                                                              \
    ROW(RIGHT_SHIFT, "bitwise_right_shift", 2, OF_OPERANDS)                                                            \
    ROW(WHERE, "where", 3, OF_OPERANDS)                                                                                \
    ROW(NEAR, "near", 4, OF_TRUTH)                                                                                     \
    ROW(NEGATIVE, "negative", 1, OF_OPERANDS)                                                                          \
    ROW(ABSOLUTE, "abs", 1, OF_PARTS)                                                                                  \
    ROW(CONJUGATE, "conj", 1, OF_OPERANDS)                                                                             \
    ROW(SIGN, "sign", 1, OF_OPERANDS)                                                                                  \
    ROW(LOGICAL_NOT, "logical_not", 1, OF_OPERANDS)                                                                    \
    ROW(INVERT, "bitwise_invert", 1, OF_OPERANDS)                                                                      \
    ROW(SQRT, "sqrt", 1, OF_OPERANDS)                                                                                  \
    ROW(CUBE, "cube", 1, OF_OPERANDS)                                                                                  \
    ROW(HALF_POWER, "half_power", 1, OF_OPERANDS)                                                                      \
    ROW(LOGISTIC, "sigmoid", 1, OF_OPERANDS)                                                                           \
    ROW(SILU, "silu", 1, OF_OPERANDS)                                                                                  \
    ROW(GELU_TANH, "gelu_tanh", 1, OF_OPERANDS)                                                                        \
    ROW(FLOOR, "floor", 1, OF_OPERANDS)                                                                                \
    ROW(CEIL, "ceil", 1, OF_OPERANDS)                                                                                  \
    ROW(TRUNC, "trunc", 1, OF_OPERANDS)                                                                                \
    ROW(ROUND, "round", 1, OF_OPERANDS)                                                                                \
    ROW(ISNAN, "isnan", 1, OF_TRUTH)                                                                                   \
    ROW(ISINF, "isinf", 1, OF_TRUTH)                                                                                   \
    ROW(ISFINITE, "isfinite", 1, OF_TRUTH)                                                                             \
    ROW(REAL_PART, "real", 1, OF_PARTS)                                                                                \
    ROW(IMAGINARY_PART, "imag", 1, OF_PARTS)                                                                           \
    ROW(JOIN_PARTS, "complex", 2, OF_PAIRS)                                                                            \
    ROW(TO_F32, "to_F32", 1, OF_ITSELF)                                                                                \
    ROW(TO_F64, "to_F64", 1, OF_ITSELF)                                                                                \
    ROW(TO_C32, "to_C32", 1, OF_ITSELF)                                                                                \
    ROW(TO_C64, "to_C64", 1, OF_ITSELF)                                                                                \
    ROW(TO_I32, "to_I32", 1, OF_ITSELF)                                                                                \
    ROW(TO_I64, "to_I64", 1, OF_ITSELF)                                                                                \
    ROW(TO_BOOL, "to_Bool", 1, OF_ITSELF)

#define OPERATION_NUMBER(number, name, operands, result) number,
typedef enum { ELEMENTWISE_OPERATIONS(OPERATION_NUMBER) OPERATIONS } Operation;
#undef OPERATION_NUMBER
_Static_assert(TO_BOOL - TO_F32 == (int)BOOL - (int)F32, "conversions are in the order of the types");

extern const char *const OPERATION_NAMES[OPERATIONS];
extern const int OPERATION_OPERANDS[OPERATIONS];

/* The type of what an operation computes from operands of this type (of where(): its last two). */
ElementType operation_result(Operation operation, ElementType type);

/* Whether it takes several times as long as an addition, as the functions of vectormath.h do. */
bool operation_is_function(Operation operation);

/* Whether the elements of a result may be wider than those of the operands. */
bool operation_widens(Operation operation);

#endif
