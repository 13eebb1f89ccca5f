"""Changing the dtype.

May import ``kernels.views``, ``kernels.copy``, ``kernels.axes``, ``storage`` and ``system``.
"""
