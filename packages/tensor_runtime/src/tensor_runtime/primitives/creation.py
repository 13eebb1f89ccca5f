"""Strict creation: one number everywhere, and indices along an axis. Dtype and placement are written."""

from __future__ import annotations

from collections.abc import Sequence

from tensor_core.dtypes import NUMERIC, DTypeLike, as_dtype
from tensor_core.errors import DTypeError
from tensor_core.shapes import as_shape, normalize_axis
from tensor_runtime.ops import creation
from tensor_runtime.ops.ranges import arange
from tensor_runtime.ops.views import broadcast_in_dim, copy
from tensor_runtime.placement import Placement
from tensor_runtime.tensors.tensor import Number, Tensor


def full(shape: Sequence[int], value: Number, /, *, dtype: DTypeLike, placement: Placement | str) -> Tensor:
    """Tensor of one value: ``tensor_runtime.full`` without defaults, which documents errors.

    >>> full((2,), 7, dtype="I64", placement="cpu").to_numpy().tolist()
    [7, 7]
    """
    return creation.full(shape, value, dtype=as_dtype(dtype), placement=placement)


def iota(shape: Sequence[int], /, axis: int, *, dtype: DTypeLike, placement: Placement | str) -> Tensor:
    """Tensor whose element is its own index along an axis.

    Args:
        shape: [N0, N1, ...], of rank 1 or more.
        axis: along which the numbers 0, 1, 2, … run.
        dtype: any but Bool.
        placement: where it goes.

    Returns:
        An owned tensor.

    Raises:
        AxisError: an axis out of range.
        DTypeError: Bool.
        CastRangeError: an index beyond the dtype.

    Source: the operation ``iota`` of StableHLO.

    >>> iota((2, 3), 1, dtype="I32", placement="cpu").to_numpy().tolist()
    [[0, 1, 2], [0, 1, 2]]
    """
    extents, wanted = as_shape(shape), as_dtype(dtype)
    if wanted not in NUMERIC:
        raise DTypeError(
            f"primitives.iota: dtype is {wanted}; accepted: C32, C64, F32, F64, I32, I64", operation="iota"
        )
    along = normalize_axis(axis, len(extents), "iota")
    line = arange(extents[along], dtype=wanted, placement=placement)
    return line if len(extents) == 1 else copy(broadcast_in_dim(line, extents, (along,)))
