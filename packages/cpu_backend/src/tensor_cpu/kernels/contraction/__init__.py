"""Contractions of two operands, sums over one, and contractions in other algebras.

``contract`` chooses by estimated cost; may import ``kernels.copy``, ``storage`` and ``system``.
"""
