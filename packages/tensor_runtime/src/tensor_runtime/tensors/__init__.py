"""The tensor object: the class, its buffer, its text, its pickle, and its way from one placement to another.

Imports ``backends`` and the vocabulary of the package's top. Methods that compute are attached by ``ops``.
"""
