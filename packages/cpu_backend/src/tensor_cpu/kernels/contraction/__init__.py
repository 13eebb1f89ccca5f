"""Contractions of two operands, sums over one, and contractions in other algebras.

``choice`` chooses by estimated cost; may import ``kernels.copy``, ``kernels.reduction``, the modules of costs and rates
beside this folder, ``storage`` and ``system``.
"""
