"""Normalisation of activations over axes.

May import ``kernels.scan``, ``storage`` and ``system``.
"""
