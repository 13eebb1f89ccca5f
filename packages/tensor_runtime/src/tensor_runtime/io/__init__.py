"""Files: NumPy's ``.npy`` and ``.npz``, written whole or not at all.

Imports ``ops`` and what lies below.
"""
