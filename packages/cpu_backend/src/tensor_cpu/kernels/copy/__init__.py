"""Permuted and strided copies: a plan in Python over NumPy, and the native one.

May import ``storage`` and ``system``.
"""
