"""Conformance cases of Krylov methods: equations that results fulfil, for whole numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from tensor_core.dtypes import C32, C64, F32, F64, I64
from tensor_core.errors import ArgumentError, DTypeError, ShapeError
from tensor_linalg.iterative import cg, eigs, eigsh, expm_multiply, gmres, lsmr, minres, svds
from tensor_linalg.testing.cases.matrices import hermitian, identity, shifted
from tensor_linalg.testing.cases.rows import adjoint, applied, product
from tensor_runtime.ops.arithmetic import multiply
from tensor_runtime.ops.views import expand_dims
from tensor_runtime.tensors.tensor import Tensor
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import Host, tabulated, whole_numbers

_TIGHT: Final = {F32: 1e-6, F64: 1e-14, C64: 1e-14}
_ULPS: Final = 2000
"""Rounding units allowed, of the largest element: norms, conditions and tolerances together."""
_SOLVERS: Final[tuple[Callable[..., Any], ...]] = (cg, minres, gmres, lsmr)


def cases() -> Iterator[Case]:
    """Every case of the room."""
    for dtype in (F32, F64, C64):
        a = shifted(hermitian(whole_numbers((3, 3), dtype)), 24)
        for function in _SOLVERS:
            for shape in ((3,), (3, 2)):
                b = whole_numbers(shape, dtype, start=1)
                call = partial(_solved, function, tol=_TIGHT[dtype])
                yield _case(function, f"{dtype} shape {shape}", (a, b), call, _product_of, partial(_same, b))
        yield _case(
            eigsh, str(dtype), (a,), partial(_pairs, tol=_TIGHT[dtype]), _eigen_parts, partial(_eigen_wanted, a)
        )
        yield _case(eigs, str(dtype), (a,), partial(_any_pairs, tol=_TIGHT[dtype]), _any_parts, partial(_real_of, a))
        yield _case(svds, str(dtype), (a,), partial(_values, tol=_TIGHT[dtype]), _svd_parts, partial(_svd_wanted, a))
        start = whole_numbers((3, 2), dtype, start=1)
        for function, search, parts, wanted in (
            (eigsh, _block_pairs, _eigen_parts, _eigen_wanted),
            (eigs, _any_block_pairs, _any_parts, _real_of),
            (svds, _block_values, _svd_parts, _svd_wanted),
        ):
            block = partial(search, tol=_TIGHT[dtype])
            yield _case(function, f"{dtype} block", (a, start), block, _of_first(parts), partial(wanted, a))
        v = whole_numbers((3, 2), dtype)
        for hermitian_map in (False, True):  # forth and back again
            call = partial(_there_and_back, hermitian=hermitian_map, tol=_TIGHT[dtype])
            yield _case(expm_multiply, f"{dtype} Hermitian {hermitian_map}", (a, v), call, None, partial(_same, v))
    usual, vector = whole_numbers((3, 3), F64), whole_numbers((3,), F64)
    for function in (*_SOLVERS, expm_multiply):
        name = _name(function)
        yield refused(name, "shapes that differ", (usual, whole_numbers((4,), F64)), function, ShapeError)
        yield refused(name, "I64", (usual, whole_numbers((3,), I64)), function, DTypeError)
        yield refused(name, "maxiter 0", (usual, vector), partial(function, maxiter=0), ArgumentError)
    for function in (eigs, eigsh, svds):
        yield refused(_name(function), "k 0", (usual,), partial(function, k=0), ArgumentError)


def _case(
    function: Callable[..., Any],
    label: str,
    operands: tuple[Host, ...],
    call: Callable[..., Any],
    parts: Callable[..., Any] | None,
    wanted: Callable[[], Any],
) -> Case:
    return Case(_name(function), label, operands, call, wanted, _ULPS, compared=parts, reads=True)


def _name(function: Callable[..., Any]) -> str:
    return f"linalg.{function.__name__}"


def _solved(function: Callable[..., Any], a: Tensor, b: Tensor, tol: float) -> Tensor:
    x: Tensor = function(a, b, tol=tol, maxiter=30).x
    return x


def _product_of(a: Tensor, b: Tensor, x: Tensor) -> Tensor:
    return applied(a, x)


def _same(b: Host) -> Host:
    return b


def _pairs(a: Tensor, tol: float) -> tuple[Tensor, ...]:
    return eigsh(a, k=3, tol=tol)[:2]


def _eigen_parts(a: Tensor, values: Tensor, vectors: Tensor) -> tuple[Tensor, ...]:
    whole = product(multiply(vectors, expand_dims(values, 0)), adjoint(vectors))
    return whole, product(adjoint(vectors), vectors)


def _eigen_wanted(a: Host) -> tuple[Host, ...]:
    return a, identity((3, 3), a.dtype)


def _any_pairs(a: Tensor, tol: float) -> tuple[Tensor, ...]:
    return eigs(a, k=3, tol=tol)[:2]


def _any_parts(a: Tensor, values: Tensor, vectors: Tensor) -> Tensor:
    """Of a Hermitian matrix, whose eigenvectors are orthogonal where eigenvalues differ."""
    return product(multiply(vectors, expand_dims(values, 0)), adjoint(vectors))


def _real_of(a: Host) -> Host:
    return tabulated(a.shape, C32 if a.dtype is F32 else C64, lambda index: a[index])


def _values(a: Tensor, tol: float) -> tuple[Tensor, ...]:
    return svds(a, k=3, tol=tol)[:3]


def _svd_parts(a: Tensor, u: Tensor, s: Tensor, vh: Tensor) -> tuple[Tensor, ...]:
    return product(multiply(u, expand_dims(s, 0)), vh), product(vh, adjoint(vh))


def _svd_wanted(a: Host) -> tuple[Host, ...]:
    return a, identity((3, 3), a.dtype)


def _block_pairs(a: Tensor, start: Tensor, tol: float) -> tuple[Tensor, ...]:
    return eigsh(a, start, k=3, tol=tol)[:2]


def _any_block_pairs(a: Tensor, start: Tensor, tol: float) -> tuple[Tensor, ...]:
    return eigs(a, start, k=3, tol=tol)[:2]


def _block_values(a: Tensor, start: Tensor, tol: float) -> tuple[Tensor, ...]:
    return svds(a, start, k=3, tol=tol)[:3]


def _of_first(parts: Callable[..., Any]) -> Callable[..., Any]:
    """The same parts, of the first operand and the results."""
    return lambda a, start, *results: parts(a, *results)


def _there_and_back(a: Tensor, v: Tensor, hermitian: bool, tol: float) -> Tensor:
    there = expm_multiply(a, v, 2.0**-4, hermitian=hermitian, tol=tol).x
    return expm_multiply(a, there, -(2.0**-4), hermitian=hermitian, tol=tol).x
