"""Cases of strict padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from tensor_core.dtypes import (
    DTYPES,
    F64,
    I64,
    DType,
)
from tensor_core.errors import (
    ArgumentError,
    DTypeError,
    ShapeError,
)
from tensor_runtime import primitives
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import (
    Host,
    Index,
    tabulated,
    whole_numbers,
)


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for dtype in DTYPES:
        yield _strict(str(dtype), whole_numbers((2, 3), dtype), whole_numbers((), dtype, 5), (1, -1), (0, 2), (1, 2))
    x, value = whole_numbers((4, 3), F64), whole_numbers((), F64, 7)
    for low, high, interior in (((-1, -2), (-1, 0), (0, 0)), ((-3, 2), (1, -4), (2, 1)), ((0, -3), (0, 0), (0, 0))):
        yield _strict(f"{low} {high} {interior}", x, value, low, high, interior)
    yield _strict("rank 0", value, value, (), (), ())
    yield _strict("nothing between nothing", whole_numbers((0, 1), F64), value, (1, 1), (0, 0), (3, 3))
    yield from _refusals(whole_numbers((3,), I64), whole_numbers((), I64))


def _strict(label: str, x: Host, value: Host, low: Sequence[int], high: Sequence[int], interior: Sequence[int]) -> Case:
    sides = list(zip(x.shape, low, high, interior, strict=True))
    shape = [before + n + max(n - 1, 0) * between + after for n, before, after, between in sides]

    def rule(index: Index) -> Any:
        place = []
        for i, (n, before, _, between) in zip(index, sides, strict=True):
            position, rest = divmod(i - before, between + 1)
            if rest or not 0 <= position < n:
                return value[()]
            place.append(position)
        return x[tuple(place)]

    def call(t: Any, v: Any) -> Any:
        return primitives.pad(t, v, low, high, interior)

    return Case("primitives.pad", label, (x, value), call, partial(tabulated, shape, x.dtype, rule))


def _refusals(x: Host, value: Host) -> Iterator[Case]:
    other: DType = F64
    for label, operands, arguments, error in (
        ("unequal dtypes", (x, whole_numbers((), other)), ((0,), (0,), (0,)), DTypeError),
        ("a value of rank 1", (x, x), ((0,), (0,), (0,)), ShapeError),
        ("a negative interior", (x, value), ((0,), (0,), (-1,)), ArgumentError),
        ("too few numbers", (x, value), ((), (0,), (0,)), ArgumentError),
        ("cropped too far", (x, value), ((-2,), (-2,), (0,)), ShapeError),
    ):

        def call(t: Any, v: Any, arguments: Any = arguments) -> Any:
            return primitives.pad(t, v, *arguments)

        yield refused("primitives.pad", label, operands, call, error)
