"""Benchmarks: this library beside NumPy, PyTorch and opt_einsum, in one run.

``python -m benchmarks NAME`` runs one of ``overhead``, ``stages`` and ``networks``. Each prints Markdown and, with
``--json FILE``, keeps every number. Nothing here is a test: a slow machine makes no build fail.
"""
