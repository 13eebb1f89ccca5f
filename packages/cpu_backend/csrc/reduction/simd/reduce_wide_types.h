/* The sums of elements of one type: S with the suffix SUFFIX, of which LANES is a vector and WIDENED(v) one of
 * double. */
#define NAME(f) SIMD_JOIN(f, SIMD_JOIN(FOLD, SUFFIX))

#define PLUS sum_of
#define JOINED sums_of
#define FOLD total
#define VALUE total_of
#define VALUES totals_of
#include "reduction/simd/reduce_wide_body.h"

#define FOLD square
#define VALUE square_of
#define VALUES squares_of
#include "reduction/simd/reduce_wide_body.h"

#define FOLD deviation
#define VALUE deviation_of
#define VALUES deviations_of
#define CENTRED
#include "reduction/simd/reduce_wide_body.h"
#undef CENTRED

#define FOLD size
#define VALUE size_of
#define VALUES sizes_of
#include "reduction/simd/reduce_wide_body.h"

#undef PLUS
#undef JOINED

#define PLUS larger_one
#define JOINED larger_ones
#define FOLD largest
#define VALUE size_of
#define VALUES sizes_of
#include "reduction/simd/reduce_wide_body.h"
#undef PLUS
#undef JOINED

#undef NAME
#undef S
#undef LANES
#undef SUFFIX
