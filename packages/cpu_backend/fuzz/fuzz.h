/* Fuzz drivers of the parts of ../csrc that know no Python. A driver draws one example from a seeded generator, computes
 * it by a kernel and by a naive loop, and calls FAIL where the two differ; main.c repeats the drivers for every version
 * of the kernels, and prints the seed of a failure, or of a crash that a sanitizer reports.
 *
 * Arrays are blocks of their own that end where the last element that may be read ends, so that the address sanitizer
 * sees a kernel read or write too much. Numbers are small and whole where sums must be exact in every element type.
 */
#ifndef TENSOR_CPU_FUZZ_H
#define TENSOR_CPU_FUZZ_H

#include "core/common.h"

#include <stdlib.h>
#include <string.h>

void fuzz_copies(void);
void fuzz_blocks(void);
void fuzz_elementwise(void);
void fuzz_reductions(void);
void fuzz_products(void);
void fuzz_pairs(void);
void fuzz_semirings(void);
void fuzz_batches(void);
void fuzz_factorizations(void);
void fuzz_lines(void);

/* From low to high, both included. */
Index draw(Index low, Index high);
static inline bool one_in(Index count) { return draw(1, count) == 1; }
ElementType draw_type(void);

_Noreturn void fail(const char *file, int line, const char *what);
#define CHECK(condition)                                                                                               \
    do                                                                                                                 \
        if (!(condition)) fail(__FILE__, __LINE__, #condition);                                                        \
    while (0)

/* Memory of exactly so many bytes; it is freed when the example ends. */
void *room_for(Index bytes);
/* The same with any contents. */
void *bytes_drawn(Index bytes);
/* The same, aligned to 64 bytes and up to 63 bytes longer, which the address sanitizer does not let anybody read. */
void *aligned_room(Index bytes);

/* A whole number, or a complex one of whole parts. Integers wrap, and logical ones are 0 and 1. */
typedef struct {
    int64_t re, im;
} Number;

Number number_drawn(ElementType type);
Number unit_drawn(ElementType type); /* whose products are exact: 1, -1, and of complex types i and -i */
Number number_read(ElementType type, const void *element);
void number_write(ElementType type, void *element, Number value);
Number number_plus(ElementType type, Number x, Number y);
Number number_times(ElementType type, Number x, Number y);
static inline bool number_equal(Number x, Number y) { return x.re == y.re && x.im == y.im; }

/* So many elements of the type, of numbers drawn; any byte but 0 is true. */
void *numbers_drawn(ElementType type, Index count);

/* How an array lies in a block of memory: strides and the place of its first logical element count elements. */
typedef struct {
    Index strides[MAX_RANK], first, span;
} Layout;

/* Axes in any order, in any direction, with gaps between; with `repeats`, some axes have stride 0. */
Layout layout_drawn(int rank, const Index *extents, bool repeats);

/* Offsets, in a block of `span` elements, of as many neighbours along one axis of a matrix as `counts` says; those of
 * both axes are added. No two elements share a place. */
typedef struct {
    Index *rows, *columns, span;
} Tables;
Tables tables_drawn(Index rows, Index columns);

/* The next index in row-major order; false after the last one. */
bool next_index(int rank, const Index *extents, Index *index);
Index place_of(int rank, const Index *strides, const Index *index);

#endif
