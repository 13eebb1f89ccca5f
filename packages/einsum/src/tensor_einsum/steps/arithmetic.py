"""What a contraction multiplies and adds with: an algebra, and which operands are taken conjugated.

Both decide the result, so they are part of a plan, and of the keys under which plans are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from tensor_core.dtypes import DType
from tensor_core.errors import ArgumentError, shortened
from tensor_core.promotion import promote
from tensor_runtime.algebras import PLUS_TIMES, Semiring, check_algebra, undefined_for
from tensor_runtime.dispatch.arguments import wholes


class Arithmetic(NamedTuple):
    """The algebra, and the positions of complex operands that are taken conjugated, in order."""

    algebra: Semiring = PLUS_TIMES
    conj: tuple[int, ...] = ()


SUMS_OF_PRODUCTS: Final = Arithmetic()
"""What einsum computes unless it is told otherwise."""


def arithmetic_of(operation: str, algebra: Any, conj: Any, dtypes: Sequence[DType]) -> Arithmetic:
    """What a user asks for, checked.

    Args:
        operation: the name for messages.
        algebra: one of ``tensor_runtime.algebras``.
        conj: a position of an operand, or several; negative ones count from the end. Those of real operands are left
            out, as conjugation changes nothing there.
        dtypes: of the operands.

    Raises:
        ArgumentError: no algebra; no positions, or one that is out of range.
        DTypeError: the algebra is not defined for what the dtypes promote to.

    >>> from tensor_core import C64, F64
    >>> arithmetic_of("einsum", PLUS_TIMES, (-1, 0), [C64, F64, C64])
    Arithmetic(algebra=Semiring('plus_times'), conj=(0, 2))
    """
    if algebra is PLUS_TIMES and type(conj) is tuple and not conj:  # which every dtype has
        return SUMS_OF_PRODUCTS
    check_algebra(operation, algebra)
    found = promote(*dtypes)
    if found not in algebra.accepts:
        raise undefined_for(operation, algebra, dtypes)
    positions = set()
    for position in wholes(operation, "conj", conj):
        if not -len(dtypes) <= position < len(dtypes):
            raise ArgumentError(
                f"{operation}: conj is {shortened(conj)}; accepted: positions of the {len(dtypes)} operands, from 0, "
                "or from -1 backwards",
                operation=operation,
            )
        positions.add(position % len(dtypes))
    return Arithmetic(algebra, tuple(sorted(one for one in positions if dtypes[one].kind == "complex")))


def algebra_named(name: str) -> Semiring:
    """The algebra of that name.

    Raises:
        ValueError: there is none.

    >>> algebra_named("max_plus")
    Semiring('max_plus')
    """
    from tensor_runtime.algebras import ALGEBRAS

    for algebra in ALGEBRAS:
        if algebra.name == name:
            return algebra
    raise ValueError(f"no algebra is named {shortened(name)}")
