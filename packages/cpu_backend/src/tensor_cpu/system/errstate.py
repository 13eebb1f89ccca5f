"""Calls that never warn, whatever the user's ``np.seterr`` says.

NumPy keeps its floating-point error state in a context variable. A call inside a context whose error state ignores
everything costs 80 to 110 ns more than the bare call; ``np.errstate`` would cost ten times that. A context cannot be
entered twice at once, so each call enters a copy of its own (copying is O(1)), except that a bare ufunc keeps one
context and makes a copy only when that is entered already: by another thread, or by a call during which a garbage
collection ran something that calls it again.

The allocator of NumPy's arrays is a context variable too. So what NumPy's functions make inside these contexts lies in
cached buffers (``tensor_cpu.system.memory``), and nothing else that the user does with NumPy is touched.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextvars import Context
from typing import Any, Final

import numpy as np

from tensor_cpu.system.extension import AVAILABLE, LIBRARY

IGNORING_FP_ERRORS: Final = Context()
"""A context whose NumPy error state ignores everything; enter copies of it only."""
IGNORING_FP_ERRORS.run(np.seterr, all="ignore")
if AVAILABLE:
    IGNORING_FP_ERRORS.run(LIBRARY.use_caching_allocator)
_ONE_AT_A_TIME: Final[bool] = getattr(sys, "_is_gil_enabled", lambda: True)()
"""Whether entering a context is safe from races between threads; on a free-threaded Python it is not."""


def ignoring_fp_errors(function: Callable[..., Any], /) -> Callable[..., Any]:
    """The same function of positional arguments, run where floating-point errors are ignored.

    >>> float(ignoring_fp_errors(np.multiply)(np.float64(1e308), 10.0))
    inf
    """
    copy = IGNORING_FP_ERRORS.copy
    if _ONE_AT_A_TIME and isinstance(function, np.ufunc) and function.nin == 2:
        return _reusing_one_context(function)
    match _arity(function):
        case 1:
            return lambda x: copy().run(function, x)
        case 2:
            return lambda x, y: copy().run(function, x, y)
        case 3:
            return lambda x, y, z: copy().run(function, x, y, z)
        case _:  # an argument tuple costs 200 ns more
            return lambda *arguments: copy().run(function, *arguments)


def _reusing_one_context(ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    """25 ns less than entering a copy, 4 % of a small addition."""
    copy, run = IGNORING_FP_ERRORS.copy, IGNORING_FP_ERRORS.copy().run

    def call(x: Any, y: Any) -> Any:
        try:
            return run(ufunc, x, y)
        except RuntimeError:  # entered already
            return copy().run(ufunc, x, y)

    return call


def _arity(function: Callable[..., Any]) -> int | None:
    """Number of arguments of a ufunc or a Python function; None if it may vary."""
    if isinstance(function, np.ufunc):
        return function.nin
    code = getattr(function, "__code__", None)
    return None if code is None or code.co_flags & 0x04 else code.co_argcount  # 0x04: takes *arguments
