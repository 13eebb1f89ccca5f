"""Contractions of two operands, sums over one, and contractions in other algebras.

``choice`` chooses by estimated cost; may import ``kernels.copy``, ``storage`` and ``system``.
"""
