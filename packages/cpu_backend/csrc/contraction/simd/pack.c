/* The loops of packing (pack.h), one per size of an element. */
#include "contraction/pack.h"
#include "core/simd/moved.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

/* The only type of one byte is Bool: true is whatever is not 0, and 1 in a panel. */
#define T Byte
#define NAME(f) f##_1
#define VALUE(x) ((x) != 0)
#include "contraction/simd/pack_body.h"
#undef T
#undef NAME
#undef VALUE

#define VALUE(x) (x)

#define T Four
#define NAME(f) f##_4
#include "contraction/simd/pack_body.h"
#undef T
#undef NAME

#if defined(__AVX512F__)
#define GATHER 8 /* offsets in a vector */
#endif
#define T Eight
#define NAME(f) f##_8
#include "contraction/simd/pack_body.h"
#undef GATHER
#undef T
#undef NAME

#define T Sixteen
#define NAME(f) f##_16
#include "contraction/simd/pack_body.h"
#undef T
#undef NAME

const PackKernels SIMD_NAME(pack_kernels) = {pack_1, pack_4, pack_8, pack_16};
