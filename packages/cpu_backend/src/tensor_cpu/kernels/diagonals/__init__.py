"""Elements put on diagonals, and triangles that are kept.

May import ``storage`` and ``system``.
"""
