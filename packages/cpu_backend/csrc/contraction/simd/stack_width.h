/* The loop over rows for one length of vectors, and all types: W(f) is f with the length. */
#define PART float
#define PART_BYTES 4
#define MASK_PART int32_t
#define SUFFIX ps
#define CROSSED 0xB1
#define PARTS 1
#define NAME(f) W(f##_f32)
#include "contraction/simd/stack_vectors.h"
#include "contraction/simd/stack_rows.h"
#undef NAME
#undef PARTS

#define PARTS 2
#define NAME(f) W(f##_c32)
#include "contraction/simd/stack_vectors.h"
#include "contraction/simd/stack_rows.h"
#undef NAME
#undef PARTS
#undef PART
#undef PART_BYTES
#undef MASK_PART
#undef SUFFIX
#undef CROSSED

#define PART double
#define PART_BYTES 8
#define MASK_PART int64_t
#define SUFFIX pd
#define CROSSED ((1 << BYTES / 8) - 1) / 3
#define PARTS 1
#define NAME(f) W(f##_f64)
#include "contraction/simd/stack_vectors.h"
#include "contraction/simd/stack_rows.h"
#undef NAME
#undef PARTS

#define PARTS 2
#define NAME(f) W(f##_c64)
#include "contraction/simd/stack_vectors.h"
#include "contraction/simd/stack_rows.h"
#undef NAME
#undef PARTS
#undef PART
#undef PART_BYTES
#undef MASK_PART
#undef SUFFIX
#undef CROSSED
