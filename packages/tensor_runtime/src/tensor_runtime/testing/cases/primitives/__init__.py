"""Cases of ``tensor_runtime.primitives``, one module per family; each has a function ``cases``.

A primitive that gives what a public function gives is asked for strictness, and for one result in every dtype; the
public function's cases ask for the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Final

from tensor_runtime.testing.case import Case

MODULES: Final = (
    "arithmetic",
    "comparison",
    "complex_parts",
    "contraction",
    "conversion",
    "creation",
    "division",
    "exponential",
    "gather_scatter",
    "joining",
    "linalg",
    "logic",
    "padding",
    "reduction",
    "rounding",
    "selection",
    "slicing",
    "sort",
    "trigonometry",
    "views",
)
"""Modules of this package, in the order in which their cases run."""


def cases() -> Iterator[Case]:
    """Every case of every module."""
    for name in MODULES:
        yield from import_module(f"{__name__}.{name}").cases()
