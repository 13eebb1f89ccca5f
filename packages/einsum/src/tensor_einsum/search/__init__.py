"""The order of a contraction: a search of our own (``engine``), paths and optimizers of others, and what is minimised.

Imports ``notation``; no plan and no tensor.
"""
