"""Elementwise kernels: a module for each family, ``numpy`` for plain rows, and the native loops.

May import ``storage`` and ``system``; ``fused`` binds whatever the kernel table has.
"""
