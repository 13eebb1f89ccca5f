"""Comparison of what a launch left in memory with what its program means."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpu_programs.recording import Noted
from tensor_core.dtypes import DType

Array = np.ndarray[Any, Any]


def difference(noted: Noted, left: tuple[bytes, ...], /) -> str | None:
    """What differs between the memory that a launch left and the one that it should leave; None if nothing does."""
    for number, ((_, expected), found, dtype) in enumerate(zip(noted.after, left, noted.dtypes, strict=True)):
        if found == expected:
            continue
        what = f"allocation {number} of {noted.launch.program!r}{noted.launch.arguments}"
        if dtype is None:
            return f"{what}: changed, and the meaning does not look at it"
        differs = difference_of_elements(expected, found, dtype, noted.ulps)
        if differs is not None:
            return f"{what}: {differs}"
    return None


def difference_of_elements(expected: bytes, found: bytes, dtype: DType, ulps: int, /) -> str | None:
    """The first element that differs by more than ``ulps`` rounding units, of a complex one those of its magnitude.

    Zeros have signs, infinities too, and whatever is no number equals whatever is none.

    >>> from tensor_core import F32
    >>> one, next_one = (np.array([x], np.float32).tobytes() for x in (1.0, 1.0000001))
    >>> difference_of_elements(one, next_one, F32, 1)
    >>> difference_of_elements(one, next_one, F32, 0)
    'element 0 is 1.0000001192092896, expected 1.0'
    """
    count = len(expected) // dtype.itemsize
    x, y = (np.frombuffer(data, dtype.numpy_name, count) for data in (expected, found))
    if dtype.kind not in ("float", "complex"):
        wrong = x != y
    elif dtype.kind == "float":
        wrong = ~_close(x, y, np.abs(x), ulps)
    else:
        size = np.maximum(np.abs(x.real), np.abs(x.imag))
        wrong = ~(_close(x.real, y.real, size, ulps) & _close(x.imag, y.imag, size, ulps))
        if ulps:  # beside a part that is no number, the sign of the other one is left open by the C standard
            wrong &= ~(_open_sign(x.real, y.real, x.imag, y.imag) | _open_sign(x.imag, y.imag, x.real, y.real))
    if not wrong.any():
        return None
    first = int(wrong.argmax())
    return f"element {first} is {y[first]}, expected {x[first]}"


def _close(x: Array, y: Array, size: Array, ulps: int) -> Array:
    with np.errstate(all="ignore"):
        same: Array = ((x == y) & ((x != 0) | (np.signbit(x) == np.signbit(y)))) | (np.isnan(x) & np.isnan(y))
        if ulps:
            facts = np.finfo(x.dtype)
            bound = ulps * np.maximum(size * facts.eps, facts.smallest_subnormal)
            same |= np.isfinite(x) & np.isfinite(y) & ((x != 0) | (y != 0)) & (np.abs(x - y) <= bound)
    return same


def _open_sign(x: Array, y: Array, other: Array, another: Array) -> Array:
    found: Array = np.isnan(x) & np.isnan(y) & (np.abs(other) == np.abs(another))
    return found
