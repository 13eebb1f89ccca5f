"""Variants of kernels: which matrices they refuse, and results in the memory of operands that are given up."""
