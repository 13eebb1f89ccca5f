"""The way of a call: specs and their rules, arguments, binding and calling kernels, ``out=``, inference.

Imports ``tensors``, ``backends`` and the vocabulary of the package's top; knows no single operation but ``convert``.
"""
