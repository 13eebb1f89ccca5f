"""How far our results are from what they should be: looked at in a few matrices, or a few elements along every axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import opt_einsum

from gpu_reporting.peers import order
from gpu_reporting.workloads import Workload

Array = npt.NDArray[Any]
Give = Callable[[Any], Array]
"""Of a tensor, an array on the host."""
FEW: Final = 3


def error(workload: Workload, operands: Sequence[Array], result: Any, give: Give, /) -> float:
    """The largest deviation, beside the largest number of what it is compared with.

    >>> from gpu_reporting.workloads import CEILINGS
    >>> x = np.eye(4)
    >>> error(CEILINGS[1], [x, x], x, np.asarray), error(CEILINGS[1], [x, x], x + 0.5, np.asarray)
    (0.0, 0.5)
    """
    if workload.equation:
        return _einsum(workload.equation, operands, result, give)
    return _OF_CALLS[workload.call](operands, result, give)


def bound(workload: Workload, operands: Sequence[Array], /) -> float:
    """What an error may be, from the square root of the longest axis, in rounding units of the dtype.

    Of contractions it is twice that and at least 32, which products in TF32, that some libraries take unasked, exceed,
    times the number of operands of networks; of the others 32 times that.

    >>> from gpu_reporting.workloads import CEILINGS
    >>> x = np.random.default_rng(1).standard_normal((2048, 2048), "float32")
    >>> as_tf32 = (x.view(np.int32) + 0x1000 & -0x2000).view(np.float32)  # 10 bits of the fraction
    >>> error(CEILINGS[2], [x, x], as_tf32 @ as_tf32, np.asarray) > 4 * bound(CEILINGS[2], [x, x])
    True
    >>> error(CEILINGS[2], [x, x], x @ x, np.asarray) < bound(CEILINGS[2], [x, x])
    True
    """
    root = math.sqrt(max(extent for x in operands for extent in x.shape))
    single = workload.dtype in ("float32", "complex64") or workload.call == "cast"
    units = max(32.0, 2 * root) * max(1, len(operands) - 2) if workload.equation else 32 * root
    return units * float(np.finfo("float32" if single else "float64").eps)


def _einsum(equation: str, operands: Sequence[Array], result: Any, give: Give) -> float:
    inputs, output = equation.split("->")
    some = [
        x[tuple(slice(FEW) if label in output else slice(None) for label in term)]
        for term, x in zip(inputs.split(","), operands, strict=True)
    ]
    path = order(equation, *(x.shape for x in some)) if len(some) > 2 else True
    expected = opt_einsum.contract(equation, *some, optimize=path)
    return _beside(give(result[(slice(FEW),) * len(output)]), np.asarray(expected))


def _beside(found: Array, expected: Array) -> float:
    if found.shape != expected.shape:
        return float("inf")
    scale = float(np.max(np.abs(expected), initial=0.0)) or 1.0
    return float(np.max(np.abs(found - expected), initial=0.0)) / scale


def _same(expected: Callable[..., Array]) -> Callable[[Sequence[Array], Any, Give], float]:
    return lambda operands, result, give: _beside(give(result), np.asarray(expected(*operands)))


def _matrices(x: Array) -> Array:
    """The first few matrices of a batch, which comes first."""
    return np.moveaxis(x.reshape(*x.shape[:2], -1)[..., :FEW], -1, 0)


def _first(x: Any, give: Give, matrix: int = 2) -> Array:
    some = give(x[..., :FEW] if len(x.shape) > matrix else x)
    return np.moveaxis(some.reshape(*some.shape[:matrix], -1), -1, 0)


def _adjoint(x: Array) -> Array:
    return x.swapaxes(-1, -2).conj()


def _cholesky(operands: Sequence[Array], result: Any, give: Give) -> float:
    lower = _first(result, give)
    return _beside(lower @ _adjoint(lower), _matrices(operands[0]))


def _svd(operands: Sequence[Array], result: Any, give: Give) -> float:
    u, s, vh = _first(result[0], give), _first(result[1], give, 1), _first(result[2], give)
    product = (u * s[..., None, :]) @ vh
    return max(_beside(product, _matrices(operands[0])), _orthogonal(u), _orthogonal(_adjoint(vh)))


def _eigh(operands: Sequence[Array], result: Any, give: Give) -> float:
    values, vectors = _first(result[0], give, 1), _first(result[1], give)
    product = (vectors * values[..., None, :]) @ _adjoint(vectors)
    return max(_beside(product, _matrices(operands[0])), _orthogonal(vectors))


def _qr(operands: Sequence[Array], result: Any, give: Give) -> float:
    q, r = _first(result[0], give), _first(result[1], give)
    return max(_beside(q @ r, _matrices(operands[0])), _orthogonal(q))


def _solve(operands: Sequence[Array], result: Any, give: Give) -> float:
    a, b = (_matrices(x) for x in operands)
    return _beside(a @ _first(result, give), b)


def _orthogonal(columns: Array) -> float:
    return _beside(
        _adjoint(columns) @ columns,
        np.broadcast_to(np.eye(columns.shape[-1]), (len(columns),) + (columns.shape[-1],) * 2),
    )


_OF_CALLS: Final[Mapping[str, Callable[[Sequence[Array], Any, Give], float]]] = {
    "copy": _same(lambda x: x),
    "add": _same(np.add),
    "cast": _same(lambda x: x.astype(np.float32)),
    "sum": _same(lambda x: x.sum(0)),
    "max": _same(np.max),
    "cholesky": _cholesky,
    "svd": _svd,
    "best svd": _svd,
    "eigh": _eigh,
    "qr": _qr,
    "solve": _solve,
}
