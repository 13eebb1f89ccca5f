"""Strict ``pad``, with low, high and interior padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tensor_core.dtypes import ALL
from tensor_runtime.dispatch.arguments import wholes
from tensor_runtime.dispatch.call import execute_pair
from tensor_runtime.ops.padding import padded_shape
from tensor_runtime.primitives.strict import StrictSpec
from tensor_runtime.tensors.tensor import Tensor

_PAD: Final = StrictSpec("pad", accepts=ALL, result_shape=padded_shape, takes_params=True)


def pad(x: Tensor, value: Tensor, /, low: Sequence[int], high: Sequence[int], interior: Sequence[int]) -> Tensor:
    """Tensor with a value around and between its elements.

    Args:
        x: shape [N0, N1, ...].
        value: rank 0, the dtype of ``x``.
        low: how many before the first element along each axis; a negative number crops as many, after the interior
            padding.
        high: how many after the last, likewise.
        interior: how many between two neighbours, 0 or more.

    Returns:
        An owned tensor of extents low + N + max(N - 1, 0) · interior + high.

    Raises:
        ArgumentError: not one number of each kind per axis, or a negative interior one.
        ShapeError: an extent would be negative; the value has another rank.
        DTypeError: the dtypes differ.

    Source: the operation ``pad`` of StableHLO.

    >>> pad(tensor([1, 2, 3]), tensor(0), (1,), (-1,), (1,)).to_numpy().tolist()
    [0, 1, 0, 2, 0]
    """
    params = (wholes("pad", "low", low), wholes("pad", "high", high), wholes("pad", "interior", interior))
    return execute_pair(_PAD, x, value, params)
