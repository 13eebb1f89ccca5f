"""What each decomposition accepts and the shapes it gives; no data.

The two matrix axes come first, batch axes last: ``[M, N, B...]`` is one M x N matrix for every batch index. Below, K
is the smaller of M and N.
"""

from __future__ import annotations

from typing import Final

from tensor_core.dtypes import FLOATING, DType
from tensor_linalg.specs.linalg_spec import LinalgSpec
from tensor_linalg.specs.shapes import matrix_axes, square_axes
from tensor_runtime.form import Shape


def svd_shapes(operation: str, shape: Shape, check: bool, /) -> tuple[Shape, Shape, Shape]:
    """``[M, K, B...]``, ``[K, B...]``, ``[K, N, B...]``.

    >>> svd_shapes("svd", (4, 3, 10), True)
    ((4, 3, 10), (3, 10), (3, 3, 10))
    """
    rows, columns, batch = matrix_axes(operation, shape)
    short = min(rows, columns)
    return (rows, short, *batch), (short, *batch), (short, columns, *batch)


def qr_shapes(operation: str, shape: Shape, check: bool, /) -> tuple[Shape, Shape]:
    """``[M, K, B...]`` and ``[K, N, B...]``.

    >>> qr_shapes("qr", (4, 3, 10), True)
    ((4, 3, 10), (3, 3, 10))
    """
    left, _, right = svd_shapes(operation, shape, check)
    return left, right


def eigh_shapes(operation: str, shape: Shape, check: bool, /) -> tuple[Shape, Shape]:
    """``[N, B...]`` and ``[N, N, B...]``.

    >>> eigh_shapes("eigh", (3, 3, 10), True)
    ((3, 10), (3, 3, 10))
    """
    size, batch = square_axes(operation, shape)
    return (size, *batch), shape


def cholesky_shape(operation: str, shape: Shape, check: bool, /) -> Shape:
    """``[N, N, B...]``.

    >>> cholesky_shape("cholesky", (3, 3, 10), True)
    (3, 3, 10)
    """
    square_axes(operation, shape)
    return shape


def _with_singular_values(dtype: DType, /) -> tuple[DType, DType, DType]:
    return dtype, dtype.component, dtype


def _twice(dtype: DType, /) -> tuple[DType, DType]:
    return dtype, dtype


def _with_eigenvalues(dtype: DType, /) -> tuple[DType, DType]:
    return dtype.component, dtype


SVD: Final = LinalgSpec(
    "svd", accepts=FLOATING, result_dtype=_with_singular_values, result_shape=svd_shapes, takes_params=True
)
QR: Final = LinalgSpec(
    "qr", total=True, accepts=FLOATING, result_dtype=_twice, result_shape=qr_shapes, takes_params=True
)
EIGH: Final = LinalgSpec(
    "eigh", accepts=FLOATING, result_dtype=_with_eigenvalues, result_shape=eigh_shapes, takes_params=True
)
CHOLESKY: Final = LinalgSpec("cholesky", accepts=FLOATING, result_shape=cholesky_shape, takes_params=True)
"""The params of each is ``check``: whether the elements are first checked to be finite."""
