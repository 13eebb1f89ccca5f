"""What other packages bring: kernels for a backend, rules for an operation, whole families; found by entry points.

Imports ``discovery`` and ``error_translation`` beside it, and what ``backends`` may import; loads nothing by itself.
"""
