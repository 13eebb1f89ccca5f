"""Cases of ``linspace``, inclusive ``arange``, ``tabulate`` and ``from_function``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from tensor_core.dtypes import C64, DTYPES, F64, FLOATING, I32, I64, DType
from tensor_core.errors import ArgumentError, CastRangeError, DTypeError, TensorError
from tensor_core.host.tensor import HostTensor
from tensor_runtime.ops.creation import arange, linspace
from tensor_runtime.ops.from_function import from_function, tabulate
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import Host, Index, tabulated, whole_numbers


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for dtype in sorted(FLOATING, key=str):
        yield _spaced(f"{dtype}", 0, 1, 5, True, dtype)
    yield _spaced("complex ends", 1j, 4 - 2j, 4, True, C64)
    for count, endpoint in ((0, True), (1, True), (2, True), (50, True), (4, False), (1, False), (0, False)):
        yield _spaced(f"{count}{'' if endpoint else ' without the end'}", 2.0, -6, count, endpoint, F64)
    for arguments, numbers in (((5,), range(6)), ((2, 8, 3), (2, 5, 8)), ((5, -4, -4), (5, 1, -3)), ((3, 1), ())):
        call = partial(_inclusive, arguments)
        yield Case(
            "arange", f"inclusive {arguments}", (), call, partial(HostTensor.from_flat, numbers, (len(numbers),), I64)
        )
    for dtype in DTYPES:
        x = whole_numbers((2, 3), dtype)

        def element(i: int, j: int, x: Host = x) -> Any:
            return x[i, j]

        yield Case(
            "from_function",
            str(dtype),
            (),
            lambda place, element=element, dtype=dtype: from_function((2, 3), element, dtype=dtype, placement=place),
            x.copy,
        )
        yield Case(
            "tabulate",
            str(dtype),
            (),
            partial(_table, x.to_flat(), dtype),
            partial(HostTensor.from_flat, x.to_flat(), (6,), dtype),
        )
    yield Case("tabulate", "natural dtype", (), lambda place: tabulate(3, _half, placement=place), _halves)
    yield Case("from_function", "rank 0", (), lambda place: from_function((), lambda: 7, placement=place), _seven)
    yield from _refusals()


def _inclusive(arguments: tuple[int, ...], place: Any) -> Any:
    return arange(*arguments, inclusive=True, placement=place)


def _table(numbers: Sequence[Any], dtype: DType, place: Any) -> Any:
    return tabulate(len(numbers), numbers.__getitem__, dtype=dtype, placement=place)


def _half(i: int) -> float:
    return i / 2


def _halves() -> Host:
    return tabulated((3,), F64, lambda index: index[0] / 2)


def _seven() -> Host:
    return tabulated((), I64, lambda index: 7)


def _spaced(label: str, start: complex, stop: complex, count: int, endpoint: bool, dtype: Any) -> Case:
    def rule(index: Index) -> Any:
        if endpoint and index[0] == count - 1 > 0:
            return stop
        return index[0] * ((stop - start) / max(count - 1 if endpoint else count, 1)) + start

    def call(place: Any) -> Any:
        return linspace(start, stop, count, endpoint=endpoint, dtype=dtype, placement=place)

    return Case("linspace", label, (), call, partial(tabulated, (count,), dtype, rule), ulps=1)


def _refusals() -> Iterator[Case]:
    rows: tuple[tuple[str, str, Callable[..., Any], type[TensorError]], ...] = (
        ("linspace", "I64", lambda place: linspace(0, 1, dtype=I64, placement=place), DTypeError),
        ("linspace", "real of complex", lambda place: linspace(0, 1j, dtype=F64, placement=place), DTypeError),
        ("linspace", "negative count", lambda place: linspace(0, 1, -1, placement=place), ArgumentError),
        ("linspace", "infinite", lambda place: linspace(0, float("inf"), placement=place), ArgumentError),
        ("tabulate", "negative extent", lambda place: tabulate(-1, _half, placement=place), ArgumentError),
        ("tabulate", "no dtype", lambda place: tabulate(0, _half, placement=place), ArgumentError),
        ("tabulate", "no numbers", lambda place: tabulate(1, str, placement=place), DTypeError),  # type: ignore[arg-type]
        (
            "tabulate",
            "out of range",
            lambda place: tabulate(1, lambda i: 2**31, dtype=I32, placement=place),
            CastRangeError,
        ),
        (
            "from_function",
            "two kinds",
            lambda place: from_function(2, lambda i: i or 0.5, placement=place),
            DTypeError,
        ),
    )
    for name, label, call, error in rows:
        yield refused(name, label, (), call, error)
