"""Putting tensors together, taking them apart, and repeating what they hold.

``split`` and ``reverse`` give views; everything else gives owned, compact, column-major tensors, or writes to ``out``.
``concatenate`` and ``stack`` write there at once, whatever its layout and dtype; the others copy where they must.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Final, SupportsIndex

from tensor_core.errors import ArgumentError, DTypeError, ShapeError, SizeLimitError, shortened
from tensor_core.shapes import MOST_AXES, Shape, element_count, normalize_axes, normalize_axis
from tensor_runtime.dispatch.arguments import whole, wholes
from tensor_runtime.dispatch.call import execute_several, execute_several_into, execute_with_params
from tensor_runtime.dispatch.out import Out, as_target, check_apart, check_fits, write_result, written
from tensor_runtime.dispatch.spec import OpSpec
from tensor_runtime.ops import native_calls
from tensor_runtime.ops.views import reshape, reverse_view
from tensor_runtime.static_types.combined import joined_dtype, parts_dtype
from tensor_runtime.static_types.results import same_dtype, same_dtype_into
from tensor_runtime.tensors.tensor import Tensor, unwrap

Repeats = tuple[int, int]  # (axis, extent of the result along it)


def concatenated(operation: str, *parts: Any) -> Shape:
    """Shape rule of ``concatenate``: from the shapes and the axis.

    >>> concatenated("concatenate", (2, 3), (2, 1), 1)
    (2, 4)
    """
    shapes: tuple[Shape, ...] = parts[:-1]
    first = shapes[0]
    axis = normalize_axis(parts[-1], len(first), operation)
    for shape in shapes[1:]:
        if len(shape) != len(first) or (*shape[:axis], *shape[axis + 1 :]) != (*first[:axis], *first[axis + 1 :]):
            raise ShapeError(
                f"{operation}: shapes {first} and {shape} along axis {axis}; accepted: extents that are equal along "
                "every other axis",
                operation=operation,
                shapes=shapes,
            )
    return (*first[:axis], sum(shape[axis] for shape in shapes), *first[axis + 1 :])


def _stacked(operation: str, *parts: Any) -> Shape:
    shapes: tuple[Shape, ...] = parts[:-1]
    first = shapes[0]
    axis = normalize_axis(parts[-1], len(first) + 1, operation)
    for shape in shapes[1:]:
        if shape != first:
            raise ShapeError(
                f"{operation}: shapes {first} and {shape}; accepted: equal shapes", operation=operation, shapes=shapes
            )
    return (*first[:axis], len(shapes), *first[axis:])


def _repeated(operation: str, shape: Shape, params: Repeats, /) -> Shape:
    axis, total = params
    return (*shape[:axis], total, *shape[axis + 1 :])


def tile_shape(shape: Shape, repetitions: Shape, /) -> tuple[Shape, Shape]:
    """Shape and repetitions with as many axes, ones before the shorter one.

    >>> tile_shape((3,), (2, 2))
    ((1, 3), (2, 2))
    """
    rank = max(len(shape), len(repetitions))
    return (1,) * (rank - len(shape)) + shape, (1,) * (rank - len(repetitions)) + repetitions


def _tiled(operation: str, shape: Shape, repetitions: Shape, /) -> Shape:
    if any(times < 0 for times in repetitions):
        raise ArgumentError(
            f"{operation}: repetitions are {repetitions}; accepted: ints of 0 or more", operation=operation
        )
    return tuple(extent * times for extent, times in zip(*tile_shape(shape, repetitions), strict=True))


def _rolled(operation: str, shape: Shape, axes: tuple[int, ...] | None, /) -> Shape:
    if axes is not None:
        normalize_axes(axes, len(shape), operation)
    return shape


CONCATENATE: Final = OpSpec("concatenate", result_shape=concatenated, takes_params=True)
STACK: Final = OpSpec("stack", result_shape=_stacked, takes_params=True)
REPEAT: Final = OpSpec("repeat", result_shape=_repeated, takes_params=True)
TILE: Final = OpSpec("tile", result_shape=_tiled, takes_params=True)
ROLL: Final = OpSpec("roll", result_shape=_rolled, takes_params=True)


@joined_dtype
def concatenate(tensors: Iterable[Tensor], /, axis: SupportsIndex | None = 0, *, out: Out = None) -> Tensor:
    """Tensors one after the other along an axis that they have.

    Args:
        tensors: one or more, of any dtypes and layouts; extents equal along the other axes.
        axis: None makes one line of all elements, each tensor's in row-major order, as NumPy does.

    Returns:
        An owned tensor of the promoted dtype.

    Raises:
        ShapeError: ranks or extents differ.
        AxisError: an axis out of range; tensors of rank 0 have none (``stack`` them).
        ArgumentError: no tensor.
        PlacementError: the tensors live in different places.

    >>> concatenate([tensor([1, 2]), tensor([3.5])])
    Tensor(F64, (3,), column-major, cpu)
     1.0  2.0  3.5
    """
    operands = _several("concatenate", tensors)
    if axis is None:
        operands, place = [reshape(one, -1, order="C") for one in operands], 0
    else:
        place = whole("concatenate", "axis", axis)
    if out is not None:
        return _joined_into(CONCATENATE, out, operands, place)
    return execute_several(CONCATENATE, operands, place)


@joined_dtype
def stack(tensors: Iterable[Tensor], /, axis: SupportsIndex = 0, *, out: Out = None) -> Tensor:
    """Tensors of one shape side by side along a new axis.

    Args:
        tensors: one or more, of any dtypes and layouts.
        axis: of the result; negative counts from its end.

    Returns:
        An owned tensor of the promoted dtype, of rank one higher.

    Raises:
        ShapeError: the shapes differ.
        AxisError: an axis out of range of the result.
        ArgumentError: no tensor.
        PlacementError: the tensors live in different places.

    >>> stack([tensor([1, 2]), tensor([3, 4])], axis=-1)
    Tensor(I64, (2, 2), column-major, cpu)
     1  3
     2  4
    """
    operands, place = _several("stack", tensors), whole("stack", "axis", axis)
    if out is not None:
        return _joined_into(STACK, out, operands, place)
    return execute_several(STACK, operands, place)


def _joined_into(spec: OpSpec, out: Any, operands: list[Tensor], axis: int) -> Tensor:
    """The parts written to their places in ``out``, without a result in between."""
    if isinstance(out, Tensor) and out._form.is_compact:
        return execute_several_into(spec, out, operands, axis)
    forms = [unwrap(spec.name, operand)[0] for operand in operands]
    _, form = spec.bindings[(*forms, axis)]  # every check of the operands
    assert not isinstance(form, tuple)
    target = as_target(spec.name, out)
    check_apart(spec.name, target, *operands)
    check_fits(spec.name, target, form)
    before, end = (slice(None),) * normalize_axis(axis, form.rank, spec.name), 0
    for operand, part in zip(operands, forms, strict=True):
        if spec is STACK:
            write_result(spec.name, target[(*before, end, ...)], operand)
            end += 1
        else:
            first, end = end, end + part.shape[len(before)]
            write_result(spec.name, target[(*before, slice(first, end))], operand)
    given: Tensor = out
    return given


_MOST_EMPTY_PARTS: Final = 1 << 16  # of an axis of extent 0, which every number divides


@parts_dtype
def split(
    x: Tensor, sections: SupportsIndex | Sequence[SupportsIndex], /, axis: SupportsIndex = 0
) -> tuple[Tensor, ...]:
    """Views of consecutive parts along an axis.

    Args:
        x: any layout, rank 1 or more.
        sections: an int n for n equal parts; or the indices at which parts after the first begin, read as Python
            reads ``x[a:b]``: negative ones count from the end, and what lies beyond the end leaves empty parts.
        axis: the axis that is cut.

    Returns:
        A tuple of views.

    Raises:
        ArgumentError: n below 1, or the extent is no multiple of n; NumPy's ``array_split`` would cut all the same,
            into parts of two sizes.
        SizeLimitError: more than 65,536 parts of an axis of extent 0.
        AxisError: an axis out of range.

    >>> [part.to_numpy().tolist() for part in split(tensor([1, 2, 3, 4]), 2)]
    [[1, 2], [3, 4]]
    >>> [part.shape for part in split(zeros((2, 7)), [3, 5], axis=1)]
    [(2, 3), (2, 2), (2, 2)]
    """
    form, _ = unwrap("split", x)
    place = normalize_axis(whole("split", "axis", axis), form.rank, "split")
    extent = form.shape[place]
    if isinstance(sections, (tuple, list)):
        cuts: list[Any] = [0, *wholes("split", "indices", sections), None]
    else:
        parts = whole("split", "number of parts", sections)
        if parts < 1 or extent % parts:
            raise ArgumentError(
                f"split: axis {place} of extent {extent} into {parts} equal parts; accepted: an int of 1 or more that "
                "divides the extent, or a list of indices",
                operation="split",
                shape=form.shape,
            )
        if parts > max(extent, _MOST_EMPTY_PARTS):
            raise SizeLimitError(
                f"split: {parts} empty parts; accepted: at most {_MOST_EMPTY_PARTS}", operation="split"
            )
        cuts = [extent // parts * number for number in range(parts + 1)]
    before = (slice(None),) * place
    return tuple(x[(*before, slice(first, end))] for first, end in pairwise(cuts))


@same_dtype_into
def repeat(
    x: Tensor,
    /,
    repeats: SupportsIndex | Sequence[SupportsIndex],
    axis: SupportsIndex | None = None,
    *,
    out: Out = None,
) -> Tensor:
    """Each element several times in a row along an axis.

    Args:
        x: any dtype and layout.
        repeats: how often: an int for all, or one per index along the axis. Numbers are arguments of the kernel; only
            their sum is part of a binding's key.
        axis: None makes a line of all elements in row-major order first, as NumPy does.

    Returns:
        An owned tensor of the operand's dtype.

    Raises:
        ArgumentError: a number below 0, no ints, or not one per index.
        AxisError: an axis out of range.

    >>> repeat(tensor([1, 2]), 2).to_numpy().tolist(), repeat(tensor([1, 2]), [0, 3]).to_numpy().tolist()
    ([1, 1, 2, 2], [2, 2, 2])
    """
    form, _ = unwrap("repeat", x)
    if axis is None and form.rank == 1:
        place, extent = 0, form.shape[0]
    elif axis is None:
        x, place, extent = reshape(x, -1, order="C"), 0, element_count(form.shape)
    else:
        place = normalize_axis(whole("repeat", "axis", axis), form.rank, "repeat")
        extent = form.shape[place]
    numbers = wholes("repeat", "repeats", repeats)
    if len(numbers) == 1:  # of all, also of the only one
        total = extent * numbers[0]
    elif isinstance(repeats, (tuple, list)) and len(numbers) == extent:
        total = sum(numbers)
    else:
        raise ArgumentError(
            f"repeat: {len(numbers)} repeats for axis {place} of extent {extent}; give an int, or one per index",
            operation="repeat",
        )
    if numbers and min(numbers) < 0:
        raise ArgumentError(
            f"repeat: repeats are {shortened(repeats)}; accepted: ints of 0 or more", operation="repeat"
        )
    result = execute_several(REPEAT, (x,), (place, total), numbers)
    return result if out is None else written("repeat", out, result, x)


@same_dtype_into
def tile(x: Tensor, repetitions: SupportsIndex | Sequence[SupportsIndex], /, *, out: Out = None) -> Tensor:
    """The whole tensor side by side, so often along each axis.

    Args:
        x: any dtype and layout.
        repetitions: one per axis. The shorter of it and the shape gets ones in front, as in NumPy.

    Returns:
        An owned tensor of the operand's dtype.

    Raises:
        ArgumentError: a number below 0, or no ints.

    >>> tile(tensor([1, 2]), (2, 2)).to_numpy().tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    return execute_with_params(TILE, x, wholes("tile", "repetitions", repetitions), out)


@same_dtype_into
def roll(
    x: Tensor,
    /,
    shift: SupportsIndex | Sequence[SupportsIndex],
    axis: SupportsIndex | Sequence[SupportsIndex] | None = None,
    *,
    out: Out = None,
) -> Tensor:
    """Elements moved along axes; what leaves at one end comes in at the other.

    Args:
        x: any dtype and layout.
        shift: by how many places, towards the end; negative towards the start. Shifts are arguments of the kernel, so
            every shift shares one binding.
        axis: one axis or several; one shift for all of them, one axis for all shifts, or one each. Shifts of an axis
            that is named more than once are added. None rolls the line of all elements in
            row-major order and gives it its shape again, as NumPy does.

    Returns:
        An owned tensor of the same shape and dtype.

    Raises:
        AxisError: an axis out of range.
        ArgumentError: shifts that are no ints, or neither one nor one per axis.

    >>> roll(tensor([1, 2, 3]), 1).to_numpy().tolist(), roll(tensor([[1, 2], [3, 4]]), -1, 0).to_numpy().tolist()
    ([3, 1, 2], [[3, 4], [1, 2]])
    """
    shifts = wholes("roll", "shifts", shift)
    axes = None if axis is None else wholes("roll", "axes", axis)
    if axes is None:
        rolled = execute_several(ROLL, (x,), None, (sum(shifts),))
        return rolled if out is None else written("roll", out, rolled, x)
    if len(shifts) == 1:
        shifts *= len(axes)
    elif len(axes) == 1:
        axes *= len(shifts)
    if len(shifts) != len(axes):
        raise ArgumentError(
            f"roll: {len(shifts)} shifts {shifts} for axes {axes}; give one, or one per axis", operation="roll"
        )
    if len(axes) > 1:
        rank, added = unwrap("roll", x)[0].rank, dict[int, int]()
        for one, places in zip(axes, shifts, strict=True):
            axis_of_x = normalize_axis(one, rank, "roll")
            added[axis_of_x] = added.get(axis_of_x, 0) + places
        axes, shifts = tuple(added), tuple(added.values())
    rolled = execute_several(ROLL, (x,), axes, shifts)
    return rolled if out is None else written("roll", out, rolled, x)


@same_dtype
def reverse(x: Tensor, /, axis: SupportsIndex | Sequence[SupportsIndex] | None = None) -> Tensor:
    """View that runs backwards along axes; None is all of them. NumPy calls it ``flip``.

    Raises:
        AxisError: an axis out of range or named twice.

    >>> reverse(tensor([[1, 2], [3, 4]])).to_numpy().tolist(), reverse(tensor([[1, 2], [3, 4]]), 1).strides
    ([[4, 3], [2, 1]], (1, -2))
    """
    return _reverse(x, axis)


@native_calls.standing_in(globals())
def _reverse(x: Any, axis: Any) -> Tensor:
    form, _ = unwrap("reverse", x)
    turned: Tensor = reverse_view(x, tuple(range(form.rank)) if axis is None else axis)
    return turned


def _several(operation: str, tensors: Any) -> list[Tensor]:
    if isinstance(tensors, Tensor) and tensors.rank and len(tensors) > MOST_AXES:
        raise ArgumentError(
            f"{operation}: found one tensor of {len(tensors)} rows; accepted: a sequence of tensors, as in [x, y]",
            operation=operation,
        )
    try:
        operands = list(tensors)
    except TypeError:
        raise DTypeError(
            f"{operation}: found a {type(tensors).__name__}; accepted: a sequence of tensors", operation=operation
        ) from None
    if not operands:
        raise ArgumentError(f"{operation}: no tensors; give one or more", operation=operation)
    return operands
