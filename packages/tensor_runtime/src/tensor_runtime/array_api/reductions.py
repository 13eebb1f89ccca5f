"""Sums and their relatives, running sums, sorting, searching and picking, with the standard's arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensor_core.dtypes import I32, I64, Bool, DType
from tensor_core.errors import ArgumentError
from tensor_runtime.array_api.data_types import KINDS, astype
from tensor_runtime.backends.error_translation import naming
from tensor_runtime.ops import creation, gather_scatter, joining, reduction, scan, selecting
from tensor_runtime.ops import sort as sorting
from tensor_runtime.tensors.tensor import Number, Tensor, unwrap

Axes = int | Sequence[int] | None


def sum(x: Tensor, /, *, axis: Axes = None, dtype: DType | None = None, keepdims: bool = False) -> Tensor:
    """Sums along axes, of all without one; integers and Bool in I64 unless ``dtype`` says otherwise.

    >>> tensor([[1, 2], [3, 4]]).dtype, sum(tensor([[1, 2], [3, 4]]), axis=0).tolist()
    (I64, [4, 6])
    """
    return _in_type(reduction.sum, x, dtype, axis=axis, keepdims=keepdims)


def prod(x: Tensor, /, *, axis: Axes = None, dtype: DType | None = None, keepdims: bool = False) -> Tensor:
    """Products along axes, of all without one; integers and Bool in I64 unless ``dtype`` says otherwise."""
    return _in_type(reduction.prod, x, dtype, axis=axis, keepdims=keepdims)


@naming("cumsum")
def cumulative_sum(
    x: Tensor, /, *, axis: int | None = None, dtype: DType | None = None, include_initial: bool = False
) -> Tensor:
    """Running sums along an axis; only rank 1 may leave it out. With ``include_initial`` zeros come first.

    >>> cumulative_sum(tensor([1, 2, 3]), include_initial=True).tolist()
    [0, 1, 3, 6]
    """
    return _running(scan.cumsum, x, axis, dtype, 0 if include_initial else None)


@naming("cumprod")
def cumulative_prod(
    x: Tensor, /, *, axis: int | None = None, dtype: DType | None = None, include_initial: bool = False
) -> Tensor:
    """Running products along an axis; only rank 1 may leave it out. With ``include_initial`` ones come first.

    >>> cumulative_prod(tensor([1, 2, 3])).tolist()
    [1, 2, 6]
    """
    return _running(scan.cumprod, x, axis, dtype, 1 if include_initial else None)


def _in_type(fold: Callable[..., Tensor], x: Tensor, dtype: DType | None, **options: Any) -> Tensor:
    unwrap(fold.__name__, x)
    if dtype is None and x.dtype not in (*KINDS["integral"], Bool):
        return fold(x, **options)
    wanted = I64 if dtype is None else dtype
    found = fold(astype(x, wanted, copy=False), **options)
    return astype(found, wanted, copy=False)


def _running(
    scanned: Callable[..., Tensor], x: Tensor, axis: int | None, dtype: DType | None, first: int | None
) -> Tensor:
    operation = f"cumulative_{scanned.__name__.removeprefix('cum')}"
    unwrap(operation, x)
    if axis is None and x.ndim != 1:
        raise ArgumentError(f"{operation}: no axis for shape {x.shape}; accepted: none for rank 1 only")
    along = 0 if axis is None else axis
    wanted = dtype or (I64 if x.dtype in (I32, Bool) else x.dtype)
    found = astype(scanned(astype(x, wanted, copy=False), along), wanted, copy=False)
    if first is None:
        return found
    along %= x.ndim
    shape = (*x.shape[:along], 1, *x.shape[along + 1 :])
    return joining.concatenate([creation.full(shape, first, dtype=wanted, placement=x.placement), found], along)


def diff(
    x: Tensor,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Tensor | Number | None = None,
    append: Tensor | Number | None = None,
) -> Tensor:
    """Differences of neighbours along an axis, n times over."""
    return selecting.diff(x, n, axis, prepend=prepend, append=append)


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Elements in order along an axis, NaN last; always stable."""
    return sorting.sort(x, axis, descending=descending)


def argsort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Indices that put elements in order along an axis; always stable."""
    return sorting.argsort(x, axis, descending=descending)


@naming("take")
def searchsorted(x1: Tensor, x2: Tensor, /, *, side: str = "left", sorter: Tensor | None = None) -> Tensor:
    """Where the elements of ``x2`` would be put into the sorted ``x1``, or into ``x1`` as ``sorter`` puts it in order.

    >>> searchsorted(tensor([3, 1, 2]), tensor([2]), sorter=tensor([1, 2, 0])).tolist()
    [1]
    """
    line = x1 if sorter is None else gather_scatter.take(x1, sorter, 0)
    return sorting.searchsorted(line, x2, side)


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """The parts of a tensor at indices along an axis; only a tensor of rank 1 may leave it out.

    >>> take(tensor([7, 8, 9]), tensor([2, 0])).tolist()
    [9, 7]
    """
    unwrap("take", x)
    if axis is None and x.ndim != 1:
        raise ArgumentError(f"take: no axis for shape {x.shape}; accepted: none for rank 1 only")
    return gather_scatter.take(x, indices, 0 if axis is None else axis)
