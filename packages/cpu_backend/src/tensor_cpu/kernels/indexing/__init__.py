"""Slices, views to be written, and writing them.

May import ``kernels.copy``, ``kernels.axes``, ``storage`` and ``system``.
"""
