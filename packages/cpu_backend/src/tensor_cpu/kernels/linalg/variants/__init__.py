"""Variants of kernels: other batches, which matrices they refuse, and results in the memory of operands given up."""
