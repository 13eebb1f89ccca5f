"""Normalisation of activations over axes.

May import ``scan``, ``storage`` and ``system``.
"""
