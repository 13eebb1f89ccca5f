"""Ctrl-C in iterations whose products are iterations themselves: the inner one and the outer one both stop.

An iteration that Ctrl-C stops returns its best so far. Where it is called by the function that another one was given,
as ``eigsh`` is given ``minres`` for its inverse, nobody may look at what it says of that; so it tells the outer one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import tensor_runtime as tr


def called(function: Callable[[tr.Tensor], Any], x: tr.Tensor, /) -> Any:
    """What a caller's function gives.

    Raises:
        KeyboardInterrupt: Ctrl-C stopped an iteration within it.

    >>> called(lambda x: x.shape, tr.ones(2))
    (2,)
    """
    stopped = list[bool]()
    try:
        return function(x)
    finally:
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
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not called.__code__:
        frame = frame.f_back
    if frame is not None:
        frame.f_locals["stopped"].append(True)
    return True
