"""What solvers accept and the shapes they give; no data."""

from __future__ import annotations

from typing import Final

from tensor_core.dtypes import I64, DType
from tensor_core.errors import ShapeError
from tensor_core.shapes import Shape
from tensor_linalg.contracts.solving import BandedParams, HermitianBandParams, LstsqParams
from tensor_linalg.specs.linalg_spec import LinalgSpec
from tensor_linalg.specs.shapes import broadcast_batches, matrix_axes, square_axes, square_shape
from tensor_runtime.contracts.linalg import TriangularSolveParams


def solve_shape(operation: str, a: Shape, b: Shape, check: bool, named: str = "a", /) -> Shape:
    """``[N, M, B...]``, or ``[N]`` when ``b`` is a vector; batch shapes broadcast among themselves.

    Errors call the matrices ``named``.

    >>> solve_shape("solve", (3, 3, 1, 10), (3, 2, 5, 1), True)
    (3, 2, 5, 10)
    """
    size, batch = square_axes(operation, a)
    if b[:1] != (size,) or (len(b) == 1 and len(a) != 2):
        vector = "[N] or " if len(a) == 2 else ""
        column = "" if len(b) != 1 or len(a) == 2 else "; expand_dims(b, 1) adds the column axis"
        raise ShapeError(
            f"{operation}: {named} of shape {a} and b of shape {b} do not fit; "
            f"accepted: b of shape {vector}[N, M, B...] with N = {size}{column}",
            operation=operation,
            shapes=(a, b),
        )
    if len(b) == 1:
        return b
    if batch == b[2:]:
        return b
    return (size, b[1], *broadcast_batches(operation, batch, b[2:], named))


def substitution_shape(operation: str, a: Shape, b: Shape, params: TriangularSolveParams, /) -> Shape:
    """As for ``solve``.

    >>> substitution_shape("triangular_solve", (3, 3), (3,), TriangularSolveParams(True, False, False, False))
    (3,)
    """
    return solve_shape(operation, a, b, True)


def banded_shape(operation: str, ab: Shape, b: Shape, params: BandedParams, /) -> Shape:
    """``[N, M, B...]``, or ``[N]`` when ``b`` is a vector; batch shapes broadcast among themselves.

    >>> banded_shape("solve_banded", (3, 5, 10), (5, 2, 1), BandedParams(1, 1, True))
    (5, 2, 10)
    """
    diagonals, size, batch = matrix_axes(operation, ab)
    expected = params.lower + params.upper + 1
    if diagonals != expected:
        raise ShapeError(
            f"{operation}: ab of shape {ab} has {diagonals} diagonals; accepted: {expected} for bandwidths "
            f"({params.lower}, {params.upper})",
            operation=operation,
            shape=ab,
        )
    return solve_shape(operation, (size, size, *batch), b, params.check)


def hermitian_band_shape(operation: str, ab: Shape, b: Shape, params: HermitianBandParams, /) -> Shape:
    """``[N, M, B...]``, or ``[N]`` when ``b`` is a vector; batch shapes broadcast among themselves.

    >>> hermitian_band_shape("solveh_banded", (2, 5, 10), (5, 2, 1), HermitianBandParams(True, True))
    (5, 2, 10)
    """
    diagonals, size, batch = matrix_axes(operation, ab)
    if diagonals == 0:
        raise ShapeError(
            f"{operation}: ab of shape {ab} has no diagonal; accepted: [u + 1, N, B...]",
            operation=operation,
            shape=ab,
        )
    return solve_shape(operation, (size, size, *batch), b, params.check)


def toeplitz_shape(operation: str, diagonals: Shape, b: Shape, check: bool, /) -> Shape:
    """``[N, M, B...]``, or ``[N]`` when ``b`` is a vector, of diagonals ``[2N - 1, B...]``.

    >>> toeplitz_shape("solve_toeplitz", (5, 10), (3, 2, 1), True)
    (3, 2, 10)
    """
    size = (diagonals[0] + 1) // 2
    return solve_shape(operation, (size, size, *diagonals[1:]), b, check)


def require_sides(operation: str, a: Shape, b: Shape, /) -> None:
    """Refuse right-hand sides that do not fit matrices of any extents.

    Raises:
        ShapeError: another number of rows, or no column axis beside a batch.

    >>> require_sides("lstsq", (4, 3, 10), (4, 2, 10))
    """
    if b[:1] != a[:1] or (len(b) == 1 and len(a) != 2):
        vector = "[M] or " if len(a) == 2 else ""
        raise ShapeError(
            f"{operation}: a of shape {a} and b of shape {b} do not fit; "
            f"accepted: b of shape {vector}[M, K, B...] with M = {a[0]}",
            operation=operation,
            shapes=(a, b),
        )


def lstsq_shapes(operation: str, a: Shape, b: Shape, params: LstsqParams, /) -> tuple[Shape, Shape, Shape, Shape]:
    """``[N, K, B...]`` and ``[K, B...]``, the batch shapes broadcast; ``[B...]`` and ``[min(M, N), B...]`` of ``a``.

    >>> lstsq_shapes("lstsq", (4, 3, 10), (4, 2, 1), LstsqParams(0.0, True))
    ((3, 2, 10), (2, 10), (10,), (3, 10))
    """
    rows, columns, batch = matrix_axes(operation, a)
    require_sides(operation, a, b)
    _, right, of_b = matrix_axes(operation, b)
    whole = batch if batch == of_b else broadcast_batches(operation, batch, of_b)
    return (columns, right, *whole), (right, *whole), batch, (min(rows, columns), *batch)


def _with_fit(dtype: DType, /) -> tuple[DType, DType, DType, DType]:
    return dtype, dtype.component, I64, dtype.component


SOLVE: Final = LinalgSpec("solve", result_shape=solve_shape)
INV: Final = LinalgSpec("inv", result_shape=square_shape)
"""The params of each is ``check``: whether the elements are first checked to be finite."""
LSTSQ: Final = LinalgSpec("lstsq", result_dtype=_with_fit, result_shape=lstsq_shapes)
SOLVE_BANDED: Final = LinalgSpec("solve_banded", result_shape=banded_shape)
SOLVEH_BANDED: Final = LinalgSpec("solveh_banded", result_shape=hermitian_band_shape)
SOLVE_TOEPLITZ: Final = LinalgSpec("solve_toeplitz", result_shape=toeplitz_shape)
TRIANGULAR_SOLVE_CHECKED: Final = LinalgSpec(
    "triangular_solve", kernel="triangular_solve_checked", result_shape=substitution_shape
)
