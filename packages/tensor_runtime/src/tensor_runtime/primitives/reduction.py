"""Strict reductions: empty ``axes`` means all axes, and the dtype stays."""

from __future__ import annotations

from typing import Final

from tensor_core.dtypes import INTEGER, NUMERIC, REAL, Bool
from tensor_runtime.dispatch.arguments import as_axes, flag
from tensor_runtime.dispatch.call import execute_with_params
from tensor_runtime.dispatch.dtype_rules import Axes, reduced
from tensor_runtime.ops.reduction import reduced_nonempty
from tensor_runtime.primitives.strict import StrictSpec
from tensor_runtime.tensors.tensor import Tensor

_ORDERED: Final = REAL | {Bool}
_BITS: Final = INTEGER | {Bool}

_REDUCE_SUM: Final = StrictSpec("reduce_sum", accepts=NUMERIC, result_shape=reduced, takes_params=True, kernel="sum")
_REDUCE_PROD: Final = StrictSpec("reduce_prod", accepts=NUMERIC, result_shape=reduced, takes_params=True, kernel="prod")
_REDUCE_MAX: Final = StrictSpec(
    "reduce_max", accepts=_ORDERED, result_shape=reduced_nonempty, takes_params=True, kernel="max"
)
_REDUCE_MIN: Final = StrictSpec(
    "reduce_min", accepts=_ORDERED, result_shape=reduced_nonempty, takes_params=True, kernel="min"
)
_REDUCE_AND: Final = StrictSpec("reduce_and", accepts=_BITS, result_shape=reduced, takes_params=True)
_REDUCE_OR: Final = StrictSpec("reduce_or", accepts=_BITS, result_shape=reduced, takes_params=True)


def reduce_sum(a: Tensor, /, axes: tuple[int, ...] = (), *, keepdims: bool = False) -> Tensor:
    """Sum over the axes named, in the operand's dtype; empty ``axes`` means all axes. Integers wrap; not for Bool.

    The error of this and of the products is that of ``tensor_runtime.sum`` and ``prod``.

    >>> reduce_sum(tensor([[1, 2], [3, 4]]), (0,)).to_numpy().tolist(), reduce_sum(tensor([[1, 2], [3, 4]])).item()
    ([4, 6], 10)
    """
    return execute_with_params(
        _REDUCE_SUM, a, (_axes("primitives.reduce_sum", axes), flag("primitives.reduce_sum", "keepdims", keepdims))
    )


def reduce_prod(a: Tensor, /, axes: tuple[int, ...] = (), *, keepdims: bool = False) -> Tensor:
    """Product over the axes named; as :func:`reduce_sum` otherwise.

    >>> reduce_prod(tensor([[1, 2], [3, 4]])).item()
    24
    """
    return execute_with_params(
        _REDUCE_PROD, a, (_axes("primitives.reduce_prod", axes), flag("primitives.reduce_prod", "keepdims", keepdims))
    )


def reduce_max(a: Tensor, /, axes: tuple[int, ...] = (), *, keepdims: bool = False) -> Tensor:
    """Largest element over the axes named; empty ``axes`` means all axes. An error for no elements.

    >>> reduce_max(tensor([[1, 2], [3, 4]])).item()
    4
    """
    return execute_with_params(
        _REDUCE_MAX, a, (_axes("primitives.reduce_max", axes), flag("primitives.reduce_max", "keepdims", keepdims))
    )


def reduce_min(a: Tensor, /, axes: tuple[int, ...] = (), *, keepdims: bool = False) -> Tensor:
    """Smallest element over the axes named; as :func:`reduce_max` otherwise.

    >>> reduce_min(tensor([[1, 2], [3, 4]])).item()
    1
    """
    return execute_with_params(
        _REDUCE_MIN, a, (_axes("primitives.reduce_min", axes), flag("primitives.reduce_min", "keepdims", keepdims))
    )


def reduce_and(a: Tensor, /, axes: tuple[int, ...] = (), *, keepdims: bool = False) -> Tensor:
    """Bitwise and over the axes named, of integers or Bool; empty ``axes`` means all axes. Of nothing, -1 or True.

    >>> reduce_and(tensor([7, 13])).item(), reduce_and(tensor([True, False])).item()
    (5, False)
    """
    return execute_with_params(
        _REDUCE_AND, a, (_axes("primitives.reduce_and", axes), flag("primitives.reduce_and", "keepdims", keepdims))
    )


def reduce_or(a: Tensor, /, axes: tuple[int, ...] = (), *, keepdims: bool = False) -> Tensor:
    """Bitwise or over the axes named, of integers or Bool; empty ``axes`` means all axes. Of nothing, 0 or False.

    >>> reduce_or(tensor([1, 4])).item(), reduce_or(tensor([True, False])).item()
    (5, True)
    """
    return execute_with_params(
        _REDUCE_OR, a, (_axes("primitives.reduce_or", axes), flag("primitives.reduce_or", "keepdims", keepdims))
    )


def _axes(operation: str, axes: object) -> Axes:
    """Axes as a tuple of ints; none named means all of them, which ``rules`` writes as None."""
    named = as_axes(operation, axes)
    return None if named == () else named
