"""Kernels, one folder or module for each family of ``tensor_runtime.ops``; ``kernel_table`` says which binds what.

Each folder holds the binders of NumPy's kernels and of the native ones; all may import ``storage`` and ``system``.
"""
