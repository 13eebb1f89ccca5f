"""Values around and between elements.

May import ``storage`` and ``system``.
"""
