"""Cases of ``convert`` and ``cast``: all 49 pairs, every policy; the oracle is ``tensor_core.scalar_conversion``."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, nan
from typing import Any, Final, Literal

from tensor_core.dtypes import C32, C64, DTYPES, F32, F64, I32, I64, Bool, DType
from tensor_core.errors import ArgumentError, CastRangeError, LossyConversionError
from tensor_core.host.tensor import HostTensor
from tensor_core.promotion import can_convert
from tensor_core.scalar_conversion import cast_scalar, convert_scalar
from tensor_runtime.dispatch.conversion import OVERFLOW_POLICIES, cast, convert
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import Host

_FLOATS: Final = (0.0, -0.0, 1.9, -1.9, 2.5, 127.0, -3.5, 16777217.0)
_WILD: Final = (2147483648.0, -2147483649.0, 9.3e18, -9.3e18, 1e30, inf, -inf, nan, 1.0)
TAME: Final[dict[DType, tuple[Any, ...]]] = {
    Bool: (True, False),
    I32: (0, 1, -1, 16777217, 2**31 - 1, -(2**31)),
    I64: (0, 1, -1, 16777217, 2**31 - 1, -(2**31)),
    F32: _FLOATS,
    F64: _FLOATS,
    C32: tuple(complex(x, y) for x, y in zip(_FLOATS, reversed(_FLOATS), strict=True)),
    C64: tuple(complex(x, y) for x, y in zip(_FLOATS, reversed(_FLOATS), strict=True)),
}
"""Elements that every dtype holds after rounding and truncation."""
WILD: Final[dict[DType, tuple[Any, ...]]] = {
    I64: (2**31, -(2**31) - 1, 2**63 - 1, -(2**63), 2**53 + 1, 5),
    F32: _WILD,
    F64: (*_WILD, 1e300, 3.5e38, 2.0**-150),
    C32: tuple(complex(x, 1) for x in _WILD),
    C64: tuple(complex(x, -0.0) for x in _WILD),
}
"""Elements that some dtype does not hold."""


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for source in DTYPES:
        for target in DTYPES:
            yield _convert(source, target)
            yield from _casts(source, target)
    x = _flat(TAME[F64], F64)
    yield refused("cast", "no policy", (x,), lambda t: cast(t, I32, "clip"), ArgumentError)
    for shape in ((), (0, 3), (2, 2, 2)):
        host = HostTensor.from_flat((TAME[F64] * 1)[: _count(shape)], shape, F64)
        yield _cast(f"F64 to I64 {shape}", host, I64, "error")


def _count(shape: tuple[int, ...]) -> int:
    count = 1
    for extent in shape:
        count *= extent
    return count


def _flat(elements: tuple[Any, ...], dtype: DType) -> Host:
    return HostTensor.from_flat(elements, (len(elements),), dtype)


def _convert(source: DType, target: DType) -> Case:
    x = _flat((*TAME[source], *WILD.get(source, ())), source)
    if not can_convert(source, target):
        return refused("convert", f"{source} to {target}", (x,), lambda t: convert(t, target), LossyConversionError)
    return Case(
        "convert",
        f"{source} to {target}",
        (x,),
        lambda t: convert(t, target),
        lambda: _flat(tuple(convert_scalar(element, source, target) for element in x.to_flat()), target),
        shares=source is target,
    )


def _casts(source: DType, target: DType) -> Iterator[Case]:
    yield _cast(f"{source} to {target}", _flat(TAME[source], source), target, "error")
    if source not in WILD:
        return
    wild = _flat(WILD[source], source)
    for policy in OVERFLOW_POLICIES:
        label = f"{source} to {target}, {policy}"
        if policy == "error" and target in (I32, I64) and (source, target) != (I64, I64):
            yield refused("cast", label, (wild,), lambda t: cast(t, target, "error"), CastRangeError)
        elif policy == "error" or target in (I32, I64):
            yield _cast(label, wild, target, policy)


def _cast(label: str, x: Host, target: DType, policy: Literal["error", "saturate", "wrap"]) -> Case:
    return Case(
        "cast",
        label,
        (x,),
        lambda t: cast(t, target, policy),
        lambda: HostTensor.from_flat(
            [cast_scalar(element, x.dtype, target, policy) for element in x.to_flat()], x.shape, target
        ),
    )
