"""Conformance cases of the family, by the rooms of its functions."""

from __future__ import annotations

from collections.abc import Iterator

from tensor_linalg.testing.cases import decompositions, factors, functions, products, solving
from tensor_runtime.testing.case import Case


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for room in (decompositions, factors, solving, functions, products):
        yield from room.cases()
