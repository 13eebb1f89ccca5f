/* The four folds of elements of one type; S and SUFFIX name it, A is the type of sums and products of it, WIDE the
 * type in which those are computed, which wraps, LANES a vector of it if that is S. LARGER and SMALLER choose between
 * x and y. VALUE(x) is what an element counts for, where that is not x. LETTERS end the names of instructions on floats
 * (reduce_extremes.h). */
#ifndef VALUE
#define VALUE(x) (x)
#endif
#define NAME(f) SIMD_JOIN(f, SIMD_JOIN(FOLD, SUFFIX))
#define WRAPPING WIDE
#define FOLD sum
#define JOIN x + y
#include "reduction/simd/reduce_body.h"

#define FOLD product
#define JOIN x *y
#include "reduction/simd/reduce_body.h"
#undef A
#undef WRAPPING
#undef LANES

#define A S
#define WRAPPING S
#define FOLD largest
#define JOIN LARGER
#define EXTREME max
#include "reduction/simd/reduce_body.h"

#define FOLD least
#define JOIN SMALLER
#define EXTREME min
#include "reduction/simd/reduce_body.h"
#undef A
#undef WRAPPING
#undef S
#undef SUFFIX
#undef WIDE
#undef LARGER
#undef SMALLER
#undef VALUE
#undef LETTERS
#undef NAME
