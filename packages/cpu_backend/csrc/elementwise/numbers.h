/* Python numbers as operands of elementwise kernels. */
#ifndef TENSOR_CPU_NUMBERS_H
#define TENSOR_CPU_NUMBERS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "core/common.h"

#include <complex.h>

typedef union { /* one element of any type */
    float f32;
    double f64;
    float _Complex c32;
    double _Complex c64;
    int32_t i32;
    int64_t i64;
} Element;

/* Whether the number became an element of the type; false, without an exception, when NumPy has to judge it. */
bool element_from_number(PyObject *number, ElementType type, Element *element);

#endif
