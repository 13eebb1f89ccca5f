"""Activations of neural networks, by NumPy and by native loops.

May import ``kernels.elementwise``, ``kernels.scan``, ``storage`` and ``system``.
"""
