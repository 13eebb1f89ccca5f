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
    "joining",
    "selection",
    "comparison",
    "contraction",
    "conversion",
    "convolution",
    "creation",
    "diagonals",
    "division",
    "exponential",
    "fusion",
    "gather_scatter",
    "logic",
    "pooling",
    "primitives",
    "products",
    "random",
    "reduction",
    "rounding",
    "scan",
    "slicing",
    "sort",
    "from_function",
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
