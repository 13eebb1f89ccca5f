"""Strict comparison, with the direction as a word."""

from __future__ import annotations

from typing import Final

from tensor_core.dtypes import ALL, REAL, Bool
from tensor_core.errors import ArgumentError
from tensor_runtime.dispatch.call import execute_binary
from tensor_runtime.dispatch.dtype_rules import boolean, equal_shapes
from tensor_runtime.primitives.strict import StrictSpec
from tensor_runtime.tensors.tensor import Tensor

_ORDERED: Final = REAL | {Bool}

_COMPARISONS: Final = {
    direction: StrictSpec(direction, binary=True, accepts=accepts, result_dtype=boolean, result_shape=equal_shapes)
    for accepts, directions in (
        (ALL, ("equal", "not_equal")),
        (_ORDERED, ("less", "less_equal", "greater", "greater_equal")),
    )
    for direction in directions
}


def compare(a: Tensor, b: Tensor, /, direction: str) -> Tensor:
    """Comparison of two tensors of one shape and dtype; Bool result.

    Args:
        a: left operand.
        b: right operand.
        direction: equal, not_equal, less, less_equal, greater or greater_equal.

    Raises:
        ArgumentError: another direction.

    >>> compare(tensor([1, 2]), tensor([2, 2]), "less").to_numpy().tolist()
    [True, False]
    """
    known: object = direction  # whatever the annotation says
    spec = _COMPARISONS.get(known) if isinstance(known, str) else None
    if spec is None:
        raise ArgumentError(f"primitives.compare: direction is {direction!r}; accepted: {', '.join(_COMPARISONS)}")
    return execute_binary(spec, a, b)
