"""Reading and writing elements at positions that other tensors hold.

May import ``storage`` and ``system``.
"""
