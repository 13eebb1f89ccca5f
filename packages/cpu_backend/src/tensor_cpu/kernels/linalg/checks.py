"""Around LAPACK: finite input, index limits, which matrix of a batch failed.

Arrays here are transposed arrays: the tensor ``[M, N, B...]`` is the ndarray ``(...B, N, M)``, so the row-major order
of a transposed array is the column-major order of its tensor and "first" means the same in both. Indices in errors are
the tensor's.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray

from tensor_core.errors import SizeLimitError
from tensor_cpu.system.errstate import IGNORING_FP_ERRORS
from tensor_runtime.errors import NotPositiveDefiniteError, non_finite, of_matrix

Array = NDArray[Any]
Index = tuple[int, ...]


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


def not_positive_definite(
    order: int, batch: tuple[int, ...], operation: str = "cholesky", /, read: str = "the lower triangle"
) -> NotPositiveDefiniteError:
    """The error that names the smallest leading block, of the matrix at a batch index.

    >>> print(not_positive_definite(2, ()))  # doctest: +ELLIPSIS
    cholesky: the leading 2x2 block is not positive definite; accepted: Hermitian ...
    """
    return NotPositiveDefiniteError(
        f"{operation}: the leading {order}x{order} block{of_matrix(batch)} is not positive definite; "
        f"accepted: Hermitian positive definite matrices, of which {read} is read",
        operation=operation,
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
