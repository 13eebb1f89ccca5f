"""What a user writes: labels and their names, read from text or lists, and resolved against shapes.

Imports nothing of the package but its errors and what stands beside it.
"""
