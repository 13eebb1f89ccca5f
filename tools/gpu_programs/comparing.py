"""Comparison of what a launch left in memory with what its program means."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from gpu_programs.recording import Noted
from tensor_core.dtypes import DType

Array = np.ndarray[Any, Any]

SUMS: Final = frozenset({"sum_of_products", "tiled_products", "fold"})
"""Entries of programs whose order of operations is open."""


def difference(noted: Noted, left: tuple[bytes, ...], /) -> str | None:
    """What differs between the memory that a launch left and the one that it should leave; None if nothing does."""
    for number, ((_, expected), found, dtype) in enumerate(zip(noted.after, left, noted.dtypes, strict=True)):
        if found == expected:
            continue
        what = f"allocation {number} of {noted.launch.program!r}{noted.launch.arguments}"
        if dtype is None:
            return f"{what}: changed, and the meaning does not look at it"
        differs = difference_of_elements(expected, found, dtype, noted.ulps, _slack(noted, number))
        if differs is not None:
            return f"{what}: {differs}"
    return None


def _slack(noted: Noted, target: int) -> float | None:
    """By what sums may differ whose order is open, and results of terms that cancel.

    Of sums, rounding units of the largest term, times how many there are; of the others, those of 1.
    """
    result = noted.dtypes[target]
    if noted.cancels and result is not None:
        return noted.ulps * float(np.finfo(result.component.numpy_name).eps)
    if noted.launch.program.entry not in SUMS:
        return None
    largest, terms, units = 1.0, 1, 0.0
    for number, ((_, data), dtype) in enumerate(zip(noted.after, noted.dtypes, strict=True)):
        if number == target or dtype is None or dtype.kind not in ("float", "complex"):
            continue
        elements = np.abs(np.frombuffer(data, dtype.numpy_name, len(data) // dtype.itemsize))
        finite = elements[np.isfinite(elements)]
        largest *= float(finite.max(initial=0))
        terms = max(terms, elements.size)
        units = max(units, float(np.finfo(dtype.component.numpy_name).eps))
    return largest * terms * units


def difference_of_elements(
    expected: bytes, found: bytes, dtype: DType, ulps: int, slack: float | None = None, /
) -> str | None:
    """The first element that differs by more than ``ulps`` rounding units, of a complex one those of its magnitude.

    Zeros have signs, infinities too, and whatever is no number equals whatever is none. With ``slack``, elements may
    differ by so much as well, and the sign of a zero is open.

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
    if slack is not None and dtype.kind in ("float", "complex"):
        with np.errstate(all="ignore"):
            wrong &= ~(np.isfinite(x) & np.isfinite(y) & (np.abs(x - y) <= slack))
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
