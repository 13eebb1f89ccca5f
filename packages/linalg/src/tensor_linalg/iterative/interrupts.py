"""Ctrl-C in iterations whose products are iterations themselves: the inner one and the outer one both stop.

An iteration that Ctrl-C stops returns its best so far. Where it is called by the function that another one was given,
as ``eigsh`` is given ``minres`` for its inverse, nobody may look at what it says of that; so it tells the outer one.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final, TypeVar

import tensor_runtime as tr

R = TypeVar("R")
_STOPPED: Final[ContextVar[list[bool] | None]] = ContextVar("tensor_linalg_stopped_within", default=None)
"""Of the innermost call of a caller's function: not empty once Ctrl-C has stopped an iteration within it."""


def called(function: Callable[[tr.Tensor], Any], x: tr.Tensor, /) -> Any:
    """What a caller's function gives.

    Raises:
        KeyboardInterrupt: Ctrl-C stopped an iteration within it.

    >>> called(lambda x: x.shape, tr.ones(2))
    (2,)
    """
    stopped: list[bool] = []
    former = _STOPPED.set(stopped)
    try:
        return function(x)
    finally:
        _STOPPED.reset(former)
        if stopped:  # what the function makes of less than it asked for may be an error
            raise KeyboardInterrupt


def taken(products: int = 1, /) -> bool:
    """True: an iteration stops for the Ctrl-C that it handles, and the innermost :func:`called` around it raises it.

    Raises:
        KeyboardInterrupt: no product was made, so that there is nothing to return.

    >>> taken()
    True
    """
    if not products:
        raise  # noqa: PLE0704
    around = _STOPPED.get()
    if around is not None:
        around.append(True)
    return True


def ended(last: Callable[[bool], R], interrupted: bool = False, /) -> R:
    """What an iteration returns after its last product, which is made again where Ctrl-C cuts it short.

    Args:
        last: makes it, of nothing that it changes itself; given whether Ctrl-C came.
        interrupted: whether it came before.

    >>> ended(lambda interrupted: interrupted)
    False
    """
    try:
        return last(interrupted)
    except KeyboardInterrupt:
        return last(taken())
