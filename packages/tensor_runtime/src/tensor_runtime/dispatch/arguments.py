"""Options as users write them, turned into what can be part of a key: ints, tuples of ints, flags.

A bool is no int here, and nothing but a bool is a flag: ``keepdims="no"`` is an error, not True.
"""

from __future__ import annotations

from math import prod
from operator import index as as_index
from typing import Any

from tensor_core.errors import ArgumentError, AxisError, ShapeError, shortened
from tensor_core.files.source import name_of
from tensor_core.shapes import Shape


def whole(operation: str, what: str, value: Any, /) -> int:
    """An int that a user wrote.

    >>> whole("take", "axis", 1)
    1
    """
    if type(value) is int:
        return value
    try:
        return _not_bool(value)
    except TypeError:
        raise ArgumentError(
            f"{operation}: {what} is {shortened(value)}; accepted: an int", operation=operation
        ) from None


def wholes(operation: str, what: str, values: Any, /) -> tuple[int, ...]:
    """Ints that a user wrote; one alone counts as a tuple of one.

    >>> wholes("dynamic_slice", "sizes", [2, 3]), wholes("dynamic_slice", "sizes", 2)
    ((2, 3), (2,))
    """
    if type(values) is int:
        return (values,)
    if type(values) is tuple and all(type(value) is int for value in values):
        return values
    try:
        return tuple(whole(operation, what, value) for value in (values if _iterable(values) else (values,)))
    except ArgumentError:
        remedy = "; of a tensor write x.tolist()" if hasattr(values, "tolist") else ""
        raise ArgumentError(
            f"{operation}: {what} are {shortened(values)}; accepted: an int or a sequence of ints{remedy}",
            operation=operation,
        ) from None


def _iterable(values: Any) -> bool:
    return isinstance(values, (tuple, list, range))


def as_axes(operation: str, axis: object, /) -> int | tuple[int, ...] | None:
    """A hashable form of what the user wrote: an int, a tuple of ints, or None.

    >>> as_axes("sum", [0, -1])
    (0, -1)
    """
    if axis is None or type(axis) is int:
        return axis
    try:
        if isinstance(axis, (tuple, list)):
            return tuple(_not_bool(one) for one in axis)
        return _not_bool(axis)
    except TypeError:
        raise ArgumentError(
            f"{operation}: axis is {shortened(axis)}; accepted: an int, a tuple of ints, or None", operation=operation
        ) from None


def _not_bool(value: Any) -> int:
    if isinstance(value, bool) or bool(
        getattr(value, "shape", None)
    ):  # a tensor of one element and rank 1 is no int either
        raise TypeError
    return as_index(value)


def flag(operation: str, what: str, value: object, accepted: str = "True and False", /) -> bool:
    """A bool that a user wrote; NumPy's counts as one. An error lists what is accepted.

    >>> flag("sum", "keepdims", True)
    True
    """
    if value is True or value is False:
        return value
    kind = type(value)
    if kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_"):
        return bool(value)
    raise ArgumentError(f"{operation}: {what} is {shortened(value)}; accepted: {accepted}", operation=operation)


def file_name(operation: str, what: str, value: Any, /) -> str:
    """The name of a file that a user wrote, as a str or a path object.

    >>> file_name("calibrate", "path", "machine.json")
    'machine.json'
    """
    return name_of(value, ArgumentError, operation, what)


def choice(operation: str, what: str, value: object, accepted: tuple[str, ...], besides: str = "", /) -> str:
    """One of the words that an option accepts, ``besides`` what is no word and which the caller has looked for.

    >>> choice("cast", "overflow", "wrap", ("error", "wrap"))
    'wrap'
    """
    if isinstance(value, str) and value in accepted:
        return value
    listed = ", ".join(map(repr, accepted)) + (besides and f", {besides}")
    raise ArgumentError(f"{operation}: {what} is {shortened(value)}; accepted: {listed}", operation=operation)


def axes_key(operation: str, axes: Any, /) -> tuple[int, ...]:
    """Axes that a user wrote, as a tuple of ints; whether the operand has them is checked when the call is bound.

    >>> axes_key("squeeze", -1), axes_key("transpose", [1, 0])
    ((-1,), (1, 0))
    """
    if type(axes) is int:
        return (axes,)
    if type(axes) is tuple:
        for axis in axes:
            if type(axis) is not int:
                break
        else:
            return axes  # a call that finds its binding takes half as long this way
    try:
        return (as_index(axes),) if not isinstance(axes, (tuple, list)) else tuple(as_index(axis) for axis in axes)
    except TypeError:
        raise AxisError(
            f"{operation}: axes are {shortened(axes)}; accepted: an int or a sequence of ints", operation=operation
        ) from None


def completed_shape(operation: str, old: Shape, new: Any, /) -> Shape:
    """The shape that a user wrote, with -1 replaced and the number of elements checked.

    >>> completed_shape("reshape", (2, 3, 4), (6, -1))
    (6, 4)
    """
    try:
        wanted = tuple(as_index(extent) for extent in new) if isinstance(new, (tuple, list)) else (as_index(new),)
    except TypeError:
        raise ShapeError(f"{operation}: shape is {shortened(new)}; accepted: an int or a tuple of ints") from None
    size = prod(old)
    if wanted.count(-1) == 1:
        rest = prod(extent for extent in wanted if extent != -1)
        if rest > 0 and size % rest == 0:
            wanted = tuple(size // rest if extent == -1 else extent for extent in wanted)
    if any(extent < 0 for extent in wanted) or prod(wanted) != size:
        raise ShapeError(
            f"{operation}: shape {old} has {size} elements and {tuple(wanted)} does not; "
            f"accepted: extents of 0 or more with product {size}, of which one may be -1",
            operation=operation,
            shapes=(old, wanted),
        )
    return wanted
