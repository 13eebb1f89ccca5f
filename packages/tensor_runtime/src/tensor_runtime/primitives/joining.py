"""Strict ``concatenate``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tensor_core.errors import ArgumentError
from tensor_runtime.dispatch.arguments import whole
from tensor_runtime.dispatch.call import execute_several
from tensor_runtime.ops.joining import concatenated
from tensor_runtime.primitives.strict import StrictSpec
from tensor_runtime.tensors.tensor import Tensor

_CONCATENATE: Final = StrictSpec("concatenate", result_shape=concatenated, takes_params=True)


def concatenate(tensors: Sequence[Tensor], /, axis: int) -> Tensor:
    """Tensors of one dtype one after the other along an axis that they have.

    Args:
        tensors: one or more, of extents equal along the other axes.
        axis: of each; negative counts from the end.

    Returns:
        An owned tensor.

    Raises:
        ShapeError: ranks or extents differ.
        AxisError: an axis out of range.
        ArgumentError: no tensor.
        DTypeError: the dtypes differ.

    >>> concatenate((tensor([1, 2]), tensor([3])), 0).to_numpy().tolist()
    [1, 2, 3]
    """
    operands = tuple(tensors)
    if not operands:
        raise ArgumentError("primitives.concatenate: no tensor; give one or more", operation="concatenate")
    return execute_several(_CONCATENATE, operands, whole("concatenate", "axis", axis))
