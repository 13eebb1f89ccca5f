"""Arrays made from nothing.

May import ``kernels.copy``, ``kernels.axes``, ``storage`` and ``system``.
"""
