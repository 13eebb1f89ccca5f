"""Cases of ``tensor_runtime.ops.diagonals``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import nan
from typing import Any, Final

from tensor_core.dtypes import DTYPES, F64
from tensor_core.errors import ArgumentError, AxisError, ShapeError, TensorError
from tensor_core.host.tensor import HostTensor
from tensor_runtime.dispatch.dtype_rules import accumulator
from tensor_runtime.ops import diagonals
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.cases.creation import made_case
from tensor_runtime.testing.oracle import Host, Index, reduced, tabulated, whole_numbers

Pair = tuple[int, int]
_OFFSETS: Final = (0, 1, -1, 3, -9)
_MATRICES: Final[tuple[tuple[Index, Pair], ...]] = (
    ((4, 3), (0, 1)),
    ((2, 3, 4), (-1, 0)),
    ((3, 2, 3), (2, 1)),
    ((3, 0), (0, 1)),
    ((0, 2), (0, 1)),
)
_DIAGONALS: Final[tuple[tuple[Index, Pair], ...]] = (
    ((3,), (0, 1)),
    ((3,), (-1, 0)),
    ((2, 3), (0, 2)),
    ((2, 3), (2, 1)),
    ((2, 0), (0, 1)),
)


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for dtype in DTYPES:
        x = whole_numbers((3, 4), dtype)
        yield from _of_matrix(str(dtype), x, 1, (0, 1))
        yield _embedded(str(dtype), x, -1, (0, 1))
    for shape, axes in _MATRICES:
        for offset in _OFFSETS:
            yield from _of_matrix(f"{shape} {axes} offset {offset}", whole_numbers(shape, F64), offset, axes)
    for shape, axes in _DIAGONALS:
        for offset in (0, 2, -1):
            yield _embedded(f"{shape} {axes} offset {offset}", whole_numbers(shape, F64), offset, axes)
    blank = HostTensor.from_nested([[nan, 1.0], [2.0, nan]])
    yield from _of_matrix("NaN", blank, 0, (0, 1))
    x = whole_numbers((2, 3, 4), F64)
    yield from _refusals(x)
    yield from _eyes()


def _eyes() -> Iterator[Case]:
    for dtype in DTYPES:
        for rows, columns in ((2, 3), (3, 2), (0, 2)):
            label, shape = f"{dtype} {rows} x {columns}", (rows, columns)
            yield made_case(diagonals.eye, label, shape, {"dtype": dtype}, partial(_on_diagonal, 0), shape, dtype)
    for k in (-3, -1, 1, 2, 5):
        for shape in ((2, 3), (3, 3), (0, 2)):
            label = f"{k} of {shape[0]} x {shape[1]}"
            yield made_case(diagonals.eye, label, (*shape, k), {}, partial(_on_diagonal, k), shape, F64)
    yield made_case(diagonals.eye, "square", (2,), {}, partial(_on_diagonal, 0), (2, 2), F64)
    yield refused("eye", "negative extent", (), lambda place: diagonals.eye(-1, placement=place), ShapeError)


def _on_diagonal(k: int, index: Index) -> bool:
    return index[0] + k == index[1]


def _call(function: Callable[..., Any], *arguments: Any, **options: Any) -> Callable[..., Any]:
    return lambda x: function(x, *arguments, **options)


def diagonal(x: Host, offset: int, axes: Pair, /) -> Host:
    """The elements (i, i + offset) on two axes, the diagonal last.

    >>> diagonal(HostTensor.from_nested([[1, 2], [3, 4]]), 1, (0, 1)).to_nested()
    [2]
    """
    first, second = (axis % x.rank for axis in axes)
    pairs = [(i, i + offset) for i in range(x.shape[first]) if 0 <= i + offset < x.shape[second]]
    rest = [axis for axis in range(x.rank) if axis not in (first, second)]

    def rule(index: Index) -> Any:
        place = dict(zip(rest, index, strict=False))
        place[first], place[second] = pairs[index[-1]]
        return x[tuple(place[axis] for axis in range(x.rank))]

    return tabulated((*(x.shape[axis] for axis in rest), len(pairs)), x.dtype, rule)


def _of_matrix(label: str, x: Host, offset: int, axes: Pair) -> Iterator[Case]:
    taken = partial(diagonal, x, offset, axes)
    call = _call(diagonals.extract_diagonal, offset, axes)
    yield Case("extract_diagonal", label, (x,), call, taken, shares=True)
    dtype = accumulator(x.dtype)
    last = x.rank - 2
    yield Case(
        "trace",
        label,
        (x,),
        _call(diagonals.trace, offset, *axes),
        lambda: reduced(sum, dtype, taken(), (last,)),
    )
    rows, columns = (axis % x.rank for axis in axes)
    for name, keeps in (("tril", int.__le__), ("triu", int.__ge__)):

        def rule(index: Index, keeps: Callable[[int, int], bool] = keeps) -> Any:
            return x[index] if keeps(index[columns] - index[rows], offset) else 0

        yield Case(
            name,
            label,
            (x,),
            _call(getattr(diagonals, name), offset, axes=axes),
            partial(tabulated, x.shape, x.dtype, rule),
        )


def _embedded(label: str, x: Host, offset: int, axes: Pair) -> Case:
    first, second = (axis % (x.rank + 1) for axis in axes)
    shape = list(x.shape[:-1])
    for axis in sorted((first, second)):
        shape.insert(axis, x.shape[-1] + abs(offset))

    def rule(index: Index) -> Any:
        rest = tuple(i for axis, i in enumerate(index) if axis not in (first, second))
        if index[second] - index[first] != offset:
            return 0
        return x[(*rest, min(index[first], index[second]))]

    call = _call(diagonals.embed_diagonal, offset, axes)
    return Case("embed_diagonal", label, (x,), call, partial(tabulated, shape, x.dtype, rule))


def _refusals(x: Host) -> Iterator[Case]:
    vector, scalar = whole_numbers((3,), F64), whole_numbers((), F64)
    rows: tuple[tuple[str, str, Host, Callable[..., Any], type[TensorError]], ...] = (
        ("extract_diagonal", "one axis twice", x, _call(diagonals.extract_diagonal, 0, (0, -3)), AxisError),
        ("extract_diagonal", "one axis", x, _call(diagonals.extract_diagonal, 0, (0,)), ArgumentError),
        ("extract_diagonal", "rank 1", vector, diagonals.extract_diagonal, AxisError),
        ("embed_diagonal", "axis out of range", vector, _call(diagonals.embed_diagonal, 0, (0, 2)), AxisError),
        ("embed_diagonal", "rank 0", scalar, diagonals.embed_diagonal, ShapeError),
        ("trace", "rank 1", vector, diagonals.trace, AxisError),
        ("tril", "rank 1", vector, diagonals.tril, ShapeError),
        ("triu", "one axis twice", x, _call(diagonals.triu, axes=(1, 1)), AxisError),
    )
    for name, label, operand, call, error in rows:
        yield refused(name, label, (operand,), call, error)
