"""Arrays made from nothing.

May import ``kernels.copy``, ``storage`` and ``system``.
"""
