"""Slices: a contraction as a sum, or a mosaic, of smaller ones that take less memory.

A label is cut into parts, operands are read part by part, and every slice is contracted by the same steps. Modules,
from the bottom: ``cutting`` (what a slice is), ``finder`` (which labels are cut), ``executable`` and ``gathering``
(kernels and results), ``checkpoint`` and ``mapping`` (runs that survive a kill, and runs elsewhere). Nothing here
imports plans.
"""
