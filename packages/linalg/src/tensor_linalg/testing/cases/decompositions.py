"""Conformance cases of decompositions: properties of the factors where they are not unique."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from tensor_core.dtypes import C64, F64
from tensor_core.host.tensor import HostTensor
from tensor_linalg.decompositions import cholesky, eigh, qr, svd
from tensor_linalg.testing.cases.matrices import factor, hermitian, identity, shifted, true, with_junk
from tensor_linalg.testing.cases.rows import Row, adjoint, case, cases_of, ordered, product
from tensor_runtime.errors import NotPositiveDefiniteError
from tensor_runtime.ops.arithmetic import multiply
from tensor_runtime.ops.comparison import greater_equal
from tensor_runtime.ops.diagonals import tril
from tensor_runtime.ops.views import expand_dims
from tensor_runtime.tensors.tensor import Tensor
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import Host, whole_numbers


def cases() -> Iterator[Case]:
    """Every case of a decomposition."""
    yield from cases_of(ROWS)
    for dtype in (F64, C64):
        full = hermitian(whole_numbers((3, 3), dtype))
        lower = with_junk(full)
        yield case("linalg.eigh", f"{dtype} lower triangle", (lower,), eigh, _eigh_parts, partial(_eigh_wanted, lower))
        positive = shifted(lower, 24)
        yield case("linalg.cholesky", f"{dtype} lower triangle", (positive,), cholesky, None, partial(factor, positive))
    for label, a in (("zeros", HostTensor.zeros((3, 2), F64)), ("equal values", identity((3, 3), F64))):
        yield case("linalg.svd", label, (a,), svd, _svd_parts, partial(_svd_wanted, a))
        yield case("linalg.qr", label, (a,), qr, _qr_parts, partial(_qr_wanted, a))
    indefinite = shifted(HostTensor.zeros((2, 2, 2), F64), -1)
    yield refused("linalg.cholesky", "not positive definite", (indefinite,), cholesky, NotPositiveDefiniteError)


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


def _eigh_wanted(a: Host) -> tuple[Host, ...]:
    return hermitian(a), identity(a.shape, a.dtype), true((max(a.shape[0] - 1, 0), *a.shape[2:]))


ROWS: Final = (
    Row(svd, lambda a: a, _svd_parts, _svd_wanted, square=False),
    Row(qr, lambda a: a, _qr_parts, _qr_wanted, square=False),
    Row(eigh, hermitian, _eigh_parts, _eigh_wanted),
    Row(cholesky, lambda a: shifted(hermitian(a), 24), None, factor),
)
