"""Cases of ``tensor_runtime.ops.from_function``: ``tabulate`` and ``from_function``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from tensor_core.dtypes import DTYPES, F64, I32, I64, DType
from tensor_core.errors import ArgumentError, CastRangeError, DTypeError, TensorError
from tensor_core.host.tensor import HostTensor
from tensor_runtime.ops.from_function import from_function, tabulate
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import Host, tabulated, whole_numbers


def cases() -> Iterator[Case]:
    """Every case of the family."""
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


def _table(numbers: Sequence[Any], dtype: DType, place: Any) -> Any:
    return tabulate(len(numbers), numbers.__getitem__, dtype=dtype, placement=place)


def _half(i: int) -> float:
    return i / 2


def _halves() -> Host:
    return tabulated((3,), F64, lambda index: index[0] / 2)


def _seven() -> Host:
    return tabulated((), I64, lambda index: 7)


def _refusals() -> Iterator[Case]:
    rows: tuple[tuple[str, str, Callable[..., Any], type[TensorError]], ...] = (
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
