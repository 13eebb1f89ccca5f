/* What the pair kernel (pair.c) and its loops (simd/pair.c) share: a rectangle of the result, each element of which is
 * a sum of products of one element of either operand, and the loops that compute one, by how its lanes lie in the
 * operands.
 */
#ifndef TENSOR_CPU_PAIR_H
#define TENSOR_CPU_PAIR_H

#include "core/common.h"
#include "core/cpu.h"

/* A rectangle of the result, `rows` of `lanes` neighbours each, and where its factors lie. */
typedef struct {
    Index lanes, rows, depth;                  /* extents; depth is the number of products in a sum */
    Index row_first, row_second, row_result;   /* strides */
    const Index *along_first, *along_second;   /* offsets of each product's factors */
    const Index *across_first, *across_second; /* offsets of each lane's factors, for the loop over tables */
    bool first_is_table, second_is_table;      /* gather lanes through the tables: they are no neighbours */
    bool second_is_constant;                   /* all lanes have the same element of the second operand */
    Index ahead[2]; /* from here to the operands' factors that come next from memory, which are asked for; 0 for none */
    bool streams;   /* the result is written past the cache */
    bool folds;     /* few products at a time are added to what the result has, where lanes are neighbours in both */
    bool adds;      /* to what the result has: within a tile that folds */
    bool conjugates[2]; /* of the first operand are multiplied, or of the second */
    Index run;          /* neighbouring products, of which a sum has some such runs */
    bool second_is_run; /* in the second operand all factors of a sum follow one another, the same ones for each lane */
} PairTile;

typedef void PairLoop(const PairTile *tile, const char *first, const char *second, char *result);

typedef struct {
    PairLoop *scaled; /* lanes are neighbours in the first operand, and the same element of the second */
    PairLoop *shared; /* the same, where rows are all the same in the first operand */
    PairLoop *both;   /* lanes are neighbours in both */
    PairLoop *tables; /* anything; at most PAIR_TABLE lanes, and PAIR_TABLE_BYTES of them */
    PairLoop *runs;   /* the same, where the factors of each sum are neighbours in both operands */
    PairLoop *pieces; /* the same, where they are in several runs of neighbours */
} PairLoops;

enum { PAIR_TABLE = 512, PAIR_TABLE_BYTES = 1 << 12 }; /* the bytes are those of the lanes' elements of one operand */
enum { SHORTEST_RUN = 5 };                             /* of products in a sum, whose vectors are added up in the end */
enum { FEWEST_PACKED = 8, PACKED_BYTES = 1 << 16 };    /* sums whose factors are packed, and bytes of these at most */
enum { FOLDED_DEPTH = 8, LEAST_FOLDED_BYTES = 512 };   /* of products at a time where a tile folds; of a row */
enum { FEWEST_LANES = 3 };                             /* that are loaded as vectors rather than gathered */
/* Elements: of a row within which turned.c repeats an operand along axes that it lacks, but for an innermost axis as long
 * as the second. */
enum { REPEATING_ROW = 64, LONG_LANES = 16 };

typedef struct {
    PairLoops of_type[ELEMENT_TYPES];
} PairKernels;

SIMD_TABLE(PairKernels, pair_kernels);

/* Asks for the lines in part at the ends of rows, which are read before they are written; the others are not. */
static inline void ask_for_ends(const char *result, Index step, Index rows, Index bytes) {
    for (Index row = 0; row < rows; row++, result += step) {
        __builtin_prefetch(result, 1);
        __builtin_prefetch(result + bytes - 1, 1);
    }
}

#endif
