/* The functions of the module, one table per topic; module.c puts them together. */
#ifndef TENSOR_CPU_TOPICS_H
#define TENSOR_CPU_TOPICS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern PyMethodDef blas_functions[];
extern PyMethodDef batched_simd_functions[];
extern PyMethodDef lapack_functions[];
extern PyMethodDef factorization_functions[];
extern PyMethodDef substitution_functions[];
extern PyMethodDef memory_functions[];
extern PyMethodDef tiny_functions[];
extern PyMethodDef view_functions[];
extern PyMethodDef tiny_product_functions[];
extern PyMethodDef semiring_functions[];
extern PyMethodDef permute_functions[];
extern PyMethodDef joined_functions[];
extern PyMethodDef padded_functions[];
extern PyMethodDef rolled_functions[];
extern PyMethodDef triangle_functions[];
extern PyMethodDef convert_functions[];
extern PyMethodDef gemm_functions[];
extern PyMethodDef stack_functions[];
extern PyMethodDef pair_functions[];
extern PyMethodDef turned_functions[];
extern PyMethodDef copied_functions[];
extern PyMethodDef scattered_functions[];
extern PyMethodDef products_functions[];
extern PyMethodDef elementwise_functions[];
extern PyMethodDef reduce_functions[];
extern PyMethodDef sequence_functions[];
extern PyMethodDef lines_functions[];
extern PyMethodDef loop_functions[];
extern PyMethodDef order_functions[];
extern PyMethodDef search_functions[];
extern PyMethodDef sorting_functions[];
extern PyMethodDef places_functions[];
extern PyMethodDef taking_functions[];
extern PyMethodDef spaced_functions[];
extern PyMethodDef random_functions[];
extern PyMethodDef normalization_functions[];

#endif
