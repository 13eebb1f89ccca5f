/* One element of any type. */
#ifndef TENSOR_CPU_ELEMENT_H
#define TENSOR_CPU_ELEMENT_H

#include "core/common.h"

typedef union {
    float f32;
    double f64;
    float c32[2];
    double c64[2];
    int32_t i32;
    int64_t i64;
    bool truth;
} Element;

/* A line of code for each number of bytes that an element may have: constants, which make moves of registers of memcpy(). */
#define OF_ELEMENT_BYTES(LINE)                                                                                         \
    switch (bytes) {                                                                                                   \
    case 1: LINE(1) break;                                                                                             \
    case 4: LINE(4) break;                                                                                             \
    case 8: LINE(8) break;                                                                                             \
    default: LINE(16)                                                                                                  \
    }

#endif
