"""Kernels, one folder or module for each family of ``tensor_runtime.ops``; ``kernel_table`` says which binds what.

The elementwise families share ``elementwise/``. A folder holds ``numpy``, the binders of NumPy's kernels, beside
``native``, those of the extension; all may import ``kernel_table``, ``kernels.params``, ``storage`` and ``system``.
"""
