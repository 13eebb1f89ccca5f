"""Reading and writing elements at positions that other tensors hold.

May import ``kernels.scan``, ``storage`` and ``system``.
"""
