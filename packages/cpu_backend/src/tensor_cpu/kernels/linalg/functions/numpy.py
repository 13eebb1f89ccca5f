"""Exponentials and square roots of stacked matrices on NumPy, in F64 and C64 and rounded once.

Transposed arrays go in as they are, for the function of a transposed matrix is the transposed function. Every matrix
has scaling and steps of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from tensor_cpu.kernel_table import Binder
from tensor_cpu.kernels.linalg.checks import require_finite
from tensor_cpu.kernels.linalg.limits.powers import scaled
from tensor_cpu.kernels.linalg.limits.similarities import balancing_powers, similar
from tensor_cpu.kernels.params import taking_fields
from tensor_cpu.storage import NUMPY_DTYPES, Array
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_runtime.protocols import Kernel

_NUMERATOR: Final = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
    10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip
"""Coefficients of the numerator of the Padé approximant of degree 13."""
_PADE: Final = tuple(one / _NUMERATOR[0] for one in _NUMERATOR)
"""The same over the first, so that LAPACK finds pivots of 1 where they are: it multiplies by their reciprocals."""
_LARGEST: Final = 4.25
"""Norm up to which it is exact to a rounding unit of F64, and its denominator harmless."""
_REMAINDER: Final = 2.0**53 / 113250775606021113483283660800000000.0
"""The first coefficient that it gets wrong, that of power 27, in rounding units."""
_BALANCED: Final = 2.0**20
"""Norm beyond which matrices are looked at for a similarity that makes them smaller."""
_MOST_SPARED: Final = 150
"""Halvings that a matrix far from normal may be spared; six times as many leave the range of no power."""
_MOST_STEPS: Final = 40
"""Steps of an iteration that doubles its digits."""
_DRIFT: Final = 2.0**-44
"""Share of the norm, for each row, by which the square of a root may miss the matrix."""
NOT_FOUND: Final = 2


@ignoring_fp_errors
def exponentials(a: Array, /) -> Array:
    """Exponentials of finite matrices (..., N, N) in double precision.

    Source: Al-Mohy and Higham, A new scaling and squaring algorithm for the matrix exponential, SIAM J. Matrix Anal.
    Appl. 31 (2009), 970-989, with the approximant of degree 13 alone; matrices of large norms scaled by a similarity.

    >>> exponentials(np.array([[0.0, 1.0], [0.0, 0.0]])).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    uneven = _norms(scaled(a, -10)) > _BALANCED * 2.0**-10
    shifts: Array | None = None
    if uneven.any():
        shifts = np.where(uneven[..., None], balancing_powers(a), 0)
        a = similar(a, shifts)
    halvings = _roots_of_powers(_norms(scaled(a, -10)) / _LARGEST, 1, 10).clip(0)
    b = scaled(a, -_for_matrices(halvings))
    powers = _powers(b)
    if halvings.any():
        _, b4, b6 = powers
        known = (6, b6), (8, b4 @ b4), (10, b4 @ b6)
        sixth, eighth, tenth = (_roots_of_powers(_norms(x) / _LARGEST**k, k) for k, x in known)
        needed = np.minimum(np.maximum(sixth, eighth), np.maximum(eighth, tenth))
        spared = np.minimum(np.minimum(-needed, halvings), _MOST_SPARED).clip(0)
        change = spared - _halvings_of_sizes(np.abs(b), spared)
        halvings = halvings - change
        b = scaled(b, _for_matrices(change))
        b2, b4, b6 = (scaled(x, k * _for_matrices(change)) for k, x in zip((2, 4, 6), powers, strict=True))
        powers = b2, b4, b6
    odd, even = b @ _terms(powers, 1), _terms(powers, 0)
    x = np.linalg.solve(even - odd, even + odd)
    for k in range(int(halvings.max(initial=0))):
        x = np.where(_for_matrices(halvings > k), x @ x, x)
    return np.asarray(x) if shifts is None else similar(x, -shifts)


def _powers(b: Array) -> tuple[Array, Array, Array]:
    b2 = b @ b
    b4 = b2 @ b2
    return b2, b4, b4 @ b2


def _terms(powers: tuple[Array, ...], first: int) -> Array:
    """Every other term of the numerator, from coefficient ``first`` on, without a factor of A."""
    b2, b4, b6 = powers
    c = _PADE[first::2]
    high = b6 @ (c[6] * b6 + c[5] * b4 + c[4] * b2)
    return np.asarray(high + (c[3] * b6 + c[2] * b4 + c[1] * b2 + c[0] * np.eye(b2.shape[-1])))


def _norms(a: Array) -> Array:
    return np.asarray(np.abs(a).sum(axis=-1).max(axis=-1, initial=0.0))


def _for_matrices(x: Array) -> Array:
    return x[..., None, None]


def _roots_of_powers(x: Array, root: int, power: Any = 0) -> Array:
    """The least whole numbers of which 2 to the power ``root`` is no less than x 2^power."""
    return np.asarray(np.ceil((np.log2(np.maximum(x, 2.0**-1000)) + power) / root), int)


def _halvings_of_sizes(sizes: Array, spared: Array) -> Array:
    """How many halvings rounding asks for, by the norms of power 27 of the sizes of elements."""
    rows, powers = np.ones(sizes.shape[:-1]), 26.0 * spared
    norm = sizes.sum(axis=-1).max(axis=-1, initial=0.0)
    for _ in range(27):
        rows = (sizes @ rows[..., None])[..., 0]
        most = np.frexp(rows.max(axis=-1, initial=0.0))[1]
        rows, powers = np.ldexp(rows, -most[..., None]), powers + most
    largest = rows.max(axis=-1, initial=0.0)
    needed = _roots_of_powers(largest * (_REMAINDER / np.maximum(norm, 2.0**-1000)), 26, powers)
    return np.where(largest > 0, needed, 0).clip(0)


@ignoring_fp_errors
def principal_roots(a: Array, /) -> tuple[Array, Array]:
    """Square roots of finite matrices (..., N, N) in double precision, and which of them are found.

    Source: Denman and Beavers' iteration in product form with scaling; Higham, Functions of Matrices, SIAM 2008, §6.3.

    >>> root, found = principal_roots(np.array([[4.0, 5.0], [0.0, 9.0]]))
    >>> root.round(12).tolist(), bool(found)
    ([[2.0, 1.0], [0.0, 3.0]], True)
    """
    size = a.shape[-1]
    one = np.eye(size, dtype=a.dtype)
    x = m = a
    near: Any = np.zeros(a.shape[:-2], bool)
    lost: Any = near
    unfinished: Any = ~lost
    for _ in range(_MOST_STEPS):
        sign, logarithm = np.linalg.slogdet(m)
        stopped = ~(np.abs(sign) > 0.5)
        lost = lost | stopped
        x, m = (np.where(_for_matrices(stopped), one, part) for part in (x, m))
        scale = np.where(near | stopped, 1.0, np.exp(logarithm * (-0.5 / max(size, 1))))
        scale = _for_matrices(scale)
        square = scale * scale
        inverse = np.linalg.inv(m) / square
        going = _for_matrices(unfinished)
        x = np.where(going, x @ (inverse + one) * (0.5 * scale), x)
        m = np.where(going, 0.5 * (one + 0.5 * (m * square + inverse)), m)
        away = _norms(m - one)
        near, unfinished = away < 1e-2, ~(away <= size * 2.0**-50)
        if not unfinished.any():
            break
    distance = _norms(scaled(x @ x - a, -10))
    fine = ~lost & ~unfinished & (distance <= size * _DRIFT * _norms(scaled(a, -10)))
    return x, np.asarray(fine)


def _of_finite(function: Callable[[Array], Any], a: Array) -> tuple[Any, Array]:
    """What a function gives of matrices in double precision, zeros in place of those that are not finite; and which."""
    spoilt: Any = ~np.isfinite(a).all(axis=(-2, -1))
    wide = a.astype(np.result_type(a.dtype, np.float64))
    return function(np.where(_for_matrices(spoilt), 0.0, wide)), spoilt


def bind_expm(operands: tuple[Any, ...], result: Any, check: bool) -> Kernel:
    """The kernel of exponentials for these forms.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(F64, (1, 1), CPU)
    >>> bind_expm((form,), form, True)(np.zeros((1, 1))).tolist()
    [[1.0]]
    """
    dtype = NUMPY_DTYPES[result.dtype]

    def kernel(a: Array) -> Array:
        if check:
            require_finite("expm", "a", a)
        found, spoilt = _of_finite(exponentials, a)
        return np.asarray(np.where(_for_matrices(spoilt), np.nan, found), dtype, order="C")

    return ignoring_fp_errors(kernel)


def bind_root(operands: tuple[Any, ...], result: Any, check: bool) -> Kernel:
    """The kernel of square roots, and of a status for each.

    >>> from tensor_core import F64, I32
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form, status = form_of(F64, (1, 1), CPU), form_of(I32, (), CPU)
    >>> [part.tolist() for part in bind_root((form,), (form, status), True)(np.array([[4.0]]))]
    [[[2.0]], 0]
    """
    dtype = NUMPY_DTYPES[result[0].dtype]

    def kernel(a: Array) -> tuple[Array, Array]:
        if check:
            require_finite("sqrtm", "a", a)
        (found, fine), spoilt = _of_finite(principal_roots, a)
        status = np.where(fine & ~spoilt, 0, NOT_FOUND).astype(np.int32)
        return np.asarray(found, dtype, order="C"), np.asarray(status, order="C")

    return ignoring_fp_errors(kernel)


BINDERS: Final[Mapping[str, Binder]] = {
    "expm": taking_fields(bind_expm),
    "sqrtm_iterated": taking_fields(bind_root),
}
