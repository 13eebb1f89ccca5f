/* The loops of the elementwise machine: exact operations beside a formula, and every loop beside itself, one element at
 * a time, since what a loop gives must not depend on where in a block an element is. Loops of rows with one number each
 * are beside those of elements. */
#include "elementwise/elementwise.h"
#include "fuzz.h"

enum { MOST = 300 };

/* Whether the formula of an operation is known here; sets the result of whole numbers. */
static bool formula(Operation operation, ElementType type, Number x, Number y, Number *result) {
    const bool is_integer = type == I32 || type == I64;
    switch (operation) {
    case ADD: *result = number_plus(type, x, y); return type != BOOL;
    case MULTIPLY: *result = number_times(type, x, y); return type != BOOL;
    case SUBTRACT: *result = number_plus(type, x, number_times(type, (Number){-1, 0}, y)); return type != BOOL;
    case NEGATIVE: *result = number_times(type, (Number){-1, 0}, x); return type != BOOL;
    case MAXIMUM: *result = x.re > y.re ? x : y; return type != C32 && type != C64;
    case MINIMUM: *result = x.re < y.re ? x : y; return type != C32 && type != C64;
    case CONJUGATE: *result = (Number){x.re, -x.im}; return type == C32 || type == C64;
    case BITWISE_AND: *result = (Number){x.re & y.re, 0}; return is_integer;
    case BITWISE_OR: *result = (Number){x.re | y.re, 0}; return is_integer;
    case BITWISE_XOR: *result = (Number){x.re ^ y.re, 0}; return is_integer;
    case FLOOR:
    case CEIL:
    case TRUNC:
    case ROUND: *result = x; return type == F32 || type == F64;
    default: return false;
    }
}

static bool truth(Operation operation, Number x, Number y) {
    switch (operation) {
    case EQUAL: return number_equal(x, y);
    case NOT_EQUAL: return !number_equal(x, y);
    case LESS: return x.re < y.re;
    case LESS_EQUAL: return x.re <= y.re;
    case GREATER: return x.re > y.re;
    default: return x.re >= y.re;
    }
}

/* Whole numbers, or any bytes: NaN, infinities, subnormal numbers and all integers. */
static char *operand_drawn(ElementType type, Index n, bool whole) {
    return whole ? numbers_drawn(type, n) : bytes_drawn(n * ELEMENT_BYTES[type]);
}

static bool same(const char *x, const char *y, int bytes) {
    if (memcmp(x, y, (size_t)bytes) == 0) return true;
    const int part = bytes == 4 ? 4 : 8; /* NaN may differ in sign and payload */
    for (int i = 0; i < bytes; i += part) {
        double a[2];
        float narrow[2];
        for (int j = 0; j < 2; j++) {
            if (part == 4) memcpy(&narrow[j], (j ? y : x) + i, 4);
            else memcpy(&a[j], (j ? y : x) + i, 8);
        }
        if (part == 4)
            for (int j = 0; j < 2; j++) a[j] = (double)narrow[j];
        if (memcmp(x + i, y + i, (size_t)part) != 0 && !(a[0] != a[0] && a[1] != a[1])) return false;
    }
    return bytes >= 4;
}

static void check_rows(Operation operation, ElementType type) {
    const ElementwiseKernels *kernels = SIMD_CHOICE(elementwise_kernels);
    const int number_is_second = (int)draw(0, 1), bytes = ELEMENT_BYTES[type];
    const int out = ELEMENT_BYTES[operation_result(operation, type)];
    const RowsLoop loop = kernels->rows[operation][type][number_is_second];
    if (loop == NULL) return;
    const Index rows = draw(1, 9), columns = draw(1, one_in(3) ? MOST : 20), step = draw(0, 3);
    const Index pitch = one_in(2) ? 0 : columns + draw(0, 5);
    const bool whole = one_in(2);
    const char *numbers = operand_drawn(type, (rows - 1) * step + 1, whole);
    const char *others = operand_drawn(type, (rows - 1) * pitch + columns, whole);
    char *result = room_for(rows * columns * out), *alone = room_for(out);
    loop(rows, columns, result, numbers, step, others, pitch);
    for (Index row = 0; row < rows; row++)
        for (Index i = 0; i < columns; i++) {
            const char *number = numbers + row * step * bytes, *other = others + (row * pitch + i) * bytes;
            kernels->loops[operation][type](1, alone, number_is_second ? other : number,
                                            number_is_second ? number : other, (Third){.elements = number});
            CHECK(same(result + (row * columns + i) * out, alone, out));
        }
}

static void check_steps(Operation operation, ElementType type) {
    const ElementwiseKernels *kernels = SIMD_CHOICE(elementwise_kernels);
    const StepsLoop loop = kernels->steps[operation][type];
    if (loop == NULL) return;
    const Index n = draw(1, one_in(3) ? MOST : 20), steps[] = {draw(0, 3), draw(0, 5)};
    const int bytes = ELEMENT_BYTES[type];
    const bool whole = one_in(2);
    const char *first = operand_drawn(type, (n - 1) * steps[0] + 1, whole);
    const char *second = operand_drawn(type, (n - 1) * steps[1] + 1, whole);
    char *result = room_for(n * bytes), *alone = room_for(bytes);
    loop(n, result, first, steps[0], second, steps[1]);
    for (Index i = 0; i < n; i++) {
        kernels->loops[operation][type](1, alone, first + i * steps[0] * bytes, second + i * steps[1] * bytes,
                                        (Third){.elements = first});
        CHECK(same(result + i * bytes, alone, bytes));
    }
}

static void check_turned(Operation operation, ElementType type) {
    const ElementwiseKernels *kernels = SIMD_CHOICE(elementwise_kernels);
    const int is_second = (int)draw(0, 1), bytes = ELEMENT_BYTES[type];
    const int part = type == C32 || type == C64 ? bytes / 2 : bytes; /* any of which may be NaN */
    const TurnedLoop loop = kernels->turned[operation][type][is_second];
    if (loop == NULL) return;
    const Index rows = draw(1, one_in(2) ? 150 : 20), columns = draw(1, one_in(2) ? 150 : 20);
    const Index pitch = rows + draw(0, 5), result_pitch = columns + draw(0, 5), step = draw(0, 1);
    const Index other_pitch = one_in(2) ? 0 : columns + draw(0, 5);
    const bool whole = one_in(2);
    const char *turned = operand_drawn(type, (columns - 1) * pitch + rows, whole);
    const char *others = operand_drawn(type, (rows - 1) * other_pitch + (columns - 1) * step + 1, whole);
    char *result = room_for(((rows - 1) * result_pitch + columns) * bytes), *alone = room_for(bytes);
    loop(rows, columns, result, result_pitch, turned, pitch, others, other_pitch, step, one_in(2));
    for (Index row = 0; row < rows; row++)
        for (Index i = 0; i < columns; i++) {
            const char *x = turned + (i * pitch + row) * bytes, *y = others + (row * other_pitch + i * step) * bytes;
            kernels->loops[operation][type](1, alone, is_second ? y : x, is_second ? x : y, (Third){.elements = x});
            for (int k = 0; k < bytes; k += part)
                CHECK(same(result + (row * result_pitch + i) * bytes + k, alone + k, part));
        }
}

void fuzz_elementwise(void) {
    const ElementType type = draw_type();
    const Operation operation = (Operation)draw(0, OPERATIONS - 1);
    const Loop loop = SIMD_CHOICE(elementwise_kernels)->loops[operation][type];
    if (loop == NULL) return;
    check_rows(operation, type);
    check_steps(operation, type);
    check_turned(operation, type);
    const Index n = draw(0, one_in(3) ? MOST : 20);
    const bool whole = one_in(2) || operation >= TO_F32; /* a float beyond an integer has no counterpart there */
    const int bytes = ELEMENT_BYTES[type], out = ELEMENT_BYTES[operation_result(operation, type)];
    const bool chooses = operation == WHERE;
    const ElementType types[4] = {chooses ? BOOL : type, type, type, type};
    char *operands[4];
    for (int k = 0; k < 4; k++) operands[k] = operand_drawn(types[k], n, whole);
    const void *both[] = {operands[2], operands[3]};
    const bool four = OPERATION_OPERANDS[operation] == 4;
    char *result = room_for(n * out), *alone = room_for(out);
    loop(n, result, operands[0], operands[1], four ? (Third){.both = both} : (Third){.elements = operands[2]});
    for (Index i = 0; i < n; i++) {
        const char *x = operands[0] + i * ELEMENT_BYTES[types[0]], *y = operands[1] + i * bytes;
        const char *z = operands[2] + i * bytes, *found = result + i * out;
        const void *beside[] = {z, operands[3] + i * bytes};
        loop(1, alone, x, y, four ? (Third){.both = beside} : (Third){.elements = z});
        CHECK(same(found, alone, out) || (!whole && (type == C32 || type == C64)));
        if (chooses) CHECK(memcmp(found, *x ? y : z, (size_t)bytes) == 0);
        Number expected;
        if (!whole) continue;
        const Number a = number_read(types[0], x), b = number_read(type, y);
        if (formula(operation, type, a, b, &expected)) CHECK(number_equal(number_read(type, found), expected));
        if (operation >= EQUAL && operation <= GREATER_EQUAL) CHECK((*found != 0) == truth(operation, a, b));
    }
}
