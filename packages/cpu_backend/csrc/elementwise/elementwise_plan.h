/* The plan behind a kernel of the elementwise machine: elementwise_plan.c makes it, elementwise.c runs it. */
#ifndef TENSOR_CPU_ELEMENTWISE_PLAN_H
#define TENSOR_CPU_ELEMENTWISE_PLAN_H

#include "core/arrays.h"
#include "elementwise/blocks.h"
#include "elementwise/elementwise.h"

enum { MOST_REGISTERS = 48, MOST_INSTRUCTIONS = 128 };
enum { FAR_BLOCK_BYTES = 1 << 10 }; /* of a register, where data comes from main memory */

typedef struct {
    Loop loop;
    AnyFunction function; /* that the loop applies (vectormath.h), or NULL */
    int target, operands[3];
    bool widens;  /* its result may have wider elements than its operands */
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
    Index cost; /* element operations per element */
    unsigned char constants[MOST_REGISTERS][16];
    int constant_bytes[MOST_REGISTERS];
    Instruction instructions[MOST_INSTRUCTIONS];
} ElementwisePlan;

/* The call of the kernels, for kernel_new(). */
PyObject *elementwise_call(PyObject *self, PyObject *const *arguments, size_t flagged_count, PyObject *names);

#endif
