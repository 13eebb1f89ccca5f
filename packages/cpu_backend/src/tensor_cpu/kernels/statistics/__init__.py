"""Means, variances and norms, by NumPy and by native loops.

May import ``kernels.reduction``, ``storage`` and ``system``.
"""
