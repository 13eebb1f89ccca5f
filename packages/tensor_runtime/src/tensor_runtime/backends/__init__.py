"""Backends: the registry that finds them, what it knows of each, the kernels that others add, and what is bound.

Imports the vocabulary of the package's top (``form``, ``placement``, ``protocols``, ``errors``) and nothing else of it.
"""
