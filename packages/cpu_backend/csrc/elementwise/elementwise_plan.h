/* The plan behind a kernel of the elementwise machine: elementwise_plan.c makes it, elementwise.c runs it. */
#ifndef TENSOR_CPU_ELEMENTWISE_PLAN_H
#define TENSOR_CPU_ELEMENTWISE_PLAN_H

#include "core/arrays.h"
#include "elementwise/blocks.h"
#include "elementwise/elementwise.h"
#include "elementwise/numbers.h"

enum { MOST_REGISTERS = 48, MOST_INSTRUCTIONS = 128, MOST_READ_AT_ONCE = 4 };
enum { FAR_BLOCK_BYTES = 1 << 10 }; /* of a register, where data comes from main memory */

typedef struct {
    Loop loop;
    const RowsLoop *rows;     /* of rows with one number each, or NULL */
    StepsLoop steps;          /* of elements apart, or NULL */
    const TurnedLoop *turned; /* of either operand that is turned, or NULL */
    AnyFunction function;     /* that the loop applies (vectormath.h), or NULL */
    int target, operands[MOST_READ_AT_ONCE];
    bool widens;  /* its result may have wider elements than its operands */
    Index cost;   /* beside that of an addition */
    bool chooses; /* where(), whose first operand is Bool */
    int operand_count;
    ElementType result;
} Instruction;

typedef struct {
    ArrayForm result;
    BlockPlan blocks;
    const BlockKernels *block_kernels;
    int register_count, first_constant, constant_count, instruction_count;
    int space_bytes;                /* of the workspace of a register */
    Index space_of[MOST_REGISTERS]; /* where it begins; those without begin where the first one does */
    size_t workspace_bytes;         /* of all */
    bool flat, far, streamed;
    RowsLoop by_rows;   /* in place of the only instruction, where one operand is one number along the innermost axis */
    StepsLoop by_steps; /* in its place, where elements along that axis are apart */
    TurnedLoop by_tiles;   /* in its place, where one operand is turned */
    bool tiles_past_cache; /* operands and result fill much of the cache */
    int number,
        row;    /* which operand is one number, or turned, and which the other one; of steps the first and the second */
    Index cost; /* element operations per element */
    int argument_count; /* of a call; as many as operands where none is a number */
    int argument_of[MOST_OPERANDS];
    bool is_number[MOST_OPERANDS]; /* the argument is a Python number, which becomes an element of this type */
    ElementType types[MOST_OPERANDS];
    PyObject *fallback; /* for numbers that NumPy has to judge; NULL without numbers */
    unsigned char constants[MOST_REGISTERS][16];
    int constant_bytes[MOST_REGISTERS];
    Instruction instructions[MOST_INSTRUCTIONS];
} ElementwisePlan;

enum { ELEMENTWISE_WORTH_A_THREAD = 40000 }; /* element operations: ten microseconds of the simplest */

/* What kernels compute of one operand or two that are no numbers, for kernel_computes(). */
bool elementwise_compute(const void *plan, const char *const *operands, char *result);

/* The call of the kernels, for kernel_new(). */
PyObject *elementwise_call(PyObject *self, PyObject *const *arguments, size_t flagged_count, PyObject *names);

#endif
