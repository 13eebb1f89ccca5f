"""Arrays put together, repeated and rolled.

May import ``kernels.copy``, ``storage`` and ``system``.
"""
