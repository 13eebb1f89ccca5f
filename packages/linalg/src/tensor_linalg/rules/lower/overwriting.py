"""Operations whose operands are given up, by those that leave them alone: for backends that cannot use their memory."""

from __future__ import annotations

from typing import Any

from tensor_linalg.contracts.common import CheckParams
from tensor_linalg.decompositions.cholesky import cholesky
from tensor_linalg.decompositions.eigh import eigh
from tensor_linalg.decompositions.lu import lu_factor
from tensor_linalg.decompositions.qr import qr
from tensor_linalg.decompositions.svd import svd
from tensor_linalg.solving.inverses import inv
from tensor_linalg.solving.systems import solve
from tensor_runtime.contracts.linalg import TriangularSolveParams
from tensor_runtime.primitives.linalg import triangular_solve
from tensor_runtime.tensors.tensor import Tensor


def cholesky_overwriting(a: Tensor, params: CheckParams, /) -> Tensor:
    """The factor in other memory.

    >>> from tensor_runtime.ops.creation import tensor
    >>> cholesky_overwriting(tensor([[4.0]]), CheckParams(True)).item()
    2.0
    """
    return cholesky(a, check=params.check)


def eigh_overwriting(a: Tensor, params: CheckParams, /) -> tuple[Tensor, ...]:
    """The eigenvectors in other memory.

    >>> from tensor_runtime.ops.creation import tensor
    >>> eigh_overwriting(tensor([[4.0]]), CheckParams(True))[0].item()
    4.0
    """
    return tuple(eigh(a, check=params.check))


def inv_overwriting(a: Tensor, params: CheckParams, /) -> Tensor:
    """The inverse in other memory.

    >>> from tensor_runtime.ops.creation import tensor
    >>> inv_overwriting(tensor([[4.0]]), CheckParams(True)).item()
    0.25
    """
    return inv(a, check=params.check)


def lu_factor_overwriting(a: Tensor, params: CheckParams, /) -> tuple[Tensor, ...]:
    """The factors in other memory.

    >>> from tensor_runtime.ops.creation import tensor
    >>> lu_factor_overwriting(tensor([[4.0]]), CheckParams(True))[0].item()
    4.0
    """
    return tuple(lu_factor(a, check=params.check))


def qr_overwriting(a: Tensor, params: CheckParams, /) -> tuple[Tensor, ...]:
    """The factors in other memory.

    >>> from tensor_runtime.ops.creation import tensor
    >>> abs(qr_overwriting(tensor([[4.0]]), CheckParams(True))[1].item())
    4.0
    """
    return tuple(qr(a, check=params.check))


def solve_overwriting(a: Tensor, b: Tensor, params: CheckParams, /) -> Tensor:
    """The solution in other memory.

    >>> from tensor_runtime.ops.creation import tensor
    >>> solve_overwriting(tensor([[4.0]]), tensor([8.0]), CheckParams(True)).item()
    2.0
    """
    return solve(a, b, check=params.check)


def svd_overwriting(a: Tensor, params: CheckParams, /) -> tuple[Any, ...]:
    """The factors, without the operand as scratch.

    >>> from tensor_runtime.ops.creation import tensor
    >>> svd_overwriting(tensor([[4.0]]), CheckParams(True))[1].item()
    4.0
    """
    return tuple(svd(a, check=params.check))


def triangular_solve_overwriting(a: Tensor, b: Tensor, params: TriangularSolveParams, /) -> Tensor:
    """The solution in other memory.

    >>> from tensor_runtime.ops.creation import tensor
    >>> upper = TriangularSolveParams(False, False, False, False)
    >>> triangular_solve_overwriting(tensor([[4.0]]), tensor([[8.0]]), upper).item()
    2.0
    """
    return triangular_solve(a, b, **params._asdict())
