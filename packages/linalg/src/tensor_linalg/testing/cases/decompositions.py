"""Conformance cases of decompositions: properties of the factors where they are not unique."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from tensor_core.dtypes import C64, F64, DType
from tensor_core.host.tensor import HostTensor
from tensor_linalg.decompositions import cholesky, eigh, eigvalsh, lq, ql, qr, rq, svd, svdvals
from tensor_linalg.testing.cases.matrices import factor, hermitian, identity, shifted, squares, true, with_junk
from tensor_linalg.testing.cases.rows import Row, adjoint, case, cases_of, ordered, product
from tensor_runtime.errors import NotPositiveDefiniteError
from tensor_runtime.ops.arithmetic import add, multiply, subtract
from tensor_runtime.ops.comparison import greater_equal
from tensor_runtime.ops.complex_parts import imag, real
from tensor_runtime.ops.diagonals import extract_diagonal, tril, triu
from tensor_runtime.ops.reduction import sum
from tensor_runtime.ops.views import expand_dims
from tensor_runtime.tensors.tensor import Tensor
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import Host, tabulated, whole_numbers


def cases() -> Iterator[Case]:
    """Every case of a decomposition."""
    yield from cases_of(ROWS)
    for dtype in (F64, C64):
        full = hermitian(whole_numbers((3, 3), dtype))
        lower = with_junk(full)
        yield case("linalg.eigh", f"{dtype} lower triangle", (lower,), eigh, _eigh_parts, partial(_eigh_wanted, lower))
        some = partial(eigh, subset_by_index=(1, 2))
        yield case("linalg.eigh", f"{dtype} subset", (full,), some, _subset_parts, partial(_subset_wanted, dtype))
        positive = shifted(lower, 24)
        yield case("linalg.cholesky", f"{dtype} lower triangle", (positive,), cholesky, None, partial(factor, positive))
    for label, a in (("zeros", HostTensor.zeros((3, 2), F64)), ("equal values", identity((3, 3), F64))):
        yield case("linalg.svd", label, (a,), svd, _svd_parts, partial(_svd_wanted, a))
        yield case("linalg.qr", label, (a,), qr, _qr_parts, partial(_qr_wanted, a))
    yield from _options()
    indefinite = shifted(HostTensor.zeros((2, 2, 2), F64), -1)
    yield refused("linalg.cholesky", "not positive definite", (indefinite,), cholesky, NotPositiveDefiniteError)


def _options() -> Iterator[Case]:
    for dtype in (F64, C64):
        for shape in ((4, 2), (2, 3), (3, 3, 2), (0, 2), (2, 0, 2)):
            a = whole_numbers(shape, dtype)
            label = f"{dtype} shape {shape}"
            full, complete = partial(svd, full=True), partial(qr, mode="complete")
            yield case("linalg.svd", f"full {label}", (a,), full, _svd_full_parts, partial(_svd_full_wanted, a))
            yield case("linalg.qr", f"complete {label}", (a,), complete, _qr_parts, partial(_complete_wanted, a))
            positive = partial(qr, positive=True)
            yield case("linalg.qr", f"positive {label}", (a,), positive, _positive_parts, partial(_positive_wanted, a))
        positive_definite = shifted(hermitian(whole_numbers((3, 3, 2), dtype)), 24)
        mirrored = partial(cholesky, upper=True)
        yield case("linalg.cholesky", f"{dtype} upper", (positive_definite,), mirrored, _upper_parts,
                   partial(_upper_wanted, positive_definite))  # fmt: skip


def _svd_full_parts(a: Tensor, u: Tensor, s: Tensor, vh: Tensor) -> tuple[Tensor, ...]:
    short = s.shape[0]
    whole = product(multiply(u[:, :short], expand_dims(s, 0)), vh[:short])
    return whole, product(adjoint(u), u), product(vh, adjoint(vh)), ordered(s)


def _svd_full_wanted(a: Host) -> tuple[Host, ...]:
    rows, columns, *batch = a.shape
    squares = (identity((side, side, *batch), a.dtype) for side in (rows, columns))
    return a, *squares, true((max(min(rows, columns) - 1, 0), *batch))


def _complete_wanted(a: Host) -> tuple[Host, ...]:
    return a, identity((a.shape[0], a.shape[0], *a.shape[2:]), a.dtype), HostTensor.zeros(a.shape, a.dtype)


def _positive_parts(a: Tensor, q: Tensor, r: Tensor) -> tuple[Tensor, ...]:
    diagonal = extract_diagonal(r)
    return *_qr_parts(a, q, r), greater_equal(real(diagonal), 0), imag(diagonal)


def _positive_wanted(a: Host) -> tuple[Host, ...]:
    shape = (*a.shape[2:], min(a.shape[:2]))
    return *_qr_wanted(a), true(shape), HostTensor.zeros(shape, a.dtype.component)


def _upper_parts(a: Tensor, u: Tensor) -> tuple[Tensor, ...]:
    return product(adjoint(u), u), tril(u, -1, axes=(0, 1))


def _upper_wanted(a: Host) -> tuple[Host, ...]:
    return a, HostTensor.zeros(a.shape, a.dtype)


def svdvals_parts(a: Tensor, s: Tensor, /) -> tuple[Tensor, ...]:
    """What of singular values is compared: the sum of their squares, and their order."""
    return sum(multiply(s, s), 0), greater_equal(s, 0), ordered(s)


def svdvals_wanted(a: Host, /) -> tuple[Host, ...]:
    """What these are to be."""
    short, batch = min(a.shape[:2]), a.shape[2:]
    return squares(a), true((short, *batch)), true((max(short - 1, 0), *batch))


def _eigvalsh_parts(a: Tensor, w: Tensor) -> tuple[Tensor, ...]:
    return sum(multiply(w, w), 0), ordered(w[::-1])


def _eigvalsh_wanted(a: Host) -> tuple[Host, ...]:
    return squares(hermitian(a)), true((max(a.shape[0] - 1, 0), *a.shape[2:]))


def _rq_parts(a: Tensor, r: Tensor, q: Tensor) -> tuple[Tensor, ...]:
    return product(r, q), product(q, adjoint(q)), tril(r, q.shape[0] - r.shape[0] - 1, axes=(0, 1))


def _lq_parts(a: Tensor, lower: Tensor, q: Tensor) -> tuple[Tensor, ...]:
    return product(lower, q), product(q, adjoint(q)), triu(lower, 1, axes=(0, 1))


def _rows_wanted(a: Host) -> tuple[Host, ...]:
    rows, columns, *batch = a.shape
    short = min(rows, columns)
    return a, identity((short, short, *batch), a.dtype), HostTensor.zeros((rows, short, *batch), a.dtype)


def _ql_parts(a: Tensor, q: Tensor, lower: Tensor) -> tuple[Tensor, ...]:
    return product(q, lower), product(adjoint(q), q), triu(lower, lower.shape[1] - q.shape[1] + 1, axes=(0, 1))


def _svd_parts(a: Tensor, u: Tensor, s: Tensor, vh: Tensor) -> tuple[Tensor, ...]:
    whole = product(multiply(u, expand_dims(s, 0)), vh)
    return whole, product(adjoint(u), u), product(vh, adjoint(vh)), greater_equal(s, 0), ordered(s)


def _svd_wanted(a: Host) -> tuple[Host, ...]:
    short, batch = min(a.shape[:2]), a.shape[2:]
    one = identity((short, short, *batch), a.dtype)
    return a, one, one, true((short, *batch)), true((max(short - 1, 0), *batch))


def _qr_parts(a: Tensor, q: Tensor, r: Tensor) -> tuple[Tensor, ...]:
    return product(q, r), product(adjoint(q), q), tril(r, -1, axes=(0, 1))


def _qr_wanted(a: Host) -> tuple[Host, ...]:
    short, batch = min(a.shape[:2]), a.shape[2:]
    below = HostTensor.zeros((short, a.shape[1], *batch), a.dtype)
    return a, identity((short, short, *batch), a.dtype), below


def _eigh_parts(a: Tensor, w: Tensor, v: Tensor) -> tuple[Tensor, ...]:
    whole = product(multiply(v, expand_dims(w, 0)), adjoint(v))
    return whole, product(adjoint(v), v), ordered(w[::-1])


def _subset_parts(a: Tensor, w: Tensor, v: Tensor) -> tuple[Tensor, ...]:
    left = subtract(product(a, v), multiply(v, expand_dims(w, 0)))
    return add(left, 1.0), product(adjoint(v), v), ordered(w[::-1])


def _subset_wanted(dtype: DType) -> tuple[Host, ...]:
    return tabulated((3, 2), dtype, lambda index: 1), identity((2, 2), dtype), true((1,))


def _eigh_wanted(a: Host) -> tuple[Host, ...]:
    return hermitian(a), identity(a.shape, a.dtype), true((max(a.shape[0] - 1, 0), *a.shape[2:]))


ROWS: Final = (
    Row(svd, lambda a: a, _svd_parts, _svd_wanted, square=False),
    Row(qr, lambda a: a, _qr_parts, _qr_wanted, square=False),
    Row(svdvals, lambda a: a, svdvals_parts, svdvals_wanted, square=False),
    Row(rq, lambda a: a, _rq_parts, _rows_wanted, square=False),
    Row(lq, lambda a: a, _lq_parts, _rows_wanted, square=False),
    Row(ql, lambda a: a, _ql_parts, _qr_wanted, square=False),
    Row(eigvalsh, hermitian, _eigvalsh_parts, _eigvalsh_wanted),
    Row(eigh, hermitian, _eigh_parts, _eigh_wanted),
    Row(cholesky, lambda a: shifted(hermitian(a), 24), None, factor),
)
