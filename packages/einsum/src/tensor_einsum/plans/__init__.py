"""Plans: what shapes decide about a contraction, as data that can be called; and how plans are stored and made again.

Imports everything else of the package but ``api``.
"""
