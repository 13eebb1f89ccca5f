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

#if defined(__AVX512F__)
#define MASKED(f) _mm512_##f##_epi32
#define MASK __mmask16
#endif
#define T Four
#define NAME(f) f##_4
#include "contraction/simd/pack_body.h"
#undef T
#undef NAME
#undef MASKED
#undef MASK

#if defined(__AVX512F__)
#define GATHER /* offsets are as many as elements of a vector */
#define MASKED(f) _mm512_##f##_epi64
#define MASK __mmask8
#endif
#define T Eight
#define NAME(f) f##_8
#include "contraction/simd/pack_body.h"
#undef GATHER
#undef MASKED
#undef MASK
#undef T
#undef NAME

#define T Sixteen
#define NAME(f) f##_16
#include "contraction/simd/pack_body.h"
#undef T
#undef NAME

const PackKernels SIMD_NAME(pack_kernels) = {pack_1, pack_4, pack_8, pack_16};
