"""Cases of ``tensor_runtime.ops.padding``: only places of elements change, so the bits are exact."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from tensor_core.dtypes import DTYPES, F64, I32, I64
from tensor_core.errors import ArgumentError, CastRangeError, DTypeError, TensorError
from tensor_runtime.ops.padding import pad
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import Host, Index, tabulated, whole_numbers


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for dtype in DTYPES:
        yield from _padded(str(dtype), whole_numbers((2, 3), dtype), ((1, 2), (0, 1)))
    for shape in ((), (3,), (2, 3), (2, 3, 2)):
        yield from _padded(f"{shape}", whole_numbers(shape, F64), [(axis, 2 - axis % 3) for axis in range(len(shape))])
    yield from _refusals()


def _call(function: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    return lambda x: function(x, *arguments)


def _padded(label: str, x: Host, widths: Sequence[tuple[int, int]]) -> Iterator[Case]:
    shape = [low + n + high for n, (low, high) in zip(x.shape, widths, strict=True)]
    value: Any = {"bool": True, "int": -7, "float": -0.5, "complex": 2 - 1j}[x.dtype.kind]

    def source(index: Index) -> Index:
        return tuple(i - low for i, (low, _) in zip(index, widths, strict=True))

    def constant(index: Index, outside: Any = 0) -> Any:
        place = source(index)
        return x[place] if all(0 <= i < n for i, n in zip(place, x.shape, strict=True)) else outside

    def edge(index: Index) -> Any:
        return x[tuple(min(max(i, 0), n - 1) for i, n in zip(source(index), x.shape, strict=True))]

    pairs = tuple(widths) or 0
    yield Case("pad", f"{label} zeros", (x,), _call(pad, pairs), partial(tabulated, shape, x.dtype, constant))
    yield Case(
        "pad",
        f"{label} {value}",
        (x,),
        lambda t: pad(t, pairs, constant_values=value),
        partial(tabulated, shape, x.dtype, partial(constant, outside=value)),
    )
    yield Case("pad", f"{label} edges", (x,), _call(pad, pairs, "edge"), partial(tabulated, shape, x.dtype, edge))


def _refusals() -> Iterator[Case]:
    vector = whole_numbers((3,), I64)
    rows: tuple[tuple[str, str, Host, Callable[..., Any], type[TensorError]], ...] = (
        ("pad", "a negative width", vector, _call(pad, -1), ArgumentError),
        ("pad", "another mode", vector, _call(pad, 1, "wrap"), ArgumentError),
        ("pad", "float into I64", vector, lambda t: pad(t, 1, constant_values=0.5), DTypeError),
        ("pad", "out of range", whole_numbers((3,), I32), lambda t: pad(t, 1, constant_values=2**31), CastRangeError),
        ("pad", "edges of nothing", whole_numbers((0,), F64), _call(pad, 1, "edge"), ArgumentError),
    )
    for name, label, operand, call, error in rows:
        yield refused(name, label, (operand,), call, error)
