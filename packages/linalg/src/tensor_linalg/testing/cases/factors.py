"""Conformance cases of decompositions with pivots, of those of any square matrix, and of those composed of others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import nan
from typing import Any, Final

from tensor_core.dtypes import C64, F64
from tensor_core.errors import ArgumentError, ShapeError
from tensor_core.host.tensor import HostTensor
from tensor_linalg.decompositions import (
    eig,
    eigh,
    eigvals,
    hessenberg,
    ldl,
    lu,
    lu_factor,
    polar,
    qr_append,
    qr_pivoted,
    randomized_eigh,
    randomized_svd,
    schur,
    svd,
    svdvals,
)
from tensor_linalg.solving import lu_solve, pinv, solve
from tensor_linalg.testing.cases.decompositions import svdvals_parts, svdvals_wanted
from tensor_linalg.testing.cases.matrices import hermitian, identity, separated, shifted, true, widened
from tensor_linalg.testing.cases.rows import Row, adjoint, case, cases_of, masked, product
from tensor_runtime.errors import NonFiniteError
from tensor_runtime.ops.arithmetic import abs, add, multiply, subtract
from tensor_runtime.ops.comparison import less_equal
from tensor_runtime.ops.creation import eye, zeros
from tensor_runtime.ops.diagonals import tril, triu
from tensor_runtime.ops.gather_scatter import take_along_axis
from tensor_runtime.ops.reduction import sum
from tensor_runtime.ops.sort import argsort
from tensor_runtime.ops.views import broadcast_in_dim, expand_dims
from tensor_runtime.tensors.tensor import Tensor
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import Host, tabulated, whole_numbers


def cases() -> Iterator[Case]:
    """Every case of such a decomposition."""
    yield from cases_of(ROWS)
    for dtype in (F64, C64):
        yield from _options(dtype)
        yield from _solved(dtype)
        yield from _approximated(dtype)
    a = whole_numbers((4, 3), F64)
    yield refused("linalg.svd", "unknown driver", (a,), partial(svd, driver="fastest"), ArgumentError)
    yield refused("linalg.qr_append", "unequal rows", (a, a, a), qr_append, ShapeError)
    yield refused("linalg.lu_solve", "unequal extents", (a, a), lambda x, y: lu_solve(lu_factor(x), y), ShapeError)
    bad = HostTensor.from_nested([1.0, nan], F64)
    yield refused(
        "linalg.lu_solve",
        "NaN",
        (bad,),
        lambda x: lu_solve(lu_factor(eye(2, placement=x.placement)), x),
        NonFiniteError,
    )
    yield from masked("linalg.randomized_svd", partial(randomized_svd, rank=1, seed=1, check="mask"))
    yield from masked("linalg.randomized_eigh", partial(randomized_eigh, rank=1, seed=1, check="mask"))
    for function in (randomized_svd, randomized_eigh):
        too_many = partial(function, rank=9, seed=1)
        name = f"linalg.{function.__name__}"
        yield refused(name, "rank", (whole_numbers((3, 3), F64),), too_many, ArgumentError)


def _options(dtype: Any) -> Iterator[Case]:
    a, square = whole_numbers((4, 3, 2), dtype), whole_numbers((3, 3, 2), dtype)
    for driver in ("gesdd", "gesvd", "jacobi"):
        yield case("linalg.svd", f"{dtype} {driver}", (a,), partial(svd, driver=driver), _svd_whole, lambda: a)
        values = partial(svdvals, driver=driver)
        yield case("linalg.svdvals", f"{dtype} {driver}", (a,), values, svdvals_parts, partial(svdvals_wanted, a))
    yield case("linalg.svd", f"{dtype} canonical", (a,), partial(svd, gauge="canonical"), _svd_whole, lambda: a)
    complete = partial(lu, pivoting="complete")
    yield case("linalg.lu", f"{dtype} complete", (a,), complete, _complete_lu_parts, partial(_lu_wanted, a))
    triangle = partial(schur, form="complex")
    wanted = partial(_schur_wanted, widened(square), -1)
    yield case("linalg.schur", f"{dtype} complex", (square,), triangle, partial(_schur_parts, below=-1), wanted)
    turned = partial(schur, gauge="canonical")
    yield case("linalg.schur", f"{dtype} canonical", (square,), turned, _schur_parts, partial(_schur_wanted, square))
    symmetric, positive = hermitian(square), shifted(hermitian(square), 24)
    pair = (symmetric, positive)
    yield case("linalg.eigh", f"{dtype} generalized", pair, eigh, _generalized_parts, partial(_pair_wanted, symmetric))
    of_pairs: Callable[..., Any] = eigh
    for driver in ("evd", "ev", "evr", "jacobi"):
        pairs, inverse = partial(of_pairs, driver=driver), partial(pinv, hermitian=True, driver=driver)
        one = partial(identity, square.shape, dtype)
        yield case("linalg.eigh", f"{dtype} {driver}", (symmetric,), pairs, _eigh_whole, lambda: symmetric)
        yield case("linalg.pinv", f"{dtype} {driver}", (positive,), inverse, product, one)
    left = partial(polar, side="left")
    yield case("linalg.polar", f"{dtype} left", (a,), left, lambda a, u, p: product(p, u), lambda: a)


def _solved(dtype: Any) -> Iterator[Case]:
    matrix, sides = shifted(whole_numbers((3, 3, 2), dtype), 24), whole_numbers((3, 2, 2), dtype)

    def adjoint_solved(a: Tensor, b: Tensor) -> Tensor:
        return lu_solve(lu_factor(a), b, transpose=True, conjugate=True)

    def solved(a: Tensor, b: Tensor) -> Tensor:
        return lu_solve(lu_factor(a), b)

    operands = (matrix, sides)
    yield case("linalg.lu_solve", f"{dtype}", operands, solved, lambda a, b, x: product(a, x), lambda: sides)
    back = case(
        "linalg.lu_solve", f"{dtype} adjoint", operands, adjoint_solved, lambda a, b, x: product(adjoint(a), x),
        lambda: sides,
    )  # fmt: skip
    yield back


def _approximated(dtype: Any) -> Iterator[Case]:
    a, square = whole_numbers((4, 3, 2), dtype), hermitian(whole_numbers((3, 3, 2), dtype))

    def appended(a: Tensor) -> tuple[Tensor, ...]:
        nothing = partial(zeros, dtype=a.dtype, placement=a.placement)
        return qr_append(nothing((4, 0, 2)), nothing((0, 0, 2)), a)

    yield case("linalg.qr_append", f"{dtype}", (a,), appended, _qr_parts, partial(_qr_wanted, a))
    truncated = partial(randomized_svd, rank=3, seed=1)
    yield case("linalg.randomized_svd", f"{dtype}", (a,), truncated, _svd_whole, lambda: a)
    leading = partial(randomized_eigh, rank=3, seed=1)
    yield case("linalg.randomized_eigh", f"{dtype}", (square,), leading, _eigh_whole, lambda: square)


def _ordered(a: Tensor, permutation: Tensor, axis: int) -> Tensor:
    """Rows or columns back where a permutation took them from."""
    return take_along_axis(a, expand_dims(argsort(permutation, axis=0), 1 - axis), axis=axis)


def _lu_parts(a: Tensor, permutation: Tensor, lower: Tensor, upper: Tensor) -> tuple[Tensor, ...]:
    whole = _ordered(product(lower, upper), permutation, 0)
    return whole, triu(lower, 1, axes=(0, 1)), tril(upper, -1, axes=(0, 1)), less_equal(abs(lower), 1.4143)


def _complete_lu_parts(a: Tensor, rows: Tensor, columns: Tensor, lower: Tensor, upper: Tensor) -> tuple[Tensor, ...]:
    whole, *rest = _lu_parts(a, rows, lower, upper)
    return _ordered(whole, columns, 1), *rest


def _lu_wanted(a: Host) -> tuple[Host, ...]:
    rows, columns, *batch = a.shape
    short = min(rows, columns)
    below = HostTensor.zeros((short, columns, *batch), a.dtype)
    return a, HostTensor.zeros((rows, short, *batch), a.dtype), below, true((rows, short, *batch))


def _packed_parts(a: Tensor, packed: Tensor, permutation: Tensor) -> Tensor:
    rows, columns, *batch = a.shape
    short = min(rows, columns)
    ones = eye(rows, short, dtype=a.dtype, placement=a.placement)
    lower = add(tril(packed[:, :short], -1, axes=(0, 1)), broadcast_in_dim(ones, (rows, short, *batch), (0, 1)))
    return _ordered(product(lower, triu(packed[:short], axes=(0, 1))), permutation, 0)


def _qr_parts(a: Tensor, q: Tensor, r: Tensor) -> tuple[Tensor, ...]:
    return product(q, r), product(adjoint(q), q), tril(r, -1, axes=(0, 1))


def _qr_wanted(a: Host) -> tuple[Host, ...]:
    short, batch = min(a.shape[:2]), a.shape[2:]
    below = HostTensor.zeros((short, a.shape[1], *batch), a.dtype)
    return a, identity((short, short, *batch), a.dtype), below


def _pivoted_parts(a: Tensor, q: Tensor, r: Tensor, permutation: Tensor, rank: Tensor) -> tuple[Tensor, ...]:
    whole, *rest = _qr_parts(a, q, r)
    return _ordered(whole, permutation, 1), *rest, less_equal(rank, min(a.shape[:2]))


def _pivoted_wanted(a: Host) -> tuple[Host, ...]:
    return *_qr_wanted(a), true(a.shape[2:])


def _ldl_parts(a: Tensor, lower: Tensor, d: Tensor, permutation: Tensor) -> tuple[Tensor, ...]:
    whole = product(product(lower, d), adjoint(lower))
    ordered = _ordered(_ordered(whole, permutation, 0), permutation, 1)
    return ordered, triu(lower, 1, axes=(0, 1)), subtract(d, adjoint(d)), tril(d, -2, axes=(0, 1))


def _ldl_wanted(a: Host) -> tuple[Host, ...]:
    none = HostTensor.zeros(a.shape, a.dtype)
    return hermitian(a), none, none, none


def _eig_parts(a: Tensor, w: Tensor, v: Tensor) -> Tensor:
    return adjoint(solve(adjoint(v), adjoint(multiply(v, expand_dims(w, 0)))))


def _traces(a: Host) -> Host:
    wide = widened(a)
    diagonal = range(a.shape[0])
    return tabulated(a.shape[2:], wide.dtype, lambda batch: _sum(wide[i, i, *batch] for i in diagonal))


def _sum(terms: Iterator[Any]) -> Any:
    total: Any = 0
    for term in terms:
        total += term
    return total


def _schur_parts(a: Tensor, t: Tensor, z: Tensor, below: int = -2) -> tuple[Tensor, ...]:
    return product(product(z, t), adjoint(z)), product(adjoint(z), z), tril(t, below, axes=(0, 1))


def _schur_wanted(a: Host, below: int = -2) -> tuple[Host, ...]:
    return a, identity(a.shape, a.dtype), HostTensor.zeros(a.shape, a.dtype)


def _polar_parts(a: Tensor, u: Tensor, p: Tensor) -> tuple[Tensor, ...]:
    return product(u, p), subtract(p, adjoint(p))


def _polar_wanted(a: Host) -> tuple[Host, ...]:
    return a, HostTensor.zeros((a.shape[1], a.shape[1], *a.shape[2:]), a.dtype)


def _generalized_parts(a: Tensor, b: Tensor, w: Tensor, v: Tensor) -> tuple[Tensor, ...]:
    weighted = product(b, v)
    return product(multiply(weighted, expand_dims(w, 0)), adjoint(weighted)), product(adjoint(v), weighted)


def _pair_wanted(a: Host) -> tuple[Host, ...]:
    return a, identity(a.shape, a.dtype)


def _svd_whole(a: Tensor, u: Tensor, s: Tensor, vh: Tensor) -> Tensor:
    return product(multiply(u, expand_dims(s, 0)), vh)


def _eigh_whole(a: Tensor, w: Tensor, v: Tensor) -> Tensor:
    return product(multiply(v, expand_dims(w, 0)), adjoint(v))


ROWS: Final = (
    Row(lu, lambda a: a, _lu_parts, _lu_wanted, square=False),
    Row(lu_factor, lambda a: a, _packed_parts, lambda a: a, square=False),
    Row(qr_pivoted, lambda a: a, _pivoted_parts, _pivoted_wanted, square=False),
    Row(polar, lambda a: a, _polar_parts, _polar_wanted, square=False),
    Row(ldl, hermitian, _ldl_parts, _ldl_wanted),
    Row(eig, separated, _eig_parts, widened),
    Row(eigvals, separated, lambda a, w: sum(w, 0), _traces),
    Row(schur, lambda a: a, _schur_parts, _schur_wanted),
    Row(hessenberg, lambda a: a, _schur_parts, _schur_wanted),
)
