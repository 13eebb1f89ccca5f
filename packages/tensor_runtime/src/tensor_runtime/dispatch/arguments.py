"""Options as users write them, turned into what can be part of a key: ints, tuples of ints, flags.

A bool is no int here, and nothing but a bool is a flag: ``keepdims="no"`` is an error, not True.
"""

from __future__ import annotations

from operator import index as as_index
from typing import Any

from tensor_core.errors import ArgumentError, shortened
from tensor_core.files.source import name_of
from tensor_runtime.dispatch.dtype_rules import Axes


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
        raise ArgumentError(
            f"{operation}: {what} are {shortened(values)}; accepted: an int or a sequence of ints", operation=operation
        ) from None


def _iterable(values: Any) -> bool:
    return isinstance(values, (tuple, list, range))


def as_axes(operation: str, axis: object, /) -> Axes:
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


def flag(operation: str, what: str, value: object, /) -> bool:
    """A bool that a user wrote; NumPy's counts as one.

    >>> flag("sum", "keepdims", True)
    True
    """
    if value is True or value is False:
        return value
    kind = type(value)
    if kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_"):
        return bool(value)
    raise ArgumentError(f"{operation}: {what} is {shortened(value)}; accepted: True and False", operation=operation)


def file_name(operation: str, what: str, value: Any, /) -> str:
    """The name of a file that a user wrote, as a str or a path object.

    >>> file_name("calibrate", "path", "machine.json")
    'machine.json'
    """
    return name_of(value, ArgumentError, operation, what)


def choice(operation: str, what: str, value: object, accepted: tuple[str, ...], /) -> str:
    """One of the words that an option accepts.

    >>> choice("cast", "overflow", "wrap", ("error", "wrap"))
    'wrap'
    """
    if isinstance(value, str) and value in accepted:
        return value
    listed = ", ".join(map(repr, accepted))
    raise ArgumentError(f"{operation}: {what} is {shortened(value)}; accepted: {listed}", operation=operation)
