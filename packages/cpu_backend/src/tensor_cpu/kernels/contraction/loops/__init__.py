"""Loops in C for products that neither BLAS nor the loop for every pair of operands does well."""
