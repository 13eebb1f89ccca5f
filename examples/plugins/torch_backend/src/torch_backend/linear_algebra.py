"""Decompositions and solvers of ``torch.linalg``, over batches; every operand is looked at before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from tensor_runtime.errors import NonFiniteError, NotPositiveDefiniteError, SingularMatrixError
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel
from torch_backend.arrays import DTYPES, Array, Seen, stacked, stored


def _lu(a: torch.Tensor) -> tuple[torch.Tensor, ...]:
    packed, swaps = torch.linalg.lu_factor_ex(a)[:2]
    order, _, _ = torch.lu_unpack(packed, swaps, unpack_data=False)
    rows = order.mT.real if order.is_complex() else order.mT
    numbers = torch.arange(a.shape[-2], dtype=torch.float64, device=a.device)
    return packed, (rows.to(torch.float64) * numbers).sum(-1).to(torch.int64)


def _cholesky(a: torch.Tensor) -> tuple[torch.Tensor]:
    factor, order = torch.linalg.cholesky_ex(a)
    _refuse("cholesky", order, NotPositiveDefiniteError, "is not positive definite")
    return (factor.tril(),)


def _solve(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor]:
    found, order = torch.linalg.solve_ex(a, b)
    _refuse("solve", order, SingularMatrixError, "is exactly singular")
    return (found,)


def _inv(a: torch.Tensor) -> tuple[torch.Tensor]:
    found, order = torch.linalg.inv_ex(a)
    _refuse("inv", order, SingularMatrixError, "is exactly singular")
    return (found,)


def _refuse(operation: str, order: torch.Tensor, kind: type[Any], what: str) -> None:
    if order.any():
        index = tuple(order.nonzero()[0].tolist())
        where = f"the matrix at batch index {index}" if index else "the matrix"
        raise kind(f"{operation}: {where} {what}", operation=operation, batch_index=index, element_index=None)


def _finite(operation: str, operand: str, x: torch.Tensor, core: int) -> None:
    found = torch.isfinite(x)
    if found.all():
        return
    # column-major order: the last axis of the tensor, which is the last batch axis, varies slowest
    axes = (*range(x.ndim - core, x.ndim), *range(x.ndim - core))
    bad = (~found).permute(axes[::-1]).nonzero()[0].tolist()[::-1]
    element, batch = tuple(bad[:core]), tuple(bad[core:])
    raise NonFiniteError(
        f"{operation}: operand {operand} is not finite at element {element}"
        + (f" of the matrix at batch index {batch}" if batch else ""),
        operation=operation,
        operand=operand,
        batch_index=batch,
        element_index=element,
    )


DECOMPOSITIONS: Mapping[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "svd": (lambda a: torch.linalg.svd(a, full_matrices=False), (2, 1, 2)),
    "svd_full": (lambda a: torch.linalg.svd(a, full_matrices=True), (2, 1, 2)),
    "svdvals": (lambda a: (torch.linalg.svdvals(a),), (1,)),
    "qr": (torch.linalg.qr, (2, 2)),
    "qr_complete": (lambda a: torch.linalg.qr(a, mode="complete"), (2, 2)),
    "eigh": (torch.linalg.eigh, (1, 2)),
    "eigvalsh": (lambda a: (torch.linalg.eigvalsh(a),), (1,)),
    "eig": (torch.linalg.eig, (1, 2)),
    "eigvals": (lambda a: (torch.linalg.eigvals(a),), (1,)),
    "cholesky": (_cholesky, (2,)),
    "lu_factor": (_lu, (2, 1)),
    "inv": (_inv, (2,)),
    "det": (lambda a: (torch.linalg.det(a),), (0,)),
    "slogdet": (torch.linalg.slogdet, (0, 0)),
}
"""Functions of batches of matrices, and how many axes of each result are no batch axes."""


def bind_decomposition(name: str, operands: tuple[Form, ...], result: Any, params: Any) -> Kernel:
    """Any of :data:`DECOMPOSITIONS`."""
    function, cores = DECOMPOSITIONS[name]
    forms = result if isinstance(result, tuple) else (result,)
    see = stacked(operands[0])

    def kernel(array: Array) -> Any:
        x = see(array)
        if params.check:
            _finite(name, "a", x, 2)
        found = [_unstacked(one, core, form) for one, core, form in zip(function(x), cores, forms, strict=True)]
        return tuple(found) if isinstance(result, tuple) else found[0]

    return kernel


def bind_solve(name: str, operands: tuple[Form, ...], result: Form, params: Any) -> Kernel:
    """One vector for one matrix, or batches that broadcast from their last axes."""
    a, b = operands
    vector = b.rank == 1
    see_a, see_b = stacked(a), stacked(b, 1 if vector else 2)
    wanted = DTYPES[result.dtype]

    def kernel(first: Array, second: Array) -> Array:
        x, y = see_a(first), see_b(second)
        if params.check:
            _finite(name, "a", x, 2)
            _finite(name, "b", y, 1 if vector else 2)
        (found,) = _solve(x.to(wanted), (y.unsqueeze(-1) if vector else y).to(wanted))
        return _unstacked(found.squeeze(-1) if vector else found, 1 if vector else 2, result)

    return kernel


def bind_triangular(name: str, operands: tuple[Form, ...], result: Form, params: Any) -> Kernel:
    """Substitution; a zero on the diagonal gives infinities or NaN."""
    see: tuple[Seen, ...] = tuple(map(stacked, operands))

    def kernel(first: Array, second: Array) -> Array:
        a, b = see[0](first), see[1](second)
        a = a.conj() if params.conjugate else a
        upper = not params.lower
        a, upper = (a.mT, not upper) if params.transpose else (a, upper)
        found = torch.linalg.solve_triangular(
            a.resolve_conj(), b.expand(*a.shape[:-2], *b.shape[-2:]), upper=upper, unitriangular=params.unit_diagonal
        )
        return _unstacked(found, 2, result)

    return kernel


def _unstacked(found: torch.Tensor, core: int, form: Form) -> Array:
    """Batch axes behind again."""
    order = (*range(found.ndim - core, found.ndim), *range(found.ndim - core))
    return stored(found.permute(order), form)


TABLE: Mapping[str, Callable[..., Kernel]] = {
    **dict.fromkeys(DECOMPOSITIONS, bind_decomposition),
    "solve": bind_solve,
    "triangular_solve": bind_triangular,
}
"""Each kernel with what binds it."""
