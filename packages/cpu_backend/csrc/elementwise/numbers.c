/* Python numbers become elements where that is a plain conversion (numbers.h). */
#include "elementwise/numbers.h"

static const int64_t EXACT_F32 = 1 << 24,
                     EXACT_F64 = (int64_t)1 << 53; /* integers up to these are numbers of the type */

HOT bool element_from_number(PyObject *number, ElementType type, Element *element) {
    double value;
    if (PyLong_CheckExact(number)) {
        int overflow;
        const long long integer = PyLong_AsLongLongAndOverflow(number, &overflow);
        if (overflow) return false;
        if (type == I64) element->i64 = integer;
        if (type == I32) element->i32 = (int32_t)integer;
        if (type == I64 || type == I32) return type == I64 || integer == (int32_t)integer;
        const int64_t exact = type == F32 || type == C32 ? EXACT_F32 : EXACT_F64;
        if (integer > exact || integer < -exact) return false;
        value = (double)integer;
    } else if (PyFloat_CheckExact(number)) {
        value = PyFloat_AS_DOUBLE(number);
    } else {
        return false;
    }
    switch (type) {
    case F32: element->f32 = (float)value; return true;
    case F64: element->f64 = value; return true;
    case C32: element->c32 = (float)value; return true;
    case C64: element->c64 = value; return true;
    default: return false;
    }
}
