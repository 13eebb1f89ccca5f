"""Functions of one matrix as rows of a table, and the cases that every such row gets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from math import nan
from typing import Any, Final, NamedTuple

from tensor_core.dtypes import C32, C64, F32, F64, I32, I64, Bool
from tensor_core.errors import DTypeError, ShapeError
from tensor_runtime.errors import NonFiniteError
from tensor_runtime.ops.arithmetic import conj
from tensor_runtime.ops.comparison import greater_equal
from tensor_runtime.ops.contraction import dot_general
from tensor_runtime.ops.views import permute_axes
from tensor_runtime.tensors.tensor import Tensor
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import Host, tabulated, whole_numbers

DTYPES: Final = (F32, F64, C32, C64)
_ULPS: Final = 200
"""Rounding units allowed, of the largest element: extents are at most 5, and so are norms beside that element."""
_SHAPES: Final = ((3, 3), (5, 3), (2, 4), (1, 1), (3, 2, 2), (2, 3, 2, 2), (0, 3), (3, 0), (2, 2, 0), (0, 0, 2))
SQUARE: Final = ((3, 3), (5, 5), (1, 1), (3, 3, 2), (2, 2, 2, 2), (0, 0), (2, 2, 0), (0, 0, 3))


class Row(NamedTuple):
    """A function of one operand: what it is given, and what of its results is compared with what."""

    function: Callable[..., Any]
    prepared: Callable[[Host], Host]
    compared: Callable[..., Any] | None
    expected: Callable[[Host], Any]
    square: bool = True

    @property
    def name(self) -> str:
        """The name of its cases."""
        return f"linalg.{self.function.__name__}"


def cases_of(rows: Iterable[Row], /) -> Iterator[Case]:
    """Values and refusals of every row."""
    for row in rows:
        yield from _values(row)
        yield from _refusals(row)


def _values(row: Row) -> Iterator[Case]:
    shapes = SQUARE if row.square else _SHAPES
    given = [(str(dtype), whole_numbers(shapes[0], dtype)) for dtype in DTYPES]
    given += [(f"shape {shape}", whole_numbers(shape, F64)) for shape in shapes[1:]]
    given += [(f"C64 shape {shapes[4]}", whole_numbers(shapes[4], C64))]
    for label, a in given:
        operand = row.prepared(a)
        yield case(row.name, label, (operand,), row.function, row.compared, partial(row.expected, operand))
    operand = row.prepared(whole_numbers((3, 3), F64))
    unchecked = partial(row.function, check=False)
    yield case(row.name, "unchecked", (operand,), unchecked, row.compared, partial(row.expected, operand))


def _refusals(row: Row) -> Iterator[Case]:
    for dtype in (I64, Bool):
        yield refused(row.name, f"{dtype} refused", (whole_numbers((3, 3), dtype),), row.function, DTypeError)
    yield refused(row.name, "rank 1", (whole_numbers((3,), F64),), row.function, ShapeError)
    if row.square:
        yield refused(row.name, "not square", (whole_numbers((3, 2), F64),), row.function, ShapeError)
    usual = row.prepared(whole_numbers((3, 3), F64))
    bad = tabulated((3, 3, 2), F64, lambda index: nan if index == (2, 1, 1) else usual[index[:2]])
    yield refused(row.name, "NaN", (bad,), row.function, NonFiniteError)


def case(
    name: str,
    label: str,
    operands: tuple[Host, ...],
    call: Callable[..., Any],
    compared: Callable[..., Any] | None,
    expected: Callable[[], Any],
) -> Case:
    """A case within the bounds of the docstrings."""
    return Case(name, label, operands, call, expected, _ULPS, compared=compared)


def masked(name: str, function: Callable[[Tensor], Any], label: str = "") -> Iterator[Case]:
    """The status of three matrices, the second of which holds NaN and the last of which is zero."""
    for dtype in DTYPES:
        a = tabulated((2, 2, 3), dtype, lambda k: (k[0] == k[1]) * (4, nan if k[0] else 1, 0)[k[2]])
        expected = partial(tabulated, (3,), I32, lambda k: k[0] % 2)
        call = partial(lambda function, a: function(a).status, function)
        yield Case(name, f"status {label or dtype} {dtype if label else ''}".strip(), (a,), call, expected, reads=True)


def product(a: Tensor, b: Tensor, /) -> Tensor:
    """Products of the matrices, one for each batch index."""
    batch = tuple(range(2, a.rank))
    return dot_general(a, b, contracting=([1], [0]), batch=(batch, batch))


def applied(a: Tensor, x: Tensor) -> Tensor:
    """Products of one matrix with every column there is."""
    return dot_general(a, x, contracting=([1], [0]))


def adjoint(a: Tensor, /) -> Tensor:
    """Conjugated and transposed matrices."""
    return conj(permute_axes(a, (1, 0, *range(2, a.rank))))


def ordered(s: Tensor) -> Tensor:
    """Whether no element is smaller than the next one."""
    return greater_equal(s[:-1], s[1:])
