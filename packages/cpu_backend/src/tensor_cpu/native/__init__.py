"""Kernels in C, bound where they are faster than NumPy's; NumPy's remain behind every one of them."""
