/* Includes the file BODY once per element type.
 *
 * There, NAME(f) is f_f32, f_f64 and so on, PART is a real or imaginary part or else the element, PARTS their number,
 * and ALGEBRA one of those below. Signed integers are computed as unsigned ones, which wrap.
 */
#ifndef TENSOR_CPU_EVERY_TYPE_H
#define TENSOR_CPU_EVERY_TYPE_H
#define FLOATING 1
#define WRAPPING 2
#define LOGICAL 3
#endif

#define NAME(f) f##_f32
#define PART float
#define PARTS 1
#define PART_BYTES 4
#define ALGEBRA FLOATING
#include BODY
#include "core/simd/no_type.h"

#define NAME(f) f##_f64
#define PART double
#define PARTS 1
#define PART_BYTES 8
#define ALGEBRA FLOATING
#include BODY
#include "core/simd/no_type.h"

#define NAME(f) f##_c32
#define PART float
#define PARTS 2
#define PART_BYTES 4
#define ALGEBRA FLOATING
#include BODY
#include "core/simd/no_type.h"

#define NAME(f) f##_c64
#define PART double
#define PARTS 2
#define PART_BYTES 8
#define ALGEBRA FLOATING
#include BODY
#include "core/simd/no_type.h"

#define NAME(f) f##_i32
#define PART uint32_t
#define PARTS 1
#define PART_BYTES 4
#define ALGEBRA WRAPPING
#include BODY
#include "core/simd/no_type.h"

#define NAME(f) f##_i64
#define PART uint64_t
#define PARTS 1
#define PART_BYTES 8
#define ALGEBRA WRAPPING
#include BODY
#include "core/simd/no_type.h"

#define NAME(f) f##_bool
#define PART uint8_t
#define PARTS 1
#define PART_BYTES 1
#define ALGEBRA LOGICAL
#include BODY
#include "core/simd/no_type.h"
