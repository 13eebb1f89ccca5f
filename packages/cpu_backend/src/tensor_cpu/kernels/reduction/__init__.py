"""Folds over axes, by NumPy and by native loops.

May import ``storage`` and ``system``.
"""
