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

#endif
