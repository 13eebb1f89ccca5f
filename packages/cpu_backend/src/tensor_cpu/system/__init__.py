"""What kernels stand on: the extension module, BLAS, threads, memory, and NumPy's error state.

Imports nothing of this package.
"""
