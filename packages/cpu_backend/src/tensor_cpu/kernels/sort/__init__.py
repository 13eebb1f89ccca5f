"""Order: sorting, places in sorted lines, distinct elements.

May import ``kernels.scan``, ``storage`` and ``system``.
"""
