"""``slogdet`` by QR decomposition; exponentials and square roots by products, systems and inverses."""

from __future__ import annotations

from tensor_core.dtypes import I32
from tensor_linalg.composed import failing_as
from tensor_linalg.contracts.common import CheckParams
from tensor_linalg.decompositions.qr import qr
from tensor_linalg.functions.determinants import det
from tensor_linalg.functions.exponentials import by_squaring, cast_back, prepared
from tensor_linalg.functions.square_roots import iterated_root, misses
from tensor_runtime.dispatch.conversion import cast, convert
from tensor_runtime.ops.arithmetic import abs, divide, multiply
from tensor_runtime.ops.comparison import equal
from tensor_runtime.ops.creation import zeros
from tensor_runtime.ops.diagonals import extract_diagonal
from tensor_runtime.ops.exponential import log
from tensor_runtime.ops.logic import logical_or
from tensor_runtime.ops.reduction import prod, sum
from tensor_runtime.ops.selection import where
from tensor_runtime.ops.views import copy
from tensor_runtime.tensors.tensor import Tensor


def slogdet(a: Tensor, params: CheckParams, /) -> tuple[Tensor, Tensor]:
    """The size from the diagonal of R, the sign from there and from the determinant of Q, which cannot overflow.

    The sign is 0 where a diagonal element of R is exactly zero, which rounding mostly prevents.

    >>> from tensor_runtime import tensor
    >>> [part.item() for part in slogdet(tensor([[-2.0]]), CheckParams(True))]
    [-1.0, 0.6931471805599453]
    """
    with failing_as("slogdet"):
        q, r = qr(a, check=params.check)
    diagonal = extract_diagonal(r)
    size = abs(diagonal)
    phase = where(equal(size, 0.0), 0.0, divide(diagonal, where(equal(size, 0.0), 1.0, size)))
    of_q = det(q, check=False)
    sign = multiply(divide(of_q, abs(of_q)), prod(phase, -1))
    return sign if sign.dtype is a.dtype else cast(sign, a.dtype), sum(log(size), -1)


def expm(a: Tensor, params: CheckParams, /) -> Tensor:
    """As for matrices of any size.

    >>> from tensor_runtime import zeros
    >>> expm(zeros((1, 1)), CheckParams(True)).item()
    1.0
    """
    return by_squaring("expm", a, params.check)


def sqrtm_iterated(a: Tensor, params: CheckParams, /) -> tuple[Tensor, Tensor]:
    """As for matrices of any size, with a look at the squares of the roots.

    >>> from tensor_runtime import tensor
    >>> [part.item() for part in sqrtm_iterated(tensor([[4.0]]), CheckParams(True))]
    [2.0, 0]
    """
    wide = prepared("sqrtm", a, params.check)
    if 0 in a.shape:
        return copy(a), zeros(a.shape[2:], dtype=I32, placement=a.placement)
    root, lost = iterated_root(wide)
    found = multiply(convert(logical_or(lost, misses(root, wide)), I32), 2)
    return cast_back(root, a.dtype), found
