/* Slices read from, written to or added to places of a tensor; read by places.c. */
#ifndef TENSOR_CPU_MOVES_H
#define TENSOR_CPU_MOVES_H

#include "core/moved_bytes.h"
#include "core/topics.h"
#include "lines/read_at.h"

typedef struct {
    Index extent, stride, other; /* in the operand; in the result of a reading, or in what is written */
} SliceAxis;

/* Moves so many slices of one run each, whose places in the operand a table tells. */
typedef void (*Move)(Index count, const Index *places, const SliceAxis *run, char *operand, char *other, Index step);

#define MOVES(suffix, T)                                                                                               \
    static void read_##suffix(Index count, const Index *places, const SliceAxis *run, char *operand, char *other,      \
                              Index step) {                                                                            \
        const T *x = (const T *)(const void *)operand;                                                                 \
        T *y = (T *)(void *)other;                                                                                     \
        if (run->extent == 1 && step == 1) {                                                                           \
            for (Index i = 0; i < count; i++) y[i] = x[places[i]];                                                     \
        } else if (run->extent == 1) {                                                                                 \
            for (Index i = 0; i < count; i++) y[i * step] = x[places[i]];                                              \
        } else if (run->stride == 1 && run->other == 1) {                                                              \
            for (Index i = 0; i < count; i++)                                                                          \
                move_bytes(y + i * step, x + places[i], (size_t)run->extent * sizeof(T));                              \
        } else {                                                                                                       \
            for (Index i = 0; i < count; i++)                                                                          \
                for (Index k = 0; k < run->extent; k++) y[i * step + k * run->other] = x[places[i] + k * run->stride]; \
        }                                                                                                              \
    }                                                                                                                  \
    static void write_##suffix(Index count, const Index *places, const SliceAxis *run, char *operand, char *other,     \
                               Index step) {                                                                           \
        T *x = (T *)(void *)operand;                                                                                   \
        const T *y = (const T *)(const void *)other;                                                                   \
        if (run->extent == 1) {                                                                                        \
            for (Index i = 0; i < count; i++) x[places[i]] = y[i * step];                                              \
        } else if (run->stride == 1 && run->other == 1) {                                                              \
            for (Index i = 0; i < count; i++)                                                                          \
                move_bytes(x + places[i], y + i * step, (size_t)run->extent * sizeof(T));                              \
        } else if (run->stride == 1 && run->other == 0) {                                                              \
            const Index extent = run->extent;                                                                          \
            for (Index i = 0; i < count; i++) {                                                                        \
                const T value = y[i * step];                                                                           \
                T *to = x + places[i];                                                                                 \
                for (Index k = 0; k < extent; k++) to[k] = value;                                                      \
            }                                                                                                          \
        } else {                                                                                                       \
            for (Index i = 0; i < count; i++)                                                                          \
                for (Index k = 0; k < run->extent; k++) x[places[i] + k * run->stride] = y[i * step + k * run->other]; \
        }                                                                                                              \
    }

MOVES(1, uint8_t)
MOVES(4, uint32_t)
MOVES(8, uint64_t)
MOVES(16, Pair)

/* Integers are added unsigned: they wrap. Complex numbers are two real ones. */
#define ADDS(suffix, T, parts)                                                                                         \
    static void add_##suffix(Index count, const Index *places, const SliceAxis *run, char *operand, char *other,       \
                             Index step) {                                                                             \
        T *x = (T *)(void *)operand;                                                                                   \
        const T *y = (const T *)(const void *)other;                                                                   \
        if ((parts) == 1 && run->extent == 1) {                                                                        \
            for (Index i = 0; i < count; i++) x[places[i]] += y[i * step];                                             \
            return;                                                                                                    \
        }                                                                                                              \
        for (Index i = 0; i < count; i++) {                                                                            \
            T *to = x + places[i] * (parts);                                                                           \
            const T *from = y + i * step * (parts);                                                                    \
            if (run->stride == 1 && run->other == 1) {                                                                 \
                INDEPENDENT                                                                                            \
                for (Index k = 0; k < run->extent * (parts); k++) to[k] += from[k];                                    \
                continue;                                                                                              \
            }                                                                                                          \
            for (Index k = 0; k < run->extent; k++)                                                                    \
                for (Index part = 0; part < (parts); part++)                                                           \
                    to[k * run->stride * (parts) + part] += from[k * run->other * (parts) + part];                     \
        }                                                                                                              \
    }

ADDS(F32, float, 1)
ADDS(F64, double, 1)
ADDS(C32, float, 2)
ADDS(C64, double, 2)
ADDS(I32, uint32_t, 1)
ADDS(I64, uint64_t, 1)

static const Move ADDING[ELEMENT_TYPES] = {[F32] = add_F32, [F64] = add_F64, [C32] = add_C32,
                                           [C64] = add_C64, [I32] = add_I32, [I64] = add_I64};

#endif
