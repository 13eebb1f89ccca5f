"""Shapes and order of axes with the standard's meaning: ``reshape`` counts in row-major order."""

from __future__ import annotations

from collections.abc import Sequence

from tensor_core.errors import ArgumentError, ViewRequiresCopyError
from tensor_runtime.backends.error_translation import naming
from tensor_runtime.ops import arrangement, joining, views
from tensor_runtime.tensors.tensor import Tensor

Axes = int | Sequence[int]


def reshape(x: Tensor, /, shape: Axes, *, copy: bool | None = None) -> Tensor:
    """Another shape, with the elements in row-major order, as the standard counts them.

    Args:
        x: any layout.
        shape: extents; one may be -1, which stands for what is left.
        copy: True always copies, False never, None where it must. Memory is column-major, so this one mostly must.

    Returns:
        The shape asked for.

    Raises:
        ShapeError: another number of elements.
        ArgumentError: ``copy=False`` and it takes a copy.

    Source: the array API standard 2024.12.

    >>> import tensor_runtime as tr
    >>> reshape(tr.tensor([[1, 2, 3], [4, 5, 6]]), (3, 2)).tolist()
    [[1, 2], [3, 4], [5, 6]]
    """
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    if copy is None:
        return views.reshape(x, extents, order="C")
    try:  # row-major order is column-major order of the axes reversed
        found = views.reversed_axes(views.reshape_view(views.reversed_axes(x), extents[::-1]))
    except ViewRequiresCopyError:
        if copy is False:
            raise ArgumentError(
                f"reshape: shape {x.shape} to {extents} in row-major order needs a copy, and copy=False; pass copy=None"
            ) from None
        return views.reshape(x, extents, order="C")
    return views.copy(found) if copy else found


@naming("concatenate", "reshape")
def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """Tensors one after the other along an axis; None flattens them first, in row-major order.

    >>> concat([tensor([[1, 2], [3, 4]]), tensor([5])], axis=None).tolist()
    [1, 2, 3, 4, 5]
    """
    if axis is None:
        return joining.concatenate([reshape(one, -1) for one in arrays], 0)
    return joining.concatenate(arrays, axis)


def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Tensor:
    """Tensors of one shape side by side along a new axis."""
    return joining.stack(arrays, axis)


def expand_dims(x: Tensor, /, axis: Axes = 0) -> Tensor:
    """View with new axes of extent 1."""
    return views.expand_dims(x, axis)


def squeeze(x: Tensor, /, axis: Axes) -> Tensor:
    """View without the axes named, which have extent 1."""
    return views.squeeze(x, axis)


@naming("reverse", "reverse_view")
def flip(x: Tensor, /, *, axis: Axes | None = None) -> Tensor:
    """View that runs backwards along axes; None is all of them."""
    return joining.reverse(x, axis)


@naming("move_axes", "transpose")
def moveaxis(x: Tensor, source: Axes, destination: Axes, /) -> Tensor:
    """View with some axes moved to other places."""
    return views.move_axes(x, source, destination)


@naming("permute_axes", "transpose")
def permute_dims(x: Tensor, /, axes: Sequence[int]) -> Tensor:
    """View with the axes in the order given."""
    return views.permute_axes(x, axes)


@naming("swapaxes", "transpose", "permute_axes")
def matrix_transpose(x: Tensor, /) -> Tensor:
    """View with the two last axes exchanged.

    >>> import tensor_runtime as tr
    >>> matrix_transpose(tr.zeros((5, 2, 3))).shape
    (5, 3, 2)
    """
    return arrangement.swapaxes(x, -2, -1)


@naming("broadcast_view")
def broadcast_to(x: Tensor, /, shape: Sequence[int]) -> Tensor:
    """View of a larger shape, with repeated elements."""
    return views.broadcast_to(x, shape)


def broadcast_arrays(*arrays: Tensor) -> list[Tensor]:
    """Views of the shape in which all of them meet."""
    return list(arrangement.broadcast_arrays(*arrays))


@naming("reshape")
def repeat(x: Tensor, repeats: int | Tensor, /, *, axis: int | None = None) -> Tensor:
    """Every element so often in a row; without an axis, those of the tensor in row-major order.

    Args:
        x: any layout.
        repeats: how often, for all or for each along the axis.
        axis: None flattens first.

    Raises:
        ShapeError, ArgumentError: ``repeats`` fits no axis, or is negative.

    Source: the array API standard 2024.12.

    >>> import tensor_runtime as tr
    >>> repeat(tr.tensor([[1, 2], [3, 4]]), 2).tolist()
    [1, 1, 2, 2, 3, 3, 4, 4]
    """
    counts = repeats if not isinstance(repeats, Tensor) else repeats.tolist()
    if isinstance(counts, list) and len(counts) == 1:
        counts = counts[0]
    return joining.repeat(reshape(x, -1), counts, 0) if axis is None else joining.repeat(x, counts, axis)


@naming("reshape")
def roll(x: Tensor, /, shift: Axes, *, axis: Axes | None = None) -> Tensor:
    """Elements moved along axes, those that leave come in at the other end; without an axis, in row-major order.

    >>> import tensor_runtime as tr
    >>> roll(tr.tensor([[1, 2], [3, 4]]), 1).tolist()
    [[4, 1], [2, 3]]
    """
    if axis is not None:
        return joining.roll(x, shift, axis)
    return reshape(joining.roll(reshape(x, -1), shift, 0), x.shape)


def tile(x: Tensor, repetitions: Sequence[int], /) -> Tensor:
    """The whole tensor side by side, so often along each axis."""
    return joining.tile(x, repetitions)


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """Views of the parts along an axis."""
    return arrangement.unstack(x, axis)
