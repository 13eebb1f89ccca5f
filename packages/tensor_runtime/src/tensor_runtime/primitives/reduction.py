"""Strict reductions: empty ``axes`` means all axes, and the dtype stays."""

from __future__ import annotations

from typing import Final

from tensor_core.dtypes import NUMERIC, REAL, Bool
from tensor_runtime.execute import execute_detail
from tensor_runtime.primitives.strict import StrictSpec
from tensor_runtime.reduction import reduced_nonempty
from tensor_runtime.rules import reduced
from tensor_runtime.tensors import Tensor

_REDUCE_SUM: Final = StrictSpec("reduce_sum", accepts=NUMERIC, result_shape=reduced, detailed=True, kernel="sum")
_REDUCE_MAX: Final = StrictSpec(
    "reduce_max", accepts=REAL | {Bool}, result_shape=reduced_nonempty, detailed=True, kernel="max"
)


def reduce_sum(a: Tensor, /, axes: tuple[int, ...] = (), *, keepdims: bool = False) -> Tensor:
    """Sum over the axes named, in the operand's dtype; empty ``axes`` means all axes.

    >>> reduce_sum(tensor([[1, 2], [3, 4]]), (0,)).to_numpy().tolist(), reduce_sum(tensor([[1, 2], [3, 4]])).item()
    ([4, 6], 10)
    """
    return execute_detail(_REDUCE_SUM, a, (tuple(axes) or None, keepdims))


def reduce_max(a: Tensor, /, axes: tuple[int, ...] = (), *, keepdims: bool = False) -> Tensor:
    """Largest element over the axes named; empty ``axes`` means all axes.

    >>> reduce_max(tensor([[1, 2], [3, 4]])).item()
    4
    """
    return execute_detail(_REDUCE_MAX, a, (tuple(axes) or None, keepdims))
