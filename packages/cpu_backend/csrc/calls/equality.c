/* array_equal(x, y) of compact tensors of one form: decided here where they are small or soon differ. */
#include "calls/call.h"

enum { MOST_COMPARED = 1 << 12, AT_ONCE = 1 << 7 }; /* elements, of which so many are compared before a question */

/* NaN equals nothing, and zeros of either sign are equal. */
#define DEFINE_ALIKE(name, type, DIFFERS)                                                                              \
    static bool name(const void *a, const void *b, Index count) {                                                      \
        const type *x = a, *y = b;                                                                                     \
        for (Index first = 0; first < count; first += AT_ONCE) {                                                       \
            const Index end = smaller(first + AT_ONCE, count);                                                         \
            unsigned differ = 0;                                                                                       \
            for (Index i = first; i < end; i++) differ |= DIFFERS;                                                     \
            if (differ) return false;                                                                                  \
        }                                                                                                              \
        return true;                                                                                                   \
    }

DEFINE_ALIKE(alike_f32, float, x[i] != y[i])
DEFINE_ALIKE(alike_f64, double, x[i] != y[i])
DEFINE_ALIKE(alike_i32, int32_t, x[i] != y[i])
DEFINE_ALIKE(alike_i64, int64_t, x[i] != y[i])
DEFINE_ALIKE(alike_truths, uint8_t, (x[i] != 0) != (y[i] != 0))

static bool alike(ElementType type, const char *x, const char *y, Index count) {
    switch (type) {
    case F32: return alike_f32(x, y, count);
    case F64: return alike_f64(x, y, count);
    case C32: return alike_f32(x, y, 2 * count);
    case C64: return alike_f64(x, y, 2 * count);
    case I32: return alike_i32(x, y, count);
    case I64: return alike_i64(x, y, count);
    default: return alike_truths(x, y, count);
    }
}

/* array_equal(x, y) */
CALL(call_array_equal) {
    const Call *self = (Call *)object;
    PyObject *form, *x, *other, *y;
    if (PyVectorcall_NARGS(flagged_count) != 2 || names || !call_parts(self, arguments[0], &form, &x) ||
        !call_parts(self, arguments[1], &other, &y) || form != other || !array_is_gapless(x) || !array_is_gapless(y) ||
        !call_untraced(self))
        return call_function(self, arguments, flagged_count, names);
    const int type = array_element_type(x);
    if (type < 0 || array_element_type(y) != type) return call_function(self, arguments, flagged_count, names);
    const Index size = array_size(x), compared = smaller(size, MOST_COMPARED);
    if (!alike((ElementType)type, array_data(x), array_data(y), compared)) Py_RETURN_FALSE;
    if (compared == size) Py_RETURN_TRUE;
    return call_function(self, arguments, flagged_count, names);
}
