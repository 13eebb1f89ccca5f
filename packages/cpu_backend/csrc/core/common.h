/* What every file of the extension uses: the index type and its arithmetic, the element types, the most axes.
 *
 * Lengths and strides count elements unless a name ends in _bytes. Axes are in transposed array order, outermost first:
 * the reverse of the tensor's, so that the last axis of a compact array has stride 1.
 */
#ifndef TENSOR_CPU_COMMON_H
#define TENSOR_CPU_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* On functions that run in every small call: the linker puts them side by side, wherever else it puts the others. Spread
 * over megabytes, calls of 170 nanoseconds took ten to thirty more or less with each file that was added anywhere. */
#define HOT __attribute__((hot))

typedef int64_t Index;
_Static_assert(sizeof(void *) == 8, "lengths and offsets of 64 bits are used as sizes and addresses");

enum { CACHE_LINE = 64, CACHED_BYTES = 1 << 20 }; /* what stays in the second-level cache beside other arrays */
enum { MAX_RANK = 64 };                           /* of a NumPy array, and so of a transposed array */

typedef enum { F32, F64, C32, C64, I32, I64, BOOL, ELEMENT_TYPES } ElementType;

static inline Index smaller(Index a, Index b) { return a < b ? a : b; }
/* Of the least number, which has none, the greatest one. */
static inline Index magnitude(Index a) { return a < 0 ? -(a + (a == INT64_MIN)) : a; }

/* How many pieces of a size cover so many elements. */
static inline Index pieces(Index elements, Index size) { return (elements + size - 1) / size; }
static inline Index rounded_up(Index count, Index multiple) { return pieces(count, multiple) * multiple; }

/* Before a loop of which no step reads what another one writes. Clang finds that out as it runs. */
#if defined(__clang__)
#define INDEPENDENT
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

/* A function that becomes part of each one that calls it. Where nothing is optimised, or sanitizers watch, it is called:
 * nobody waits for such kernels, but for their compiler, which would take ten times as long. */
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

static const int ELEMENT_BYTES[ELEMENT_TYPES] = {4, 8, 8, 16, 4, 8, 1};

#endif
