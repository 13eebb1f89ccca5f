"""Creation with the standard's arguments: ``device`` for a placement, ``dtype=None`` for the default."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensor_runtime.ops.creation as ours
from tensor_core.dtypes import F64, DType, as_dtype
from tensor_core.errors import ArgumentError, LossyConversionError, ShapeError
from tensor_core.shapes import as_shape
from tensor_runtime.array_api.data_types import astype
from tensor_runtime.ops import arrangement, creation_like, diagonals, exchange, ranges
from tensor_runtime.ops.views import broadcast_to
from tensor_runtime.ops.views import copy as copied
from tensor_runtime.placement import CPU, Placement, as_placement
from tensor_runtime.tensors.tensor import Number, Tensor
from tensor_runtime.tensors.transfer import to

Device = Placement | str | None
Shape = int | Sequence[int]


def _place(device: Device) -> Placement:
    return CPU if device is None else as_placement(device)


def asarray(
    obj: Any,
    /,
    *,
    dtype: DType | None = None,
    device: Device = None,
    copy: bool | None = None,
) -> Tensor:
    """A tensor of numbers, nested lists, an array or a tensor.

    Args:
        obj: nested lists are read as written; arrays of other libraries are shared where the layout allows.
        dtype: None keeps, or finds, the element type; another one is cast to, as ``astype`` does.
        device: where it is wanted; None leaves it.
        copy: True always copies, False never, None where it must.

    Returns:
        The shape of ``obj``.

    Raises:
        ArgumentError: ``copy=False`` and it takes a copy.
        DTypeError: no numbers, or of a type that is none of ours.

    Source: the array API standard 2024.12.

    >>> asarray([[1, 2], [3, 4]], dtype=F64).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    if isinstance(obj, Tensor):
        if copy is False and dtype not in (None, obj.dtype):
            raise ArgumentError(f"asarray: {obj.dtype} to {dtype} needs a copy, and copy=False; pass copy=None")
        found = astype(obj, dtype, copy=False) if dtype is not None else obj
        found = copied(found) if copy and found is obj else found
    else:
        try:
            found = ours.asarray(obj, dtype=dtype, copy=copy)
        except LossyConversionError:  # asked with a type, or nothing would be lost
            found = astype(ours.asarray(obj), as_dtype(dtype), copy=False)
    return found if device is None else to(found, device)


def from_dlpack(x: object, /, *, device: Device = None, copy: bool | None = None) -> Tensor:
    """A tensor of what another library lends through DLPack; see :func:`tensor_runtime.from_dlpack`.

    Args:
        x: an object with ``__dlpack__``.
        device: where it is wanted; None leaves it.
        copy: True always copies, False never, None where it must.

    >>> from_dlpack(ours.ones(2)).tolist()
    [1.0, 1.0]
    """
    found = exchange.from_dlpack(x, copy=copy)
    return found if device is None else to(found, device)


def zeros(shape: Shape, *, dtype: DType | None = None, device: Device = None) -> Tensor:
    """Zeros, of F64 by default."""
    return ours.zeros(shape, dtype=F64 if dtype is None else dtype, placement=_place(device))


def ones(shape: Shape, *, dtype: DType | None = None, device: Device = None) -> Tensor:
    """Ones, of F64 by default."""
    return ours.ones(shape, dtype=F64 if dtype is None else dtype, placement=_place(device))


def empty(shape: Shape, *, dtype: DType | None = None, device: Device = None) -> Tensor:
    """Elements of no particular value, of F64 by default."""
    return creation_like.empty(shape, dtype=F64 if dtype is None else dtype, placement=_place(device))


def full(shape: Shape, fill_value: Number | Tensor, *, dtype: DType | None = None, device: Device = None) -> Tensor:
    """One number everywhere, or the element of a tensor of rank 0; its own type by default, and a tensor's own place.

    Raises:
        ShapeError: a tensor with axes.
        DTypeError: the number's kind does not fit the type.

    >>> full(2, ours.ones(())).tolist()
    [1.0, 1.0]
    """
    if not isinstance(fill_value, Tensor):
        return ours.full(shape, fill_value, dtype=dtype, placement=_place(device))
    if fill_value.shape:
        raise ShapeError(f"full: fill_value has shape {fill_value.shape}; accepted: a number, a tensor of rank 0")
    element = asarray(fill_value, dtype=dtype, device=device)
    return copied(broadcast_to(element, as_shape(shape)))


def zeros_like(x: Tensor, /, *, dtype: DType | None = None, device: Device = None) -> Tensor:
    """Zeros of the shape, type and place of a tensor."""
    return creation_like.zeros_like(x, dtype=dtype, placement=device)


def ones_like(x: Tensor, /, *, dtype: DType | None = None, device: Device = None) -> Tensor:
    """Ones of the shape, type and place of a tensor."""
    return creation_like.ones_like(x, dtype=dtype, placement=device)


def empty_like(x: Tensor, /, *, dtype: DType | None = None, device: Device = None) -> Tensor:
    """Elements of no particular value, of the shape, type and place of a tensor."""
    return creation_like.empty_like(x, dtype=dtype, placement=device)


def full_like(x: Tensor, /, fill_value: Number, *, dtype: DType | None = None, device: Device = None) -> Tensor:
    """One number everywhere, of the shape, type and place of a tensor."""
    return creation_like.full_like(x, fill_value, dtype=dtype, placement=device)


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: DType | None = None, device: Device = None
) -> Tensor:
    """Ones on diagonal ``k``, zeros elsewhere; of F64 by default."""
    return diagonals.eye(n_rows, n_cols, k, dtype=F64 if dtype is None else dtype, placement=_place(device))


def arange(
    start: float, /, stop: float | None = None, step: float = 1, *, dtype: DType | None = None, device: Device = None
) -> Tensor:
    """Numbers from ``start`` up to, and without, ``stop``; ``arange(n)`` counts from 0.

    >>> arange(3).tolist(), arange(5, 1, -2).tolist()
    ([0, 1, 2], [5, 3])
    """
    first, last = (0, start) if stop is None else (start, stop)
    return ranges.arange(first, last, step, dtype=dtype, placement=_place(device))


def linspace(
    start: Number,
    stop: Number,
    /,
    num: int,
    *,
    dtype: DType | None = None,
    device: Device = None,
    endpoint: bool = True,
) -> Tensor:
    """So many numbers at equal distances, with ``stop`` unless ``endpoint=False``."""
    return ranges.linspace(start, stop, num, endpoint=endpoint, dtype=dtype, placement=_place(device))


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> list[Tensor]:
    """Coordinates of a grid, one tensor for each axis; vectors of one element may have no axis.

    >>> [axis.shape for axis in meshgrid(ours.ones(2), ours.ones(()), indexing="ij")]
    [(2, 1), (2, 1)]
    """
    return list(arrangement.meshgrid(*arrays, indexing=indexing))


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Matrices with zeros above diagonal ``k``."""
    return diagonals.tril(x, k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Matrices with zeros below diagonal ``k``."""
    return diagonals.triu(x, k)
