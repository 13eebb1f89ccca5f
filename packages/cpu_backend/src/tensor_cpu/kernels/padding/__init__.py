"""Values put around and between elements.

May import ``storage`` and ``system``.
"""
