"""Elementwise kernels: NumPy's functions, native loops, tiny operands, and fused chains of them.

May import ``storage`` and ``system``.
"""
