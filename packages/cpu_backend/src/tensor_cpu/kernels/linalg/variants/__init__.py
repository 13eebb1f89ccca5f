"""Variants of kernels: other batches and drivers, which matrices they refuse, and results in memory of operands."""
