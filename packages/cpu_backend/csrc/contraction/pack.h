/* Packing: a part of an operand, copied into the order in which the inner loop of a matrix product reads it.
 *
 * A panel holds, for every step k of the sum, `room` neighbours: panel[k * room + i] = source[across[i] + along[k]].
 * The offset tables `across` and `along` make any operand with any strides a matrix, so no operand is ever permuted
 * first: D. A. Matthews, "High-performance tensor contraction without transposition", SIAM J. Sci. Comput. 40 (2018);
 * panels are those of F. G. Van Zee and R. A. van de Geijn, "BLIS: A framework for rapidly instantiating BLAS
 * functionality", ACM Trans. Math. Softw. 41 (2015). Packing moves bytes, so it serves every element type of a size.
 */
#ifndef TENSOR_CPU_PACK_H
#define TENSOR_CPU_PACK_H

#include "core/common.h"
#include "core/cpu.h"

/* Fills a panel with `width` <= `room` neighbours of `depth` steps; the places of neighbours that do not exist become
 * zero. Offsets count elements. */
typedef void Pack(void *panel, const void *source, const Index *across, const Index *along, Index width, Index depth,
                  Index room);

typedef struct {
    Pack *bytes_1, *bytes_4, *bytes_8, *bytes_16; /* by the size of an element */
} PackKernels;

SIMD_TABLE(PackKernels, pack_kernels);

static inline Pack *pack_of(const PackKernels *kernels, int element_bytes) {
    return element_bytes == 1   ? kernels->bytes_1
           : element_bytes == 4 ? kernels->bytes_4
           : element_bytes == 8 ? kernels->bytes_8
                                : kernels->bytes_16;
}

/* Whether each offset is one more than the last. */
static inline bool offsets_are_consecutive(const Index *offsets, Index count) {
    for (Index i = 1; i < count; i++)
        if (offsets[i] != offsets[0] + i) return false;
    return true;
}

#endif
