/* Elements of 1, 4, 8 or 16 bytes at numbers, side by side: each is read as soon as its number is known. */
#ifndef TENSOR_CPU_READ_AT_H
#define TENSOR_CPU_READ_AT_H

#include "core/common.h"

typedef struct {
    double real, imaginary;
} Pair;

#define READ_AT(name, T)                                                                                               \
    static inline bool name(Index count, const int64_t *numbers, Index wraps, Index last, Index stride, const T *x,    \
                            T *y) {                                                                                    \
        Index outside = 0;                                                                                             \
        for (Index i = 0; i < count; i++) {                                                                            \
            const Index from = numbers[i] + (wraps & numbers[i] >> 63);                                                \
            const bool beyond = (uint64_t)from > (uint64_t)last;                                                       \
            outside |= beyond;                                                                                         \
            y[i] = x[(beyond ? 0 : from) * stride];                                                                    \
        }                                                                                                              \
        return outside == 0;                                                                                           \
    }
READ_AT(read_at_1, uint8_t)
READ_AT(read_at_4, uint32_t)
READ_AT(read_at_8, uint64_t)
READ_AT(read_at_16, Pair)
#undef READ_AT

/* To a negative number `wraps` is added; false where one is then not in 0 to last. */
static inline bool read_at(int bytes, Index count, const int64_t *numbers, Index wraps, Index last, Index stride,
                           const void *operand, void *other) {
    switch (bytes) {
    case 1: return read_at_1(count, numbers, wraps, last, stride, operand, other);
    case 4: return read_at_4(count, numbers, wraps, last, stride, operand, other);
    case 8:
        return stride == 1 ? read_at_8(count, numbers, wraps, last, 1, operand, other)
                           : read_at_8(count, numbers, wraps, last, stride, operand, other);
    default: return read_at_16(count, numbers, wraps, last, stride, operand, other);
    }
}

#endif
