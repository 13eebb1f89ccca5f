"""Which matrices operations refuse, by trying: for backends without kernels ``NAME_status``.

A batch of which no matrix is refused costs one call of the operation; each that is refused, a few more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensor_linalg.decompositions.cholesky import cholesky
from tensor_linalg.masking import masked
from tensor_linalg.solving.inverses import inv
from tensor_linalg.solving.systems import solve
from tensor_runtime.tensors.tensor import Tensor


def cholesky_status(a: Tensor, params: object, /) -> Tensor:
    """Those that are not positive definite.

    >>> from tensor_runtime.ops.creation import tensor
    >>> cholesky_status(tensor([[[1.0, -1.0]]]), None).to_numpy().tolist()
    [0, 2]
    """
    return _status(cholesky, a)


def inv_status(a: Tensor, params: object, /) -> Tensor:
    """Those that are exactly singular.

    >>> from tensor_runtime.ops.creation import tensor
    >>> inv_status(tensor([[[1.0, 0.0]]]), None).to_numpy().tolist()
    [0, 2]
    """
    return _status(inv, a)


def solve_status(a: Tensor, b: Tensor, params: object, /) -> Tensor:
    """Those whose matrix is exactly singular.

    >>> from tensor_runtime.ops.creation import ones, tensor
    >>> solve_status(tensor([[[1.0, 0.0]]]), ones((1, 1, 2)), None).to_numpy().tolist()
    [0, 2]
    """
    return _status(solve, a, b)


def _status(function: Callable[..., Any], a: Tensor, b: Tensor | None = None) -> Tensor:
    return masked(lambda *each: (function(*each, check=False),), function.__name__, a, b)[1]
