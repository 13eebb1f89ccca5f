"""Cases of ``tensor_runtime.ops.creation``: tensors from a rule or from Python values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from tensor_core.dtypes import C64, DTYPES, F32, F64, FLOATING, I32, I64, DType
from tensor_core.errors import ArgumentError, CastRangeError, DTypeError, ShapeError, SliceError, TensorError
from tensor_core.host.tensor import HostTensor
from tensor_runtime.ops import creation, diagonals, ranges
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import Index, tabulated, whole_numbers


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for dtype in DTYPES:
        for shape in ((), (3,), (0, 2), (2, 3)):
            label = f"{dtype} {shape}"
            yield _case("zeros", label, (shape,), {"dtype": dtype}, partial(_always, 0), shape, dtype)
            yield _case("ones", label, (shape,), {"dtype": dtype}, partial(_always, 1), shape, dtype)
        value = {"bool": True, "int": -7, "float": -0.5, "complex": 2 - 1j}[dtype.kind]
        yield _case("full", str(dtype), ((2, 2), value), {"dtype": dtype}, partial(_always, value), (2, 2), dtype)
        for rows, columns in ((2, 3), (3, 2), (0, 2)):
            yield _case(
                "eye",
                f"{dtype} {rows} x {columns}",
                (rows, columns),
                {"dtype": dtype},
                _identity,
                (rows, columns),
                dtype,
            )
    for k in (-3, -1, 1, 2, 5):
        for rows, columns in ((2, 3), (3, 3), (0, 2)):
            wanted = partial(_on_diagonal, k)
            yield _case("eye", f"{k} of {rows} x {columns}", (rows, columns, k), {}, wanted, (rows, columns), F64)
    yield _case("eye", "square", (2,), {}, _identity, (2, 2), F64)
    yield _case("full", "a negative zero", ((2,), -0.0), {}, partial(_always, -0.0), (2,), F64)
    for arguments, extent in (((5,), 5), ((2, 8, 3), 2), ((5, -5, -4), 3), ((3, 3), 0), ((3, 1), 0)):
        for dtype in (I32, I64, F32, F64):
            start, step = (0, 1) if len(arguments) == 1 else (arguments[0], (*arguments, 1)[2])
            yield _case(
                "arange",
                f"{dtype} {arguments}",
                arguments,
                {"dtype": dtype},
                partial(_spaced, start, step),
                (extent,),
                dtype,
            )
    yield _case("arange", "halves", (0.5, 2.5, 0.5), {}, partial(_spaced, 0.5, 0.5), (4,), F64)
    for dtype in DTYPES:
        matrix = whole_numbers((2, 2), dtype)
        yield _case(
            "tensor", f"nested {dtype}", (matrix.to_nested(),), {"dtype": dtype}, matrix.__getitem__, (2, 2), dtype
        )
        for order in ("F", "C"):
            flat = matrix.to_flat(order=order)
            options = {"dtype": dtype, "order": order}
            yield _case("from_flat", f"{dtype} {order}", (flat, (2, 2)), options, matrix.__getitem__, (2, 2), dtype)
    yield _case("tensor", "natural dtype", ([1, 2.5],), {}, lambda index: [1.0, 2.5][index[0]], (2,), F64)
    for dtype in sorted(FLOATING, key=str):
        yield _linspace(f"{dtype}", 0, 1, 5, True, dtype)
    yield _linspace("complex ends", 1j, 4 - 2j, 4, True, C64)
    for count, endpoint in ((0, True), (1, True), (2, True), (50, True), (4, False), (1, False), (0, False)):
        yield _linspace(f"{count}{'' if endpoint else ' without the end'}", 2.0, -6, count, endpoint, F64)
    for arguments, numbers in (((5,), range(6)), ((2, 8, 3), (2, 5, 8)), ((5, -4, -4), (5, 1, -3)), ((3, 1), ())):
        call = partial(_inclusive, arguments)
        yield Case(
            "arange", f"inclusive {arguments}", (), call, partial(HostTensor.from_flat, numbers, (len(numbers),), I64)
        )
    yield from _refusals()


def _on_diagonal(k: int, index: Index) -> int:
    return int(index[0] + k == index[1])


def _identity(index: Index) -> bool:
    return index[0] == index[1]


def _always(value: Any, index: Index) -> Any:
    return value


def _spaced(start: float, step: float, index: Index) -> float:
    return start + index[0] * step


def _case(
    name: str,
    label: str,
    arguments: tuple[Any, ...],
    options: dict[str, Any],
    rule: Callable[[Index], Any],
    shape: tuple[int, ...],
    dtype: DType,
) -> Case:
    modules = {"eye": diagonals, "arange": ranges, "linspace": ranges}
    function = getattr(modules.get(name, creation), name)
    return Case(
        name,
        label,
        (),
        lambda place: function(*arguments, **options, placement=place),
        lambda: tabulated(shape, dtype, rule),
    )


def _refusals() -> Iterator[Case]:
    rows: tuple[tuple[str, str, Callable[..., Any], type[TensorError]], ...] = (
        ("zeros", "negative extent", lambda place: creation.zeros((-1,), placement=place), ShapeError),
        ("ones", "no dtype", lambda place: creation.ones(2, dtype="F16", placement=place), DTypeError),
        ("full", "out of range", lambda place: creation.full(2, 2**31, dtype=I32, placement=place), CastRangeError),
        ("full", "float into I64", lambda place: creation.full(2, 0.5, dtype=I64, placement=place), DTypeError),
        ("eye", "negative extent", lambda place: diagonals.eye(-1, placement=place), ShapeError),
        ("linspace", "I64", lambda place: ranges.linspace(0, 1, dtype=I64, placement=place), DTypeError),
        ("linspace", "real of complex", lambda place: ranges.linspace(0, 1j, dtype=F64, placement=place), DTypeError),
        ("linspace", "negative count", lambda place: ranges.linspace(0, 1, -1, placement=place), ArgumentError),
        ("linspace", "infinite", lambda place: ranges.linspace(0, float("inf"), placement=place), ArgumentError),
        ("arange", "step of 0", lambda place: ranges.arange(0, 5, 0, placement=place), SliceError),
        ("tensor", "ragged", lambda place: creation.tensor([[1], [1, 2]], placement=place), ShapeError),
        ("from_flat", "another size", lambda place: creation.from_flat([1], (2,), placement=place), ShapeError),
    )
    for name, label, call, error in rows:
        yield refused(name, label, (), call, error)


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
