"""Conformance cases of the family: properties of the factors where they are not unique, else an oracle in plain Python.

Matrices are of small whole numbers, with a diagonal that keeps them well away from singular where they must be solved,
so that the bounds of the docstrings hold with room.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import permutations
from math import nan, prod, sqrt
from typing import Any, Final, NamedTuple

from tensor_core.dtypes import C32, C64, F32, F64, I64, Bool, DType
from tensor_core.errors import DTypeError, ShapeError, TensorError
from tensor_core.host.tensor import HostTensor
from tensor_linalg.decompositions import cholesky, eigh, qr, svd
from tensor_linalg.solving import det, inv, solve
from tensor_runtime.errors import NonFiniteError, NotPositiveDefiniteError, SingularMatrixError
from tensor_runtime.ops.arithmetic import conj, multiply
from tensor_runtime.ops.comparison import greater_equal
from tensor_runtime.ops.contraction import dot_general
from tensor_runtime.ops.diagonals import tril
from tensor_runtime.ops.views import expand_dims, permute_axes
from tensor_runtime.tensors.tensor import Tensor
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import Host, Index, indices, tabulated, whole_numbers

_DTYPES: Final = (F32, F64, C32, C64)
_ULPS: Final = 200
"""Rounding units allowed, of the largest element: extents are at most 5, and so are norms beside that element."""
_SHAPES: Final = ((3, 3), (5, 3), (2, 4), (1, 1), (3, 2, 2), (2, 3, 2, 2), (0, 3), (3, 0), (2, 2, 0), (0, 0, 2))
_SQUARE: Final = ((3, 3), (5, 5), (1, 1), (3, 3, 2), (2, 2, 2, 2), (0, 0), (2, 2, 0), (0, 0, 3))


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


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for row in ROWS:
        yield from _values(row)
        yield from _refusals(row)
    yield from _systems()
    for dtype in (F64, C64):
        full = hermitian(whole_numbers((3, 3), dtype))
        lower = _with_junk(full)
        yield _case("linalg.eigh", f"{dtype} lower triangle", (lower,), eigh, _eigh_parts, partial(_eigh_wanted, lower))
        positive = shifted(lower, 24)
        yield _case(
            "linalg.cholesky", f"{dtype} lower triangle", (positive,), cholesky, None, partial(factor, positive)
        )
    for label, a in (("zeros", HostTensor.zeros((3, 2), F64)), ("equal values", identity((3, 3), F64))):
        yield _case("linalg.svd", label, (a,), svd, _svd_parts, partial(_svd_wanted, a))
        yield _case("linalg.qr", label, (a,), qr, _qr_parts, partial(_qr_wanted, a))
    zeros, indefinite = HostTensor.zeros((2, 2, 2), F64), shifted(HostTensor.zeros((2, 2, 2), F64), -1)
    yield refused("linalg.cholesky", "not positive definite", (indefinite,), cholesky, NotPositiveDefiniteError)
    yield refused("linalg.inv", "singular", (zeros,), inv, SingularMatrixError)
    yield _case("linalg.det", "singular", (zeros,), det, None, lambda: HostTensor.zeros((2,), F64))


def _with_junk(a: Host) -> Host:
    """Other numbers above the diagonal."""
    return tabulated(a.shape, a.dtype, lambda index: 77 if index[0] < index[1] else a[index])


def _values(row: Row) -> Iterator[Case]:
    shapes = _SQUARE if row.square else _SHAPES
    given = [(str(dtype), whole_numbers(shapes[0], dtype)) for dtype in _DTYPES]
    given += [(f"shape {shape}", whole_numbers(shape, F64)) for shape in shapes[1:]]
    given += [(f"C64 shape {shapes[4]}", whole_numbers(shapes[4], C64))]
    for label, a in given:
        operand = row.prepared(a)
        yield _case(row.name, label, (operand,), row.function, row.compared, partial(row.expected, operand))
    operand = row.prepared(whole_numbers((3, 3), F64))
    unchecked = partial(row.function, check=False)
    yield _case(row.name, "unchecked", (operand,), unchecked, row.compared, partial(row.expected, operand))


def _refusals(row: Row) -> Iterator[Case]:
    for dtype in (I64, Bool):
        yield refused(row.name, f"{dtype} refused", (whole_numbers((3, 3), dtype),), row.function, DTypeError)
    yield refused(row.name, "rank 1", (whole_numbers((3,), F64),), row.function, ShapeError)
    if row.square:
        yield refused(row.name, "not square", (whole_numbers((3, 2), F64),), row.function, ShapeError)
    usual = row.prepared(whole_numbers((3, 3), F64))
    bad = tabulated((3, 3, 2), F64, lambda index: nan if index == (2, 1, 1) else usual[index[:2]])
    yield refused(row.name, "NaN", (bad,), row.function, NonFiniteError)


def _systems() -> Iterator[Case]:
    def case(label: str, a: Host, b: Host, product: Callable[..., Tensor] = _product) -> Case:
        return _case("linalg.solve", label, (a, b), solve, lambda a, b, x: product(a, x), lambda: b)

    def case_refused(label: str, a: Host, b: Host, error: type[TensorError]) -> Case:
        return refused("linalg.solve", label, (a, b), solve, error)

    for dtype in _DTYPES:
        yield case(str(dtype), shifted(whole_numbers((3, 3), dtype), 24), whole_numbers((3, 2), dtype))
    for shape in _SQUARE[1:]:
        right = whole_numbers((shape[0], 2, *shape[2:]), F64)
        yield case(f"shape {shape}", shifted(whole_numbers(shape, F64), 24), right)
    a = shifted(whole_numbers((3, 3), F64), 24)
    yield case("a vector", a, whole_numbers((3,), F64), _applied)
    yield case("one matrix for a batch", a, whole_numbers((3, 2, 4), F64), _applied)
    yield case("no columns", a, whole_numbers((3, 0), F64))
    yield case("F32 and C64", shifted(whole_numbers((3, 3), F32), 24), whole_numbers((3, 2), C64))
    zeros = HostTensor.zeros((3, 3, 2), F64)
    yield case_refused("singular", zeros, zeros, SingularMatrixError)
    yield case_refused("unequal extents", a, whole_numbers((2, 2), F64), ShapeError)
    yield case_refused("a batch of vectors", zeros, whole_numbers((3,), F64), ShapeError)
    yield case_refused("unequal batches", zeros, whole_numbers((3, 1, 3), F64), ShapeError)
    yield case_refused("integers refused", a, whole_numbers((3, 1), I64), DTypeError)
    bad = tabulated((3, 1), F64, lambda index: nan if index[0] == 1 else 1.0)
    yield case_refused("NaN", a, bad, NonFiniteError)


def _case(
    name: str,
    label: str,
    operands: tuple[Host, ...],
    call: Callable[..., Any],
    compared: Callable[..., Any] | None,
    expected: Callable[[], Any],
) -> Case:
    return Case(name, label, operands, call, expected, _ULPS, compared=compared)


def _product(a: Tensor, b: Tensor) -> Tensor:
    """Of the matrices, one for each batch index."""
    batch = tuple(range(2, a.rank))
    return dot_general(a, b, contracting=([1], [0]), batch=(batch, batch))


def _applied(a: Tensor, x: Tensor) -> Tensor:
    """One matrix times every column there is."""
    return dot_general(a, x, contracting=([1], [0]))


def _adjoint(a: Tensor) -> Tensor:
    return conj(permute_axes(a, (1, 0, *range(2, a.rank))))


def _svd_parts(a: Tensor, u: Tensor, s: Tensor, vh: Tensor) -> tuple[Tensor, ...]:
    whole = _product(multiply(u, expand_dims(s, 0)), vh)
    return whole, _product(_adjoint(u), u), _product(vh, _adjoint(vh)), greater_equal(s, 0), _ordered(s)


def _svd_wanted(a: Host) -> tuple[Host, ...]:
    short, batch = min(a.shape[:2]), a.shape[2:]
    one = identity((short, short, *batch), a.dtype)
    return a, one, one, _true((short, *batch)), _true((max(short - 1, 0), *batch))


def _qr_parts(a: Tensor, q: Tensor, r: Tensor) -> tuple[Tensor, ...]:
    return _product(q, r), _product(_adjoint(q), q), tril(r, -1, axes=(0, 1))


def _qr_wanted(a: Host) -> tuple[Host, ...]:
    short, batch = min(a.shape[:2]), a.shape[2:]
    below = HostTensor.zeros((short, a.shape[1], *batch), a.dtype)
    return a, identity((short, short, *batch), a.dtype), below


def _eigh_parts(a: Tensor, w: Tensor, v: Tensor) -> tuple[Tensor, ...]:
    whole = _product(multiply(v, expand_dims(w, 0)), _adjoint(v))
    return whole, _product(_adjoint(v), v), _ordered(w[::-1])


def _eigh_wanted(a: Host) -> tuple[Host, ...]:
    return hermitian(a), identity(a.shape, a.dtype), _true((max(a.shape[0] - 1, 0), *a.shape[2:]))


def _ordered(s: Tensor) -> Tensor:
    """Whether no element is smaller than the next one."""
    return greater_equal(s[:-1], s[1:])


def _true(shape: tuple[int, ...]) -> Host:
    return tabulated(shape, Bool, lambda index: True)


def identity(shape: tuple[int, ...], dtype: DType, /) -> Host:
    """Identity matrices of shape [N, N, B...].

    >>> identity((2, 2), F64).to_nested()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return tabulated(shape, dtype, lambda index: int(index[0] == index[1]))


def shifted(a: Host, number: float, /) -> Host:
    """Matrices with a number added on the diagonal.

    >>> shifted(HostTensor.zeros((2, 2), F64), 3).to_nested()
    [[3.0, 0.0], [0.0, 3.0]]
    """
    return tabulated(a.shape, a.dtype, lambda index: a[index] + number * (index[0] == index[1]))


def hermitian(a: Host, /) -> Host:
    """Hermitian matrices with the lower triangles of these, and the real parts of their diagonals.

    >>> hermitian(HostTensor.from_nested([[1j, 7], [2j, 3]], C64)).to_nested()
    [[0j, -2j], [2j, (3+0j)]]
    """

    def rule(index: Index) -> Any:
        i, j, *batch = index
        if i == j:
            return a[index].real
        return a[index] if i > j else a[j, i, *batch].conjugate()

    return tabulated(a.shape, a.dtype, rule)


def factor(a: Host, /) -> Host:
    """Lower Cholesky factors, column by column; they are unique.

    >>> factor(HostTensor.from_nested([[4.0, 99.0], [2.0, 5.0]])).to_nested()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    lower: dict[Index, Any] = {}
    size = a.shape[0]
    for batch in indices(a.shape[2:]):
        for j in range(size):
            for i in range(j, size):
                left = a[i, j, *batch] - sum(lower[i, k, *batch] * lower[j, k, *batch].conjugate() for k in range(j))
                lower[i, j, *batch] = sqrt(left.real) if i == j else left / lower[j, j, *batch]
    return tabulated(a.shape, a.dtype, lambda index: lower.get(index, 0))


def determinants(a: Host, /) -> Host:
    """Sums over permutations; exact for small whole numbers.

    >>> determinants(HostTensor.from_nested([[1.0, 2.0], [3.0, 4.0]])).item()
    -2.0
    """

    def rule(batch: Index) -> Any:
        return sum(
            (-1) ** sum(x > y for k, y in enumerate(order) for x in order[:k])
            * prod(a[row, column, *batch] for row, column in enumerate(order))
            for order in permutations(range(a.shape[0]))
        )

    return tabulated(a.shape[2:], a.dtype, rule)


ROWS: Final = (
    Row(svd, lambda a: a, _svd_parts, _svd_wanted, square=False),
    Row(qr, lambda a: a, _qr_parts, _qr_wanted, square=False),
    Row(eigh, hermitian, _eigh_parts, _eigh_wanted),
    Row(cholesky, lambda a: shifted(hermitian(a), 24), None, factor),
    Row(inv, lambda a: shifted(a, 24), _product, lambda a: identity(a.shape, a.dtype)),
    Row(det, lambda a: shifted(a, 24), None, determinants),
)
