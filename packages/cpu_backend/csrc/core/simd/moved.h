/* Types as which elements of 1, 4, 8 and 16 bytes are moved, whatever they are. */
#ifndef TENSOR_CPU_SIMD_MOVED_H
#define TENSOR_CPU_SIMD_MOVED_H

#include <stdint.h>

typedef uint8_t Byte __attribute__((may_alias));
typedef uint32_t Four __attribute__((may_alias));
typedef uint64_t Eight __attribute__((may_alias));
typedef struct __attribute__((may_alias)) {
    uint64_t low, high;
} Sixteen;

#endif
