"""Decompositions and solvers: NumPy's loops, LAPACK called directly, and batches of small matrices in vector lanes.

May import ``storage`` and ``system``.
"""
