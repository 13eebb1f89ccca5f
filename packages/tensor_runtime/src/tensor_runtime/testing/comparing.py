"""Comparison of host tensors bit for bit, or within rounding units.

Nothing here raises: each function says in words what differs, or gives None.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import copysign, inf, isfinite, isnan
from typing import Any, Final

from tensor_core.dtypes import F32, F64, DType
from tensor_core.shapes import unravel_index
from tensor_runtime.testing.oracle import Host

UNITS: Final[dict[DType, float]] = {F32: 2.0**-23, F64: 2.0**-52}
"""Distance from 1 to the next larger number, by the type of a component."""


def difference(found: Host, expected: Host, ulps: int = 0, /) -> str | None:
    """What differs between two tensors, dtype and shape included.

    Args:
        found: the result.
        expected: by an oracle.
        ulps: 0 compares bits, where any NaN equals any NaN; else rounding units of the dtype, relative to the largest
            finite element expected, while NaN and infinities must still be where they belong.

    >>> from tensor_core import HostTensor
    >>> x, y = HostTensor.from_nested([1.0, 0.0]), HostTensor.from_nested([1.0, -0.0])
    >>> difference(x, y), difference(x, x), difference(x, y, 1)
    ('element (1,) is 0.0, expected -0.0', None, None)
    """
    if found.dtype is not expected.dtype:
        return f"dtype is {found.dtype}, expected {expected.dtype}"
    if found.shape != expected.shape:
        return f"shape is {found.shape}, expected {expected.shape}"
    if found.tobytes() == expected.tobytes():
        return None
    bound = 0.0
    if ulps:
        largest = max(
            (abs(part) for value in expected.to_flat() for part in _parts(value) if isfinite(part)), default=0.0
        )
        bound = ulps * UNITS.get(expected.dtype.component, 0.0) * largest
    for position, (x, y) in enumerate(zip(found.to_flat(), expected.to_flat(), strict=True)):
        if not all(_close(p, q, bound, ulps) for p, q in zip(_parts(x), _parts(y), strict=True)):
            within = f" within {bound:.3g}" if ulps else ""
            return f"element {unravel_index(position, found.shape, order='F')} is {x!r}, expected {y!r}{within}"
    return None


def inverted(host: Host, /) -> Host:
    """A tensor of which every element differs from the same one of ``host``.

    >>> from tensor_core import HostTensor
    >>> inverted(HostTensor.from_nested([True, False])).to_nested()
    [False, True]
    """
    from tensor_core.dtypes import Bool
    from tensor_core.host.tensor import HostTensor

    mask = 1 if host.dtype is Bool else 255
    return HostTensor.wrap_bytes(bytearray(byte ^ mask for byte in host.tobytes()), host.shape, host.dtype)


def _close(found: float, expected: float, bound: float, ulps: int) -> bool:
    if isnan(expected) or isnan(found):
        return isnan(expected) and isnan(found)
    if not ulps:
        return found == expected and copysign(1, found) == copysign(1, expected)
    if abs(expected) == inf or abs(found) == inf:
        return found == expected
    return abs(found - expected) <= bound


def _parts(value: Any) -> Iterable[float]:
    return (value.real, value.imag) if isinstance(value, complex) else (value,)
