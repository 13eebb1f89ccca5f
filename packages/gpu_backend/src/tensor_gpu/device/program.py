"""A program: a kernel of ours for devices, and what it means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Final, ParamSpec, Protocol

from tensor_core.dtypes import DType

Argument = int | float
"""Of a launch: an address, an int or a float; each takes eight bytes."""


class HostMemory(Protocol):
    """Memory that a meaning reads and writes, by the addresses that the program is given."""

    def view(self, address: int, dtype: DType, shape: Sequence[int], strides: Sequence[int], /) -> Any:
        """A NumPy array of the elements from an address on; strides count elements."""
        ...


Flops = Callable[[tuple[Argument, ...]], int]
"""How many operations on elements a launch takes, given its arguments."""
Meaning = Callable[[HostMemory, tuple[Argument, ...]], None]
"""Does to memory what one run of the program does, given the arguments of the launch."""


class Program:
    """Source text with one entry, and what a run of it does.

    The entry is a ``__global__`` function in C++ for CUDA, of ``extern "C"`` linkage; each parameter is a pointer, a
    ``long long`` or a ``double``. The meaning is told on the host by kernels that are tested without a device; that the
    source does the same is tested by itself. Programs compare by identity, so each is made once. One that computes
    with elements may say how many operations that is; simulated devices count them.
    """

    __slots__ = ("__weakref__", "entry", "flops", "meaning", "source")

    def __init__(self, entry: str, source: str, meaning: Meaning, flops: Flops | None = None) -> None:
        self.entry = entry
        self.source = source
        self.meaning = meaning
        self.flops = flops

    def __sizeof__(self) -> int:
        """By itself: its text is kept by the table of all that were made."""
        return object.__sizeof__(self)

    def __repr__(self) -> str:
        return f"Program({self.entry!r})"


_P = ParamSpec("_P")
_MADE: Final[dict[tuple[Any, ...], Program]] = {}
_MOST: Final = 1024


def made_once(make: Callable[_P, Program], /) -> Callable[_P, Program]:
    """The same function, which gives the program that it has made before for the same arguments.

    >>> @made_once
    ... def nothing(dtype):
    ...     return Program("nothing", "", lambda memory, arguments: None)
    >>> nothing(1) is nothing(1), nothing(1) is nothing(2)
    (True, False)
    """

    @wraps(make)
    def found(*args: _P.args, **kwargs: _P.kwargs) -> Program:
        key = (make, args, *kwargs.items())
        program = _MADE.get(key)
        if program is None:
            if len(_MADE) >= _MOST:
                _MADE.clear()
            program = _MADE.setdefault(key, make(*args, **kwargs))
        return program

    return found
