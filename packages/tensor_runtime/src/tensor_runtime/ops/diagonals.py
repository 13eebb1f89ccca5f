"""Diagonals and triangles: ``eye``, taking a diagonal out, putting one in, ``trace``, ``tril`` and ``triu``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, SupportsIndex

from tensor_core.dtypes import F64, DTypeLike
from tensor_core.errors import ArgumentError, ShapeError, shortened
from tensor_core.shapes import Shape, as_shape, normalize_axes
from tensor_runtime.backends.error_translation import naming
from tensor_runtime.dispatch.arguments import whole, wholes
from tensor_runtime.dispatch.call import execute_with_params
from tensor_runtime.dispatch.out import Out, written
from tensor_runtime.dispatch.spec import OpSpec
from tensor_runtime.ops import reduction, views
from tensor_runtime.ops.creation import eye as main_diagonal
from tensor_runtime.ops.creation import zeros
from tensor_runtime.ops.joining import concatenate
from tensor_runtime.ops.views import diagonal_view
from tensor_runtime.placement import CPU, Placement
from tensor_runtime.static_types.creation import typed_eye
from tensor_runtime.static_types.results import accumulator_dtype, same_dtype, same_dtype_into
from tensor_runtime.tensors.tensor import Tensor, unwrap

_FIRST_TWO: Final = (0, 1)

Pair = tuple[int, int]
Embedding = tuple[int, Pair]  # (offset, axes of the result)
Triangle = tuple[int, Pair]  # (k, axes of rows and columns)


def _embedded(operation: str, shape: Shape, params: Embedding, /) -> Shape:
    offset, axes = params
    if not shape:
        raise ShapeError(f"{operation}: the operand has rank 0; accepted: rank 1 or more", operation=operation)
    first, second = normalize_axes(axes, len(shape) + 1, operation)
    rest, extent = list(shape[:-1]), shape[-1] + abs(offset)
    for axis in sorted((first, second)):
        rest.insert(axis, extent)
    return tuple(rest)


def _triangular(operation: str, shape: Shape, params: Triangle, /) -> Shape:
    if len(shape) < 2:
        raise ShapeError(
            f"{operation}: the operand has shape {shape}; accepted: rank 2 or more", operation=operation, shape=shape
        )
    normalize_axes(params[1], len(shape), operation)
    return shape


EMBED_DIAGONAL: Final = OpSpec("embed_diagonal", result_shape=_embedded, takes_params=True)
TRIL: Final = OpSpec("tril", result_shape=_triangular, takes_params=True)
TRIU: Final = OpSpec("triu", result_shape=_triangular, takes_params=True)


@typed_eye
def eye(
    rows: int,
    columns: int | None = None,
    /,
    k: SupportsIndex = 0,
    *,
    dtype: DTypeLike = F64,
    placement: Placement | str = CPU,
) -> Tensor:
    """Matrix with ones on a diagonal.

    Args:
        rows: extent of the first axis.
        columns: extent of the second; None for a square matrix.
        k: the diagonal: 0 the main one, positive above it, negative below.
        dtype: of the elements.
        placement: where it goes.

    >>> eye(2, dtype="I64")
    Tensor(I64, (2, 2), column-major, cpu)
     1  0
     0  1
    >>> eye(2, 3, 1, dtype="I64")
    Tensor(I64, (2, 3), column-major, cpu)
     0  1  0
     0  0  1
    """
    if type(k) is int and k == 0:
        return main_diagonal(rows, columns, dtype=dtype, placement=placement)
    shift = whole("eye", "k", k)
    shape = as_shape((rows, rows if columns is None else columns))
    away, axis = abs(shift), int(shift > 0)
    if away >= shape[axis]:
        return zeros(shape, dtype=dtype, placement=placement)
    beside = list(shape)
    beside[axis] = away
    within = [extent - away if place == axis else extent for place, extent in enumerate(shape)]
    parts = zeros(beside, dtype=dtype, placement=placement), main_diagonal(*within, dtype=dtype, placement=placement)
    return concatenate(parts, axis)


@same_dtype
def extract_diagonal(x: Tensor, /, offset: SupportsIndex = 0, axes: Sequence[SupportsIndex] = _FIRST_TWO) -> Tensor:
    """View of the elements (i, i + offset) on two axes; the diagonal comes last.

    Args:
        x: shape [..., M, ..., N, ...], any layout.
        offset: above the main diagonal when positive, below when negative; beyond the matrix the diagonal is empty.
        axes: of rows and of columns.

    Returns:
        Shape [remaining axes..., L]; a view, as NumPy's ``diagonal``.

    Raises:
        AxisError: an axis out of range or named twice.
        ArgumentError: not two axes, or an offset that is no int.

    >>> x = tensor([[1, 2, 3], [4, 5, 6]])
    >>> extract_diagonal(x).to_numpy().tolist(), extract_diagonal(x, 1).to_numpy().tolist()
    ([1, 5], [2, 6])
    """
    name = "extract_diagonal"
    if axes is _FIRST_TWO and type(offset) is int and offset == 0 and type(x) is Tensor and _is_square(x._form.shape):
        return execute_with_params(views.DIAGONAL_VIEW, x, _FIRST_TWO)
    form, _ = unwrap(name, x)
    ints = type(offset) is int and type(axes) is tuple and [type(axis) for axis in axes] == [int, int]
    if ints and offset == 0 and axes == (0, 1) and _is_square(form.shape):
        return execute_with_params(views.DIAGONAL_VIEW, x, axes)
    first, second = normalize_axes(_pair(name, axes), form.rank, name)
    shift = whole(name, "offset", offset)
    rows, columns = form.shape[first], form.shape[second]
    down, right = min(max(-shift, 0), rows), min(max(shift, 0), columns)
    extent = min(rows - down, columns - right)
    if extent == rows == columns:
        return diagonal_view(x, first, second)
    index = [slice(None)] * form.rank
    index[first], index[second] = slice(down, down + extent), slice(right, right + extent)
    return diagonal_view(x[tuple(index)], first, second)


def _is_square(shape: Shape) -> bool:
    return len(shape) > 1 and shape[0] == shape[1]


@same_dtype_into
def embed_diagonal(
    x: Tensor, /, offset: SupportsIndex = 0, axes: Sequence[SupportsIndex] = (0, 1), *, out: Out = None
) -> Tensor:
    """Zeros with the last axis of ``x`` on a diagonal of two new axes; what :func:`extract_diagonal` takes out again.

    Args:
        x: shape [..., N], any dtype and layout.
        offset: above the main diagonal when positive, below when negative.
        axes: where the new axes of rows and of columns stand in the result.

    Returns:
        An owned tensor of rank one higher; both new axes have extent N + abs(offset).

    Raises:
        ShapeError: rank 0.
        AxisError: an axis out of range of the result, or named twice.
        ArgumentError: not two axes, or an offset that is no int.

    >>> embed_diagonal(tensor([1, 2]), 1)
    Tensor(I64, (3, 3), column-major, cpu)
     0  1  0
     0  0  2
     0  0  0
    """
    name = "embed_diagonal"
    return execute_with_params(EMBED_DIAGONAL, x, (whole(name, "offset", offset), _pair(name, axes)), out)


@accumulator_dtype
def trace(
    x: Tensor, /, offset: SupportsIndex = 0, axis1: SupportsIndex = 0, axis2: SupportsIndex = 1, *, out: Out = None
) -> Tensor:
    """Sum along a diagonal: :func:`extract_diagonal`, then ``sum``. Integers and Bool accumulate in I64.

    Args:
        x: shape [..., M, ..., N, ...], any dtype.
        offset: as for :func:`extract_diagonal`.
        axis1: of rows.
        axis2: of columns.

    Returns:
        The shape of the remaining axes.

    Raises:
        AxisError: an axis out of range or named twice.

    >>> trace(tensor([[1, 2], [3, 4]])).item()
    5
    """
    form = x._form if type(x) is Tensor else unwrap("trace", x)[0]
    main = type(offset) is type(axis1) is type(axis2) is int and (offset, axis1, axis2) == (0, 0, 1)
    if main and _is_square(form.shape):
        diagonal = execute_with_params(views.DIAGONAL_VIEW, x, (0, 1))
    else:
        diagonal = _diagonal(x, offset, (axis1, axis2))
    found = execute_with_params(reduction.SUM, diagonal, (-1, False))
    return found if out is None else written("trace", out, found, x)


_diagonal: Final[Callable[..., Tensor]] = naming("extract_diagonal", own="trace")(extract_diagonal)


@same_dtype_into
def tril(x: Tensor, /, k: SupportsIndex = 0, *, axes: Sequence[SupportsIndex] = (-2, -1), out: Out = None) -> Tensor:
    """Elements on and below a diagonal, zeros (False) above it.

    Args:
        x: shape [..., M, N], any dtype and layout.
        k: the diagonal: 0 the main one, positive above it, negative below.
        axes: of rows and of columns. NumPy's are the last two; ``tensor_linalg`` keeps matrices in the first two,
            ``axes=(0, 1)``.

    Returns:
        An owned tensor of the same shape and dtype.

    Raises:
        ShapeError: rank below 2 (NumPy would make a matrix of a vector).
        AxisError: an axis out of range or named twice.
        ArgumentError: not two axes, or a k that is no int.

    >>> tril(tensor([[1, 2], [3, 4]]))
    Tensor(I64, (2, 2), column-major, cpu)
     1  0
     3  4
    """
    return execute_with_params(TRIL, x, (whole("tril", "k", k), _pair("tril", axes)), out)


@same_dtype_into
def triu(x: Tensor, /, k: SupportsIndex = 0, *, axes: Sequence[SupportsIndex] = (-2, -1), out: Out = None) -> Tensor:
    """Elements on and above a diagonal, zeros (False) below it. Arguments and errors as for :func:`tril`.

    >>> triu(tensor([[1, 2], [3, 4]]), 1)
    Tensor(I64, (2, 2), column-major, cpu)
     0  2
     0  0
    """
    return execute_with_params(TRIU, x, (whole("triu", "k", k), _pair("triu", axes)), out)


def _pair(operation: str, axes: Any) -> Pair:
    found = wholes(operation, "axes", axes)
    if len(found) != 2:
        raise ArgumentError(f"{operation}: axes are {shortened(axes)}; accepted: two axes", operation=operation)
    return found[0], found[1]
