"""Immutable records: frozen dataclasses without the import of dataclasses, which costs more than this package."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

from tensor_core.static_types import Any, ClassVar


class Record:
    """An object that is its fields: it is compared, hashed, copied, pickled and printed by them, and never changes.

    A subclass names two or more fields in ``__slots__``, in the order of its constructor, which sets them by ``_set``.

    >>> class Point(Record):
    ...     __slots__ = ("x", "y")
    ...
    ...     def __init__(self, x, y):
    ...         self._set(x, y)
    >>> Point(1, 2), Point(1, 2) == Point(1, 2), Point(1, 2) == Point(2, 1)
    (Point(x=1, y=2), True, False)
    """

    __slots__: ClassVar[tuple[str, ...]] = ()
    _fields: ClassVar[Callable[[Any], tuple[Any, ...]]]

    def __init_subclass__(cls) -> None:
        first, *others = cls.__slots__
        cls._fields = attrgetter(first, *others)

    def _set(self, *values: object) -> None:
        for name, value in zip(self.__slots__, values, strict=True):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable; make another one")

    def __eq__(self, other: object) -> bool:
        kind = type(self)
        return kind._fields(self) == kind._fields(other) if isinstance(other, kind) else NotImplemented

    def __hash__(self) -> int:
        return hash(type(self)._fields(self))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), type(self)._fields(self)

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({fields})"
