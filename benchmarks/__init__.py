"""Benchmarks: this library beside NumPy, SciPy, PyTorch, JAX, numexpr, opt_einsum and cotengra, in one run.

``python -m benchmarks NAME`` runs one of them, and without a name all. Each prints Markdown and, with ``--json FILE``,
keeps every number. Nothing here is a test: a slow machine makes no build fail.

A benchmark of whole operations is a table of rows (``rows``), measured in one process per contender (``measuring``,
``worker``) by adapters that know each library (``contenders``), and reported by ``report`` and ``picture``.
"""
