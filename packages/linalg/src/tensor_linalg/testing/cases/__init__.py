"""Conformance cases of the family, by the rooms of its functions."""

from __future__ import annotations

from collections.abc import Iterator

from tensor_linalg.testing.cases import decompositions, factors, functions, iterative, networks, products, solving
from tensor_runtime.testing.case import Case


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for room in (decompositions, factors, solving, functions, products, networks, iterative):
        yield from room.cases()
