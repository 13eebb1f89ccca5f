"""Slices, views to be written, and writing them.

May import ``kernels.copy``, ``storage`` and ``system``.
"""
