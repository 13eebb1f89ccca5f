"""What several contracts say: operands, results and parameters.

Matrix axes come first, batch axes last: [M, N, B...]; K is the smaller of M and N. What the results guarantee stands
with the public function of the same name. A kernel names the batch index of the matrix in every error that it raises.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from tensor_runtime.contracts.contract import Contract


class CheckParams(NamedTuple):
    """What is looked for before anything is computed."""

    check: bool
    """Whether elements that are not finite are refused with ``NonFiniteError``."""


class SVDParams(NamedTuple):
    """By which method, after which check."""

    check: bool
    """Whether elements that are not finite are refused with ``NonFiniteError``."""
    driver: str
    """"auto", "gesdd", "gesvd" or "jacobi"; a backend that has no such method refuses."""


class EighParams(NamedTuple):
    """By which method, after which check."""

    check: bool
    """Whether elements that are not finite are refused with ``NonFiniteError``."""
    driver: str
    """"auto", "evd", "ev", "evr" or "jacobi"; a backend that has no such method refuses."""


class EighRangeParams(NamedTuple):
    """Which eigenvalues, counted from 0 in ascending order, after which check."""

    first: int
    """The first of them."""
    last: int
    """The last of them, not before the first."""
    check: bool
    """Whether elements that are not finite are refused with ``NonFiniteError``."""


MATRICES: Final = {"a": "[M, N, B...], F32, F64, C32 or C64, any layout"}
SQUARE: Final = {"a": "[N, N, B...], F32, F64, C32 or C64, any layout"}
STATUS: Final = "I32 [B...]: 0 where the matrix has a result, 1 where an element is not finite, 2 where it is refused"
OWNED: Final = "owned, compact, of the operand's dtype"


def overwriting(contracts: Iterable[Contract], /, *names: str) -> Iterator[Contract]:
    """The contracts of kernels ``NAME_overwriting``, from those of the kernels whose operands are kept.

    >>> [one.kernel for one in overwriting([Contract("inv", "Inverses.", SQUARE, OWNED, CheckParams)], "inv")]
    ['inv_overwriting']
    """
    for one in contracts:
        if one.kernel in names:
            yield one._replace(
                kernel=f"{one.kernel}_overwriting",
                computes=f"As {one.kernel}; operands may be changed, and the last one may be the memory of a result.",
                params=CheckParams,
            )
