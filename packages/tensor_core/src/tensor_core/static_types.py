"""The names of ``typing`` that this package uses, without importing it: that takes longer than all the rest together.

The type checker sees ``typing``'s own; at run time they are stand-ins that nothing asks for anything.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, Final, Generic, Literal, Protocol, Self, SupportsIndex, TypeVar, overload
else:

    class _SpecialForm:
        def __getitem__(self, parameters):
            return self

    class Generic:
        """A class with parameters: ``Generic[T]`` is an alias that a class statement takes for the class itself."""

        __slots__ = ()
        __class_getitem__ = classmethod(type(list[int]))

    Any = ClassVar = Final = Literal = Protocol = Self = SupportsIndex = _SpecialForm()

    def TypeVar(name, **constraints):  # noqa: N802 - as in typing
        """The name alone."""
        return name

    def overload(signature):
        """The function itself, which the next definition replaces."""
        return signature


__all__ = [
    "TYPE_CHECKING",
    "Any",
    "ClassVar",
    "Final",
    "Generic",
    "Literal",
    "Protocol",
    "Self",
    "SupportsIndex",
    "TypeVar",
    "overload",
]
