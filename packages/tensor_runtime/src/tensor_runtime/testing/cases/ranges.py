"""Cases of ``arange`` and ``linspace``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from tensor_core.dtypes import C64, F32, F64, FLOATING, I32, I64
from tensor_core.errors import ArgumentError, DTypeError, SliceError, TensorError
from tensor_core.host.tensor import HostTensor
from tensor_runtime.ops import ranges
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.cases.creation import made_case
from tensor_runtime.testing.oracle import Index, tabulated


def cases() -> Iterator[Case]:
    """Numbers at equal distances, with and without their end, and steps and ends that are refused."""
    for arguments, extent in (((5,), 5), ((2, 8, 3), 2), ((5, -5, -4), 3), ((3, 3), 0), ((3, 1), 0)):
        for dtype in (I32, I64, F32, F64):
            start, step = (0, 1) if len(arguments) == 1 else (arguments[0], (*arguments, 1)[2])
            yield made_case(
                ranges.arange,
                f"{dtype} {arguments}",
                arguments,
                {"dtype": dtype},
                partial(_spaced, start, step),
                (extent,),
                dtype,
            )
    yield made_case(ranges.arange, "halves", (0.5, 2.5, 0.5), {}, partial(_spaced, 0.5, 0.5), (4,), F64)
    for floating in sorted(FLOATING, key=str):
        yield _linspace(f"{floating}", 0, 1, 5, True, floating)
    yield _linspace("complex ends", 1j, 4 - 2j, 4, True, C64)
    for count, endpoint in ((0, True), (1, True), (2, True), (50, True), (4, False), (1, False), (0, False)):
        yield _linspace(f"{count}{'' if endpoint else ' without the end'}", 2.0, -6, count, endpoint, F64)
    for arguments, numbers in (((5,), range(6)), ((2, 8, 3), (2, 5, 8)), ((5, -4, -4), (5, 1, -3)), ((3, 1), ())):
        inclusive = partial(_inclusive, arguments)
        yield Case(
            "arange",
            f"inclusive {arguments}",
            (),
            inclusive,
            partial(HostTensor.from_flat, numbers, (len(numbers),), I64),
        )
    rows: tuple[tuple[str, str, Callable[..., Any], type[TensorError]], ...] = (
        ("linspace", "I64", lambda place: ranges.linspace(0, 1, dtype=I64, placement=place), DTypeError),
        ("linspace", "real of complex", lambda place: ranges.linspace(0, 1j, dtype=F64, placement=place), DTypeError),
        ("linspace", "negative count", lambda place: ranges.linspace(0, 1, -1, placement=place), ArgumentError),
        ("linspace", "infinite", lambda place: ranges.linspace(0, float("inf"), placement=place), ArgumentError),
        ("arange", "step of 0", lambda place: ranges.arange(0, 5, 0, placement=place), SliceError),
    )
    for name, label, call, error in rows:
        yield refused(name, label, (), call, error)


def _spaced(start: float, step: float, index: Index) -> float:
    return start + index[0] * step


def _inclusive(arguments: tuple[int, ...], place: Any) -> Any:
    return ranges.arange(*arguments, inclusive=True, placement=place)


def _linspace(label: str, start: complex, stop: complex, count: int, endpoint: bool, dtype: Any) -> Case:
    def rule(index: Index) -> Any:
        if endpoint and index[0] == count - 1 > 0:
            return stop
        return index[0] * ((stop - start) / max(count - 1 if endpoint else count, 1)) + start

    def call(place: Any) -> Any:
        return ranges.linspace(start, stop, count, endpoint=endpoint, dtype=dtype, placement=place)

    return Case("linspace", label, (), call, partial(tabulated, (count,), dtype, rule), ulps=1)
