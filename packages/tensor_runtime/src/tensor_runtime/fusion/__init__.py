"""Fusing: a function is traced once for each combination of forms, and its steps become one kernel.

Imports ``dispatch``, ``tensors``, ``backends`` and what lies below; operations are found in what was traced.
"""
