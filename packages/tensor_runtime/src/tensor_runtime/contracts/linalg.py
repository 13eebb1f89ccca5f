"""Contract of substitution, the one kernel of linear algebra that the primitives end in."""

from __future__ import annotations

from typing import Final, NamedTuple

from tensor_runtime.contracts.contract import Contract, declare


class TriangularSolveParams(NamedTuple):
    """Which triangle of A is read, and what op(A) is."""

    lower: bool
    """Whether A is lower triangular; the other triangle may hold anything."""
    transpose: bool
    """Whether op transposes A, which ``lower`` describes before."""
    conjugate: bool
    """Whether op conjugates A."""
    unit_diagonal: bool
    """Whether the diagonal is not read, and taken to be ones."""


KERNELS: Final = declare(
    [
        Contract(
            "triangular_solve",
            "X in op(A) X = B by substitution; a zero on the diagonal gives infinities or NaN.",
            {"a": "[M, M, B...], floating, any layout", "b": "[M, K, B...], the dtype of a, any layout"},
            "[M, K, B...], owned, compact, of the dtype of b",
            TriangularSolveParams,
        ),
    ]
)
