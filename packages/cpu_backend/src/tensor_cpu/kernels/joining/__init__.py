"""Arrays put together, repeated and rolled.

May import ``kernels.copy``, ``kernels.axes``, ``storage`` and ``system``.
"""
