"""Nested lists: the shape they spell, their elements in row-major order, and the way back."""

from __future__ import annotations

from collections.abc import Sequence

from tensor_core.dtypes import F64, DType, as_dtype
from tensor_core.errors import ShapeError
from tensor_core.foreign import own_dtype, python_number
from tensor_core.host.storage import Storage
from tensor_core.layout import TensorLayout
from tensor_core.promotion import promote
from tensor_core.shapes import element_count, unravel_index
from tensor_core.static_types import Any

_SEQUENCES = (list, tuple, range)
_PYTHON_NUMBERS = frozenset({bool, int, float, complex})


def flatten(nested: object, /) -> tuple[tuple[int, ...], list[Any]]:
    """Shape and elements, in row-major order, of a number or of equally long lists in lists.

    Raises:
        ShapeError: lists of different lengths on one level, numbers beside lists, or a list that contains itself.

    >>> flatten([[1, 2, 3], [4, 5, 6]])
    ((2, 3), [1, 2, 3, 4, 5, 6])
    """
    shape: list[int] = []
    level = nested
    on_path = set()
    while isinstance(level, _SEQUENCES):
        if id(level) in on_path:
            raise ShapeError("nested lists: a list contains itself; give a finite nesting")
        on_path.add(id(level))
        shape.append(len(level))
        if not level:
            break
        level = level[0]
    items: list[Any] = [nested]
    for axis, extent in enumerate(shape):
        for position, item in enumerate(items):
            if not isinstance(item, _SEQUENCES) or len(item) != extent:
                found = f"length {len(item)}" if isinstance(item, _SEQUENCES) else f"a {type(item).__name__}"
                raise ShapeError(
                    f"nested lists: {found} at {_place(position, shape[:axis])} where the first has length {extent}; "
                    "accepted: equally long lists on each level",
                    index=unravel_index(position, shape[:axis], order="C"),
                )
        items = [element for item in items for element in item]
    for position, item in enumerate(items):
        if isinstance(item, _SEQUENCES):
            raise ShapeError(
                f"nested lists: a {type(item).__name__} at {_place(position, shape)} where the first is a number; "
                "accepted: equally deep lists",
                index=unravel_index(position, shape, order="C"),
            )
    return tuple(shape), items


def numbers_and_dtype(elements: Sequence[Any], /) -> tuple[Sequence[Any], DType]:
    """The elements as Python numbers, and the element type in which they all meet; F64 when there is none.

    A tensor or array of rank 0 brings the element type that it has; a Python number, or a scalar of NumPy, brings Bool,
    I64, F64 or C64, whichever is its kind's.

    Raises:
        DTypeError: one is no number.

    >>> numbers_and_dtype([1, 2.5]), numbers_and_dtype([True])
    (([1, 2.5], F64), ([True], Bool))
    """
    kinds = set(map(type, elements))
    if kinds <= _PYTHON_NUMBERS:
        return elements, promote(*map(as_dtype, kinds)) if kinds else F64
    numbers = list(map(python_number, elements))
    own = {own_dtype(element) or as_dtype(type(number)) for element, number in zip(elements, numbers, strict=True)}
    return numbers, promote(*own)


def storage_of_nested(nested: object, dtype: DType | None = None, /) -> tuple[Storage, TensorLayout]:
    """Fresh memory with the elements of nested lists, and its layout, which is row-major.

    Args:
        nested: what :func:`flatten` takes.
        dtype: None takes the element type in which all numbers meet.

    Raises:
        ShapeError: ragged lists.
        DTypeError, CastRangeError: ``dtype`` does not hold an element.

    >>> storage_of_nested([[1, 2], [3, 4]])[1].strides
    (2, 1)
    """
    shape, elements = flatten(nested)
    numbers, natural = numbers_and_dtype(elements) if dtype is None else (elements, dtype)
    return Storage.of(natural, numbers), TensorLayout.row_major(shape)


def nest(elements: list[Any], shape: tuple[int, ...], /) -> Any:
    """Lists in lists of elements in row-major order; the element itself at rank 0.

    >>> nest([1, 2, 3, 4, 5, 6], (2, 3))
    [[1, 2, 3], [4, 5, 6]]
    """
    if not shape:
        return elements[0]
    for axis in range(len(shape) - 1, 0, -1):
        extent = shape[axis]
        elements = [elements[k * extent : (k + 1) * extent] for k in range(element_count(shape[:axis]))]
    return elements


def _place(position: int, shape: Sequence[int]) -> str:
    return "".join(f"[{k}]" for k in unravel_index(position, shape, order="C")) or "the top"
