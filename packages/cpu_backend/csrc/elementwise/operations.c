/* What the list of elementwise operations says about each (operations.h). */
#include "elementwise/operations.h"

#define NAME_OF(number, name, operands, result) [number] = name,
const char *const OPERATION_NAMES[OPERATIONS] = {ELEMENTWISE_OPERATIONS(NAME_OF)};

#define OPERANDS_OF(number, name, operands, result) [number] = operands,
const int OPERATION_OPERANDS[OPERATIONS] = {ELEMENTWISE_OPERATIONS(OPERANDS_OF)};

#define RESULT_OF(number, name, operands, result) [number] = result,
static const ResultType RESULTS[OPERATIONS] = {ELEMENTWISE_OPERATIONS(RESULT_OF)};

ElementType operation_result(Operation operation, ElementType type) {
    switch (RESULTS[operation]) {
    case OF_TRUTH: return BOOL;
    case OF_PARTS: return type == C32 ? F32 : type == C64 ? F64 : type;
    case OF_PAIRS: return type == F32 ? C32 : C64;
    case OF_ITSELF: return (ElementType)((int)F32 + (int)operation - (int)TO_F32);
    case OF_OPERANDS: break;
    }
    return type;
}

bool operation_widens(Operation operation) { return RESULTS[operation] == OF_PAIRS || RESULTS[operation] == OF_ITSELF; }

bool operation_is_function(Operation operation) { return operation >= LOGISTIC && operation <= GELU_TANH; }
