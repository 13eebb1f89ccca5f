"""Views of transposed arrays, and copies.

May import ``kernels.copy``, ``storage`` and ``system``.
"""
