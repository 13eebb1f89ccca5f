"""Views of transposed arrays, and copies.

May import ``kernels.copy``, ``kernels.axes``, ``storage`` and ``system``.
"""
