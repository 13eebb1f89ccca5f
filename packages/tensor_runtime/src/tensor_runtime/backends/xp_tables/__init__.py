"""Kernel tables that several backends share: a library for backends, imported by them alone.

Each function takes an array namespace (NumPy, CuPy) and returns rows, from the name of an operation to the function of
that namespace which computes it.
"""
