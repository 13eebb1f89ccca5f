"""Means, variances and norms, by NumPy and by native loops.

May import ``kernels.reduction``, ``kernels.scan``, ``storage`` and ``system``.
"""
