"""Running sums and products, and what else goes along the lines of an axis.

May import ``storage`` and ``system``.
"""
