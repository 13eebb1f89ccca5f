"""Changing the dtype.

May import ``kernels.views``, ``kernels.copy``, ``storage`` and ``system``.
"""
