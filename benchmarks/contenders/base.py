"""What an adapter hands to the worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.drawing import Array


class NotOfferedError(Exception):
    """The library has no such operation; its row says so."""


class Prepared(NamedTuple):
    """An operation bound to its operands, everything that is done once behind it.

    ``run`` is timed and returns the native result, finished; ``read`` turns a native result into row-major arrays that
    can be compared with the reference.
    """

    run: Callable[[], Any]
    read: Callable[[Any], Sequence[Any]]
    compile_seconds: float | None = None


Prepare = Callable[[Mapping[str, Any], list[Array]], Prepared]
Operations = Mapping[str, Prepare]
"""By name of the operation."""


def as_function(expression: str, names: Mapping[str, Any], count: int) -> Callable[..., Any]:
    """The function of x, y and z that an expression of a row stands for, with a library's own ``exp`` and ``sin``.

    >>> as_function("exp(x) + y", {"exp": abs}, 2)(-2, 3)
    5
    """
    source = f"lambda {', '.join('xyz'[:count])}: {expression}"
    function: Callable[..., Any] = eval(source, dict(names))
    return function
