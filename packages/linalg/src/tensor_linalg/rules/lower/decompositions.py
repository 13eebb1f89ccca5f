"""Decompositions by others: values alone, full factors.

Bounds are those of the public functions; what is called costs more than a kernel of its own would.
"""

from __future__ import annotations

from tensor_linalg.composed import failing_as
from tensor_linalg.contracts.common import CheckParams, EighRangeParams, SVDParams
from tensor_linalg.decompositions.eig import eig
from tensor_linalg.decompositions.eigh import eigh
from tensor_linalg.decompositions.qr import qr
from tensor_linalg.decompositions.svd import full_factors, svd
from tensor_runtime.ops.creation import eye
from tensor_runtime.ops.joining import concatenate
from tensor_runtime.ops.views import broadcast_in_dim, copy
from tensor_runtime.tensors.tensor import Tensor


def svdvals(a: Tensor, params: SVDParams, /) -> Tensor:
    """The values of the thin decomposition.

    >>> from tensor_runtime.ops.creation import tensor
    >>> svdvals(tensor([[3.0, 0.0], [0.0, -4.0]]), SVDParams(True, "auto")).to_numpy().round(12).tolist()
    [4.0, 3.0]
    """
    with failing_as("svdvals"):
        return svd(a, driver=params.driver, check=params.check).s


def eigvalsh(a: Tensor, params: CheckParams, /) -> Tensor:
    """The values of the decomposition with vectors.

    >>> from tensor_runtime.ops.creation import tensor
    >>> eigvalsh(tensor([[3.0, 0.0], [0.0, -4.0]]), CheckParams(True)).to_numpy().round(12).tolist()
    [-4.0, 3.0]
    """
    with failing_as("eigvalsh"):
        return eigh(a, check=params.check).eigenvalues


def eigh_range(a: Tensor, params: EighRangeParams, /) -> tuple[Tensor, Tensor]:
    """Some of all pairs.

    >>> from tensor_runtime.ops.creation import tensor
    >>> values, vectors = eigh_range(tensor([[3.0, 0.0], [0.0, -4.0]]), EighRangeParams(1, 1, True))
    >>> values.to_numpy().round(12).tolist(), vectors.shape
    ([3.0], (2, 1))
    """
    values, vectors = eigh(a, check=params.check)
    stop = params.last + 1
    return copy(values[params.first : stop]), copy(vectors[:, params.first : stop])


def svd_full(a: Tensor, params: CheckParams, /) -> tuple[Tensor, Tensor, Tensor]:
    """The thin factors with the orthonormal columns and rows that they lack.

    >>> from tensor_runtime.ops.creation import ones
    >>> [part.shape for part in svd_full(ones((3, 2)), CheckParams(True))]
    [(3, 3), (2,), (2, 2)]
    """
    u, s, vh = svd(a, check=params.check)
    u, vh = full_factors(u, vh)
    return u, s, vh


def qr_complete(a: Tensor, params: CheckParams, /) -> tuple[Tensor, Tensor]:
    """Reflectors of the matrix followed by the identity: the first ones are those of the matrix alone.

    >>> from tensor_runtime.ops.creation import ones
    >>> [part.shape for part in qr_complete(ones((3, 2)), CheckParams(True))]
    [(3, 3), (3, 2)]
    """
    if a.shape[0] <= a.shape[1]:
        return qr(a, check=params.check)
    identity = eye(a.shape[0], dtype=a.dtype, placement=a.placement)
    square = broadcast_in_dim(identity, (a.shape[0], a.shape[0], *a.shape[2:]), (0, 1))
    q, r = qr(concatenate([a, square], 1), check=params.check)
    return q, copy(r[:, : a.shape[1]])


def eigvals(a: Tensor, params: CheckParams, /) -> Tensor:
    """The values of the decomposition with vectors.

    >>> from tensor_runtime.ops.creation import tensor
    >>> eigvals(tensor([[3.0, 1.0], [0.0, -4.0]]), CheckParams(True)).to_numpy().round(12).tolist()
    [(3+0j), (-4+0j)]
    """
    with failing_as("eigvals"):
        return eig(a, check=params.check).eigenvalues
