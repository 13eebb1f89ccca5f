"""Steps: what is executed, in which order, and in which arithmetic, as data; and how steps are shown.

Imports ``notation`` and ``search``; no kernel.
"""
