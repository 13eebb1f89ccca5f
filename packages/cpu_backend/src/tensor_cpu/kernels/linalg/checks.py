"""Around LAPACK: finite input, index limits, which matrix of a batch failed; and powers of two.

Arrays here are transposed arrays: the tensor ``[M, N, B...]`` is the ndarray ``(...B, N, M)``, so the row-major order
of a transposed array is the column-major order of its tensor and "first" means the same in both. Indices in errors are
the tensor's.

Powers of two take matrices away from the limits of binary64, and back: exact but for results beyond them. There
LAPACK multiplies by reciprocals of pivots that are infinite, or leaves columns as they are, and products vanish.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray

from tensor_core.errors import SizeLimitError
from tensor_cpu.system.errstate import IGNORING_FP_ERRORS
from tensor_runtime.errors import NotPositiveDefiniteError, non_finite, of_matrix

Array = NDArray[Any]
Index = tuple[int, ...]

_LOW: Final = -900
_HIGH: Final = 1010
_LARGE: Final = 1000
"""Binary exponents within which sizes are far from the limits, and to which larger sizes are brought: further down,
what is far smaller would vanish."""
_TINY: Final = -300  # the exponent below which eigenvectors may not have norm 1
_NOTHING: Final = -(2**20)  # that of zero, below every other one
_LN2: Final = 0.6931471805599453

Compute = Callable[..., tuple[Array, ...]]


def require_finite(operation: str, operand: str, transposed: Array, core_rank: int = 2) -> None:
    """Raise unless every element is finite.

    LAPACK does not check: ``svd`` of a matrix with one infinity never returns, ``qr`` and ``eigh`` answer NaN with
    numbers. Triangles that a decomposition does not read are checked too, so that one rule holds for all of them.

    Args:
        operation: the name the error bears.
        operand: the parameter it is passed as, ``a`` or ``b``.
        transposed: of a tensor ``[M, N, B...]``, any strides.
        core_rank: how many leading axes of the tensor are not batch axes.

    Raises:
        NonFiniteError: with ``batch_index`` and ``element_index`` of the first offender in column-major order.

    >>> require_finite("svd", "a", np.ones((2, 2)))
    """
    # Nothing takes an infinity or NaN out of a sum again. Views may have more elements than anybody can add up.
    if transposed.flags.forc and np.isfinite(IGNORING_FP_ERRORS.copy().run(transposed.sum)):
        return
    finite = np.isfinite(transposed)
    if finite.all():  # a sum beyond the range
        return
    position = np.unravel_index(int(finite.argmin()), finite.shape)
    index = tuple(int(i) for i in reversed(position))
    element, batch = index[:core_rank], index[core_rank:]
    raise non_finite(operation, operand, element, batch, repr(transposed[position].item()))


def nothing_behind(*arrays: object) -> None:
    """The fallback of native loops whose caller has a way of its own for what they refuse, which None tells it.

    >>> nothing_behind(np.ones(1)) is None
    True
    """


def bounded(a: Array) -> Array:
    """The matrices, of which none holds an infinity: LAPACK's iteration for singular values may never end there.

    >>> bounded(np.eye(1)).tolist()
    [[1.0]]
    """
    if np.isinf(a).any():
        raise np.linalg.LinAlgError("an infinity")
    return a


def first_failure(run: Callable[[Array], object], transposed: Array) -> tuple[Index, Array]:
    """The first matrix of a batch on which ``run`` raises ``LinAlgError``.

    NumPy raises once for the whole batch. Halving finds the matrix and costs about one more pass over the batch.

    Args:
        run: raises ``LinAlgError`` for the whole of ``transposed``.
        transposed: of a tensor ``[N, N, B...]``, any strides.

    Returns:
        The batch index as the tensor has it, and the transposed array of that matrix.

    >>> stack = np.stack([np.eye(2), -np.eye(2)])
    >>> first_failure(np.linalg.cholesky, stack)[0]
    (1,)
    """
    batch = transposed.shape[:-2]
    if not batch:
        return (), transposed
    flat = transposed.reshape(-1, *transposed.shape[-2:])
    start, stop = (0, flat.shape[0])  # everything before start is good, the failure lies before stop
    while stop - start > 1:
        middle = (start + stop) // 2
        if _fails(run, flat[start:middle]):
            stop = middle
        else:
            start = middle
    return tuple(int(i) for i in reversed(np.unravel_index(start, batch))), flat[start]


def first_bad_minor(run: Callable[[Array], object], matrix: Array) -> int:
    """Order of the smallest leading block on which ``run`` raises; ``matrix`` itself is known to be bad.

    >>> first_bad_minor(np.linalg.cholesky, np.diag([1.0, 2.0, -1.0, 4.0]))
    3
    """
    good, bad = 0, len(matrix)
    while bad - good > 1:
        middle = (good + bad) // 2
        if _fails(run, matrix[:middle, :middle]):
            bad = middle
        else:
            good = middle
    return bad


def _fails(run: Callable[[Array], object], transposed: Array) -> bool:
    try:
        run(transposed)
    except LinAlgError:
        return True
    return False


def not_positive_definite(order: int, batch: tuple[int, ...], /) -> NotPositiveDefiniteError:
    """The error of ``cholesky`` that names the smallest leading block, of the matrix at a batch index.

    >>> print(not_positive_definite(2, ()))  # doctest: +ELLIPSIS
    cholesky: the leading 2x2 block is not positive definite; accepted: Hermitian ...
    """
    return NotPositiveDefiniteError(
        f"cholesky: the leading {order}x{order} block{of_matrix(batch)} is not positive definite; "
        "accepted: Hermitian positive definite matrices, of which the lower triangle is read",
        operation="cholesky",
        batch_index=batch,
        element_index=(order - 1, order - 1),
    )


def require_indexable(operation: str, shape: tuple[int, ...], elements: int) -> None:
    """Raise when LAPACK's integers cannot count the elements of a matrix or a workspace.

    With 32-bit integers the drivers overflow silently and may crash (scipy#14001, scipy#20349, OpenBLAS#5443).

    Raises:
        SizeLimitError: ``elements`` is above the limit of the LAPACK that NumPy was built with.

    >>> require_indexable("svd", (3, 3), 64)
    """
    limit = lapack_limit()
    if elements > limit:
        bits = limit.bit_length() + 1
        raise SizeLimitError(
            f"{operation}: shape {shape} needs {elements} elements in one array; "
            f"the LAPACK of this NumPy counts in {bits}-bit integers (at most {limit})",
            operation=operation,
            shape=shape,
        )


@cache
def lapack_limit() -> int:
    """The largest integer of the LAPACK that NumPy calls.

    Wheels from PyPI carry an OpenBLAS with 64-bit integers; whatever does not say so is taken to have 32 bits.

    >>> lapack_limit() in (2**31 - 1, 2**63 - 1)
    True
    """
    config: Any = np.show_config(mode="dicts")
    lapack = config["Build Dependencies"].get("lapack", {})
    return (2**63 if "USE64BITINT" in lapack.get("openblas configuration", "") else 2**31) - 1


def scale_away_from_limits(a: Array) -> int:
    """Scale a matrix by a power of two where it lies near the limits of binary64; the power that takes it back.

    >>> a = np.array([[2.0**-1040]])
    >>> scale_away_from_limits(a), a.tolist(), scale_away_from_limits(a)
    (-1039, [[0.5]], 0)
    """
    power = int(_excess(_largest_exponent(a)))
    if power == 0 or not np.isfinite(a).all():
        return 0
    a[...] = scaled(a, -power)
    return power


def scaled(a: Array, power: Any) -> Array:
    """A times a power of two, or each matrix (..., N, M) of a stack times its own.

    >>> scaled(np.array([3.0]), 2).tolist(), scaled(np.array([1j]), -1).tolist()
    ([12.0], [0.5j])
    """
    if a.dtype.kind != "c":
        return np.asarray(np.ldexp(a, power))
    found = np.empty(np.broadcast_shapes(a.shape, np.shape(power)), a.dtype)
    found.real = np.ldexp(a.real, power)  # a product with 1j would make NaN of infinities, and +0 of -0
    found.imag = np.ldexp(a.imag, power)
    return found


def minute_powers(a: Array, low: int = _LOW) -> Array | None:
    """The exponents [..., 1, 1] of stacked matrices whose largest element is below 2^low; 0 for others, None for all.

    >>> minute_powers(np.array([[2.0**-1040, 0.0]])).tolist(), minute_powers(np.ones((1, 1)))
    ([[-1039]], None)
    """
    some = low >= 0 or ((a != 0) & (np.abs(a) < 2.0 ** (low + 1))).any()
    powers = _largest_exponent(a, (-2, -1)) if some else np.zeros(1)  # the largest of each takes longer
    powers = np.where((powers > _NOTHING) & (powers <= low), powers, 0)
    return powers if powers.any() else None


def reaches_the_limit(a: Array) -> bool:
    """Whether an element of a compact array without gaps is not finite or so large that a sum of a few may be infinite.

    >>> reaches_the_limit(np.array([[2.0**1020]])), reaches_the_limit(np.array([[2.0**1000]]))
    (True, False)
    """
    parts = a.view(a.real.dtype)
    return not np.maximum.reduce(np.abs(parts), axis=None) < 2.0**_HIGH


def has_extreme_pivots(a: Array) -> bool:
    """Whether a pivot of transposed factors (N, M) is so small that LAPACK's elimination with it may be wrong.

    OpenBLAS neither exchanges rows for a subnormal one nor divides by it, so that one of zero may have others below it.

    >>> matrices = np.diag([1.0, 2.0**-1040]), np.diag([1.0, 0.0]), np.array([[0.0, 2.0**-1040], [1.0, 0.0]])
    >>> [has_extreme_pivots(a) for a in matrices]
    [True, False, True]
    """
    exponents = _exponents(a.diagonal())
    missed = any(a[step, step + 1 :].any() for step in np.flatnonzero(exponents == _NOTHING))
    return missed or bool(((exponents <= _LOW) & (exponents > _NOTHING)).any())


def powers_of(a: Array) -> Any:
    """The exponents [..., 1, 1] that are taken out of stacked matrices near the limits; 0 for others.

    >>> powers_of(np.array([[2.0**-1040, 0.0]])).tolist(), powers_of(np.ones((1, 1))).tolist()
    ([[-1039]], [[0]])
    """
    return _excess(_largest_exponent(a, (-2, -1)))


def side_powers(b: Array, powers: Any) -> Any:
    """The exponents of right-hand sides, of a vector or [..., 1, 1] of each matrix, where powers are not 0.

    >>> side_powers(np.array([2.0**-1040, 0.0]), np.array([-1039])).tolist()
    [-1039]
    """
    largest = _largest_exponent(b, (-2, -1) if b.ndim > 1 else (-1,))
    return np.where((powers != 0) & (largest > _NOTHING), largest, 0)


def safe_inv(compute: Compute, a: Array) -> tuple[Array, ...]:
    """Inverses by a function, of matrices whose rows and columns have been scaled where that is needed.

    >>> safe_inv(lambda a: (np.linalg.inv(a),), np.array([[2.0**-1022, 0.0], [0.0, 2.0**1000]]))[0].tolist()
    [[4.49423283715579e+307, 0.0], [0.0, 9.332636185032189e-302]]
    """
    found = _balanced(a)
    if found is None:
        return compute(a)
    balanced, rows, columns = found
    return (scaled(compute(balanced)[0], -rows[..., :, None] - columns[..., None, :]),)


def safe_eig(compute: Compute, a: Array) -> tuple[Array, ...]:
    """Eigenvalues, and vectors, by a function, of matrices that have been enlarged where they are tiny.

    LAPACK's xGEEV enlarges them less, and makes eigenvectors of any norm where squares of what rounding leaves vanish.

    >>> safe_eig(lambda a: (np.linalg.eigvals(a),), np.array([[2.0**-1040]]))[0].tolist() == [2.0**-1040]
    True
    """
    powers = minute_powers(a, _TINY) if a.size else None
    if powers is None:
        return compute(a)
    values, *vectors = compute(scaled(a, -powers))
    return (scaled(values, powers[..., 0]), *vectors)


def safe_qr(compute: Compute, a: Array) -> tuple[Array, ...]:
    """Factors by a function, of matrices that have been scaled where they lie near the limits.

    LAPACK's reflectors take the sum of an element and the norm of its column, which may be beyond the range.

    >>> q, r = safe_qr(lambda a: tuple(np.linalg.qr(a)), np.array([[2.0**1023, 0.0], [2.0, 1.0]]))
    >>> r[0, 0] == -(2.0**1023), bool(np.isfinite(q).all())
    (np.True_, True)
    """
    powers = powers_of(a) if a.size else None
    if powers is None or not powers.any():
        return compute(a)
    q, r = compute(scaled(a, -powers))
    return q, scaled(r, powers)


def safe_det(compute: Compute, a: Array) -> tuple[Array, ...]:
    """Determinants, as :func:`safe_inv`.

    >>> (safe_det(lambda a: (np.linalg.det(a),), np.diag([2.0**-1040, 2.0**1000]))[0] * 2.0**40).round(9).item()
    1.0
    """
    found = _balanced(a)
    if found is None:
        return compute(a)
    balanced, rows, columns = found
    return (scaled(compute(balanced)[0], rows.sum(axis=-1) + columns.sum(axis=-1)),)


def safe_slogdet(compute: Compute, a: Array) -> tuple[Array, ...]:
    """Signs and logarithms of determinants, as :func:`safe_inv`.

    >>> float(safe_slogdet(lambda a: tuple(np.linalg.slogdet(a)), np.array([[2.0**-1040]]))[1].round(9))
    -720.873067782
    """
    found = _balanced(a)
    if found is None:
        return compute(a)
    balanced, rows, columns = found
    sign, logarithm = compute(balanced)
    return sign, logarithm + (rows.sum(axis=-1) + columns.sum(axis=-1)) * _LN2


def safe_solve(compute: Compute, a: Array, b: Array) -> tuple[Array, ...]:
    """Solutions, as :func:`safe_inv`; batches of one rank, or a single matrix.

    >>> a, b = np.array([[2.0**-1060]]), np.array([[2.0**-1061]])
    >>> safe_solve(lambda a, b: (np.linalg.solve(a.swapaxes(-1, -2), b),), a, b)[0].tolist()
    [[0.5]]
    """
    found = _balanced(a)
    if found is None:
        return compute(a, b)
    balanced, rows, columns = found
    if b.ndim > 1 and a.ndim > 2:
        rank = max(a.ndim, b.ndim)
        shape = (*a.shape[:-2], *(1,) * (rank - a.ndim), 1, a.shape[-1])
        rows, columns = rows.reshape(shape), columns.reshape(shape)
        b = b.reshape(*b.shape[:-2], *(1,) * (rank - b.ndim), *b.shape[-2:])
    of_b = _exponents(b) - rows
    largest = of_b.max(axis=-1, keepdims=True)
    largest = np.where(largest < _NOTHING // 2, 0, largest)
    wide = np.asarray(b, np.result_type(b.dtype, np.float64))
    side = scaled(wide, -rows - largest)
    return (scaled(compute(balanced, side)[0], largest - columns),)


def _balanced(a: Array) -> tuple[Array, Array, Array] | None:
    """Transposed matrices (..., N, M), and the exponents of rows [..., M] and columns [..., N] that were taken out.

    None where no row and no column of any lies near the limits. Nothing is taken out of matrices that are not finite.
    """
    exponents = np.where(np.isfinite(a).all(axis=(-2, -1), keepdims=True), _exponents(a), 0)
    rows, columns = (_excess(exponents.max(axis=axis, initial=_NOTHING)) for axis in (-2, -1))
    if not (rows.any() or columns.any()):
        return None
    left = np.where(exponents == _NOTHING, _NOTHING, exponents - rows[..., None, :])
    columns = _excess(left.max(axis=-1))
    return scaled(a, -rows[..., None, :] - columns[..., :, None]), rows, columns


def _excess(exponents: Any) -> Any:
    """What is taken out of sizes with these exponents."""
    tiny = (exponents <= _LOW) & (exponents > _NOTHING)
    return np.where(tiny, exponents, np.where(exponents > _HIGH, exponents - _LARGE, 0))


def _exponents(a: Array) -> Any:
    """The e of each element, 2^(e - 1) <= size < 2^e, of the larger part where it is complex."""
    sizes = np.maximum(np.abs(a.real), np.abs(a.imag)) if a.dtype.kind == "c" else np.abs(a)
    return np.where(sizes == 0, _NOTHING, np.frexp(sizes)[1])


def _largest_exponent(a: Array, axes: tuple[int, ...] | None = None) -> Any:
    """The largest of them, of all or along axes that stay with extent 1."""
    parts = (a.real, a.imag) if a.dtype.kind == "c" else (a,)
    ends = [end(part, axes, keepdims=bool(axes)) for part in parts for end in (np.max, np.min)]
    return _exponents(np.max(np.abs(ends), axis=0))
