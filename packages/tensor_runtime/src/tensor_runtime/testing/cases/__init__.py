"""Cases of the conformance suite, one module per family of operations; each has a function ``cases``.

A new family adds its module to ``MODULES``, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Final

from tensor_runtime.testing.case import Case

MODULES: Final = (
    "activations",
    "arithmetic",
    "comparison",
    "complex_parts",
    "contraction",
    "conversion",
    "convolution",
    "creation",
    "diagonals",
    "division",
    "exponential",
    "from_function",
    "fusion",
    "gather_scatter",
    "indexing",
    "joining",
    "logic",
    "padding",
    "pooling",
    "primitives",
    "products",
    "random",
    "reduction",
    "rounding",
    "scan",
    "selection",
    "slicing",
    "sort",
    "statistics",
    "trigonometry",
    "views",
)
"""Modules of this package, in the order in which their cases run."""


def all_cases() -> Iterator[Case]:
    """Every case of every module.

    >>> "add" in {case.operation for case in all_cases()}
    True
    """
    for name in MODULES:
        yield from import_module(f"{__name__}.{name}").cases()
