/* One stack of matrix products as BLAS wants it, and its parts (products.c, products_run.c). */
#ifndef TENSOR_CPU_PRODUCTS_H
#define TENSOR_CPU_PRODUCTS_H

#include "core/arrays.h"
#include "core/blas.h"
#include "contraction/groups.h"

/* Distances in elements from one row, and from one column, of a matrix to the next. */
typedef struct {
    Index row, column;
} MatrixSteps;

/* C[m, n] = A[m, k] B[k, n] for every index of the stack. Of C's steps the one along its rows is 1, unless C is a
 * vector; of those of A and B one is 1 and the other spans at least the extent of the first, likewise. */
typedef struct {
    ElementType type;                /* F32 to C64 */
    Role left;                       /* which operand A is */
    bool conjugates_a, conjugates_b; /* at most one of them: its elements are read conjugated */
    BlasInt m, n, k;
    MatrixSteps a, b, c;
    bool is_square; /* B is Aᵀ, should both be one array, and neither is conjugated */
    Group stack;
} Products;

/* A call, cut into tiles of equal size; each part is one tile of one product. */
typedef struct {
    const Products *products;
    const char *a, *b;
    char *c;
    bool symmetric; /* B is Aᵀ: only tiles that reach below the diagonal are computed */
    BlasInt tile_rows, tile_columns;
    Index row_tiles, column_tiles;
} ProductsCall;

/* Lets the elements of an operand be read conjugated, and says whether that is possible: not of real numbers, nor of a
 * vector beside a matrix, nor, unless the library has it, of a matrix that is not transposed. */
bool products_conjugate(Products *products, Role role, bool without_transpose);

/* Floating-point operations of all the products, roughly. */
double products_work(const Products *products);

/* Computes everything, shared among the threads where that pays. */
void products_run(const Products *products, const char *a, const char *b, char *c);

#endif
