"""Random numbers, from words of Philox4x64-10.

May import ``storage`` and ``system``.
"""
