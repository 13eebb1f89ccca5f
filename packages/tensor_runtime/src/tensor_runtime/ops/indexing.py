"""Indexing as sugar: ``x[1, ::-1, None, ...]`` and, on a mutable view, ``view[...] = x``.

Integers, slices, ``None`` and ``...`` give views, with Python's own wrapping and clipping; masks and tensors of
integers are the business of ``advanced_indexing``. Which elements a slice starts at is an argument of the kernel, never
part of a binding's key, so ``x[0]``, ``x[1]``, ... share one binding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from operator import index as as_index
from typing import Any, Final

from tensor_core.errors import DTypeError, IndexingError, PlacementError, SliceError, shortened
from tensor_core.foreign import number_of, refuse_masked
from tensor_core.shapes import Shape
from tensor_runtime.backends.error_translation import fail
from tensor_runtime.dispatch.out import mutable_view_of, write
from tensor_runtime.dispatch.spec import ViewSpec, check_convertible
from tensor_runtime.form import Form
from tensor_runtime.ops import advanced_indexing, advanced_writing
from tensor_runtime.ops.creation import full
from tensor_runtime.ops.views import broadcast_to
from tensor_runtime.static_types.combined import mutable_dtype
from tensor_runtime.static_types.results import same_dtype
from tensor_runtime.tensors.tensor import Number, Tensor, TypedTensorViewMut, blank

_ASSIGNMENT: Final = "view[...] = x"
_check_number: Final[Callable[..., None]] = lru_cache(64)(
    check_convertible
)  # by types and dtypes alone; errors are not kept
# One entry per item of an index: () for an integer, (extent, step) for a slice, None for a new axis.
Pattern = tuple[tuple[int, ...] | None, ...]


def _sliced(form: Form, pattern: Pattern) -> tuple[Shape, Shape]:
    shape, strides, axis = [], [], 0
    for entry in pattern:
        if entry is None:
            shape.append(1)
            strides.append(0)
            continue
        if entry:
            shape.append(entry[0])
            strides.append(form.strides[axis] * entry[1])
        axis += 1
    return tuple(shape), tuple(strides)


SLICE_VIEW: Final = ViewSpec("slice_view", _sliced)


@same_dtype
def getitem(x: Tensor, index: Any, /) -> Tensor:
    """What ``x[index]`` names, as in NumPy: a view, or, where a mask or a tensor, array or list picks elements, a copy.

    Raises:
        IndexingError: out of range, too many indices, a mask of other extents, index tensors that do not broadcast, or
            what is no index.
        SliceError: a slice with a step of 0, or with a bound that is no int.

    >>> x = tensor([[1, 2, 3], [4, 5, 6]])
    >>> getitem(x, (slice(None), -1)).to_numpy().tolist(), x[1, ::-2].to_numpy().tolist()
    ([3, 6], [6, 4])
    """
    found = None if type(index) is Tensor else resolved(x._form.shape, index)
    return advanced_indexing.read(x, index) if found is None else _viewed(x, *found)


def _viewed(x: Tensor, pattern: Pattern, starts: tuple[int, ...]) -> Tensor:
    form = x._form
    try:
        kernel, view = SLICE_VIEW.found[form, pattern]
    except KeyError:
        kernel, view = SLICE_VIEW.bindings[form, pattern]
    result: Tensor = blank(type(x))
    result._form, result._borrowed = view, True
    try:
        result._array = kernel(x._array, starts)
    except Exception as error:
        fail("indexing", error, view)
    return result


def resolved(shape: Shape, index: Any, /) -> tuple[Pattern, tuple[int, ...]] | None:
    """What an index keeps of each axis, and where it starts: (pattern, one start per axis); None for no basic index.

    >>> resolved((4, 5), (-1, slice(None, None, 2)))
    (((), (3, 2)), (3, 0))
    """
    items = index if type(index) is tuple else (index,)
    named = len(items)
    for item in items:
        if type(item) is not int and type(item) is not slice:
            if type(item) is Tensor:
                return None
            if any(advanced_indexing.chooses(one) for one in items if one is not None and one is not Ellipsis):
                return None
            items = _spelled_out(shape, items)
            named = sum(item is not None for item in items)
            break
    if named > len(shape):
        raise IndexingError(
            f"indexing: {named} indices for shape {shape} of rank {len(shape)}; give at most one per axis", shape=shape
        )
    pattern: list[tuple[int, ...] | None] = []
    starts: list[int] = []
    for item in items:
        if item is None:
            pattern.append(None)
        elif type(item) is slice:
            first, kept = _range_of(item, len(starts), shape)
            pattern.append(kept)
            starts.append(first)
        else:
            starts.append(_position(item, len(starts), shape))
            pattern.append(())
    for extent in shape[len(starts) :]:
        pattern.append((extent, 1))
        starts.append(0)
    return tuple(pattern), tuple(starts)


def _spelled_out(shape: Shape, items: tuple[Any, ...]) -> tuple[Any, ...]:
    """An index whose ``...`` is replaced by the slices it stands for. Compares by identity only: arrays may occur."""
    places = [position for position, item in enumerate(items) if item is Ellipsis]
    if not places:
        return items
    if len(places) > 1:
        raise IndexingError("indexing: more than one '...'; write it once", shape=shape)
    named = sum(item is not None for item in items) - 1
    return (*items[: places[0]], *[slice(None)] * (len(shape) - named), *items[places[0] + 1 :])


def _range_of(item: slice, axis: int, shape: Shape) -> tuple[int, tuple[int, int]]:
    """Where a slice starts, and (extent, step)."""
    try:
        first, end, step = item.indices(shape[axis])
    except PlacementError:  # a bound is a tensor on a device, which is not read
        raise
    except (TypeError, ValueError):
        bounds = (item.start, item.stop, item.step)
        raise SliceError(
            f"indexing: axis {axis} has the slice {':'.join('' if one is None else shortened(one) for one in bounds)}; "
            "accepted: ints and None, and a step that is not 0",
            axis=axis,
        ) from None
    extent = len(range(first, end, step))
    return (first, (extent, step)) if extent else (0, (0, 1))


def _position(item: Any, axis: int, shape: Shape) -> int:
    if type(item) is int and 0 <= item < shape[axis]:
        return item
    try:
        position = as_index(item)
    except TypeError:
        raise IndexingError(
            f"indexing: axis {axis} has the index {shortened(item)} of type {type(item).__name__}; accepted: an int, "
            "a slice, None, '...', a Bool mask, and a tensor, array or list of integers",
            axis=axis,
        ) from None
    extent = shape[axis]
    if not -extent <= position < extent:
        raise IndexingError(
            f"indexing: index {position} is out of range for axis {axis} of extent {extent}; "
            f"accepted: {-extent} to {extent - 1}"
            if extent
            else f"indexing: axis {axis} of shape {shape} has extent 0, so it has no element {position}",
            axis=axis,
            index=position,
        )
    return position % extent


@mutable_dtype
def mutable_view(x: Tensor, /) -> TypedTensorViewMut[Any]:
    """View of the same elements that may be written: ``mutable_view(x)[0, :] = 1``.

    Slices of it are mutable too. Whoever shares the elements sees what is written.

    Raises:
        OverlappingViewError: two indices of the view name one element, as in a broadcast.
        ReadOnlyError: the memory was lent to us read-only.

    >>> x = zeros((2, 2))
    >>> mutable_view(x)[0] = tensor([1.0, 2.0])
    >>> x.to_numpy().tolist()
    [[1.0, 2.0], [0.0, 0.0]]
    """
    return mutable_view_of(x)


def copy_into(view: TypedTensorViewMut[Any], source: Tensor | Number, /) -> None:
    """Write every element of ``source`` into a mutable view of the same shape.

    Where both lie in one allocation and overlap, the result is as if ``source`` had been copied first.

    Raises:
        ReadOnlyError: the first operand is not a mutable view.
        ShapeError: the shapes differ (``view[...] = x`` broadcasts).
        LossyConversionError: the view's dtype cannot hold the source's; ``cast`` first.
        PlacementError: they live in different places.

    >>> x = zeros((2,))
    >>> copy_into(mutable_view(x), tensor([1, 2]))
    >>> x.to_numpy().tolist()
    [1.0, 2.0]
    """
    _write("copy_into", view, source)


def setitem(view: TypedTensorViewMut[Any], index: Any, value: Tensor | Number, /) -> None:
    """Write ``value``, broadcast to the elements that ``index`` names.

    >>> x = mutable_view(zeros((2, 3)))
    >>> setitem(x, (slice(None), 0), 7.0)
    >>> x[:, 0].to_numpy().tolist()
    [7.0, 7.0]
    """
    found = None if type(index) is Tensor else resolved(view._form.shape, index)
    if found is None:
        if type(index) is Tensor and advanced_writing.fill_masked(view, index, value):
            return
        advanced_writing.assign(view, index, _source(_ASSIGNMENT, view, value))
        return
    target: Any = _viewed(view, *found)
    if isinstance(value, Tensor):
        value = advanced_writing.broadcast_value(value, target.shape)
    _write(_ASSIGNMENT, target, value)


def _write(operation: str, view: TypedTensorViewMut[Any], source: Any) -> None:
    """Write a tensor of the view's shape, or a Python number, which fills it."""
    if not isinstance(source, Tensor) and isinstance(view, TypedTensorViewMut):
        source = broadcast_to(_source(operation, view, source), view.shape)
    write(view, source, operation)


def _source(operation: str, view: TypedTensorViewMut[Any], source: Any) -> Tensor:
    """What is written, as a tensor: a number has the view's dtype, and rank 0."""
    if not isinstance(source, Tensor):
        number = number_of(source)
        if number is None:
            refuse_masked(operation, source)
            raise DTypeError(
                f"{operation}: the value is {_described(source)}; accepted: a tensor (tensor() makes one of a list, "
                "asarray() of an array), and Python's bool, int, float and complex",
                operation=operation,
            )
        form = view._form
        _check_number(operation, type(number), form.dtype)
        return full((), number, dtype=form.dtype, placement=form.placement)
    return source


def _described(value: object) -> str:
    return f"{'an' if type(value).__name__[0] in 'aeiou' else 'a'} {type(value).__name__}"


def iterate(x: Tensor, /) -> Iterator[Tensor]:
    """Views along the first axis, in order.

    >>> [row.shape for row in iterate(zeros((2, 3)))]
    [(3,), (3,)]
    """
    if x.rank == 0:
        raise IndexingError("iteration: a tensor of rank 0 has no axis to run along; item() gives its element")
    return map(x.__getitem__, range(x.shape[0]))  # the operator is faster than the function
