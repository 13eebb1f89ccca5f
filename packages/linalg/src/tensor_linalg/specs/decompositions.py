"""What each decomposition accepts and the shapes it gives; no data.

The two matrix axes come first, batch axes last: ``[M, N, B...]`` is one M x N matrix for every batch index. Below, K
is the smaller of M and N.
"""

from __future__ import annotations

from typing import Final

from tensor_core.dtypes import I64, DType
from tensor_core.shapes import Shape
from tensor_linalg.contracts.common import EighRangeParams
from tensor_linalg.specs.linalg_spec import LinalgSpec
from tensor_linalg.specs.shapes import matrix_axes, square_axes, square_shape
from tensor_runtime.ops.complex_parts import paired


def svd_shapes(operation: str, shape: Shape, params: object, /) -> tuple[Shape, Shape, Shape]:
    """``[M, K, B...]``, ``[K, B...]``, ``[K, N, B...]``.

    >>> svd_shapes("svd", (4, 3, 10), True)
    ((4, 3, 10), (3, 10), (3, 3, 10))
    """
    rows, columns, batch = matrix_axes(operation, shape)
    short = min(rows, columns)
    return (rows, short, *batch), (short, *batch), (short, columns, *batch)


def svd_full_shapes(operation: str, shape: Shape, check: bool, /) -> tuple[Shape, Shape, Shape]:
    """``[M, M, B...]``, ``[K, B...]``, ``[N, N, B...]``.

    >>> svd_full_shapes("svd", (4, 3, 10), True)
    ((4, 4, 10), (3, 10), (3, 3, 10))
    """
    rows, columns, batch = matrix_axes(operation, shape)
    return (rows, rows, *batch), (min(rows, columns), *batch), (columns, columns, *batch)


def svdvals_shape(operation: str, shape: Shape, check: bool, /) -> Shape:
    """``[K, B...]``.

    >>> svdvals_shape("svdvals", (4, 3, 10), True)
    (3, 10)
    """
    return svd_shapes(operation, shape, check)[1]


def qr_shapes(operation: str, shape: Shape, check: bool, /) -> tuple[Shape, Shape]:
    """``[M, K, B...]`` and ``[K, N, B...]``.

    >>> qr_shapes("qr", (4, 3, 10), True)
    ((4, 3, 10), (3, 3, 10))
    """
    left, _, right = svd_shapes(operation, shape, check)
    return left, right


def qr_complete_shapes(operation: str, shape: Shape, check: bool, /) -> tuple[Shape, Shape]:
    """``[M, M, B...]`` and ``[M, N, B...]``.

    >>> qr_complete_shapes("qr", (4, 3, 10), True)
    ((4, 4, 10), (4, 3, 10))
    """
    rows, _, batch = matrix_axes(operation, shape)
    return (rows, rows, *batch), shape


def qr_pivoted_shapes(operation: str, shape: Shape, check: bool, /) -> tuple[Shape, Shape, Shape]:
    """``[M, K, B...]``, ``[K, N, B...]`` and ``[N, B...]``.

    >>> qr_pivoted_shapes("qr_pivoted", (4, 3, 10), True)
    ((4, 3, 10), (3, 3, 10), (3, 10))
    """
    return *qr_shapes(operation, shape, check), shape[1:]


def lu_factor_shapes(operation: str, shape: Shape, check: bool, /) -> tuple[Shape, Shape]:
    """``[M, N, B...]`` and ``[M, B...]``.

    >>> lu_factor_shapes("lu_factor", (4, 3, 10), True)
    ((4, 3, 10), (4, 10))
    """
    rows, _, batch = matrix_axes(operation, shape)
    return shape, (rows, *batch)


def lu_complete_shapes(operation: str, shape: Shape, check: bool, /) -> tuple[Shape, Shape, Shape]:
    """``[M, N, B...]``, ``[M, B...]`` and ``[N, B...]``.

    >>> lu_complete_shapes("lu", (4, 3, 10), True)
    ((4, 3, 10), (4, 10), (3, 10))
    """
    return *lu_factor_shapes(operation, shape, check), shape[1:]


def square_pair_shapes(operation: str, shape: Shape, check: bool, /) -> tuple[Shape, Shape]:
    """``[N, N, B...]`` twice.

    >>> square_pair_shapes("schur", (3, 3, 10), True)
    ((3, 3, 10), (3, 3, 10))
    """
    square_axes(operation, shape)
    return shape, shape


def ldl_shapes(operation: str, shape: Shape, check: bool, /) -> tuple[Shape, Shape, Shape]:
    """``[N, N, B...]`` twice, and ``[N, B...]``.

    >>> ldl_shapes("ldl", (3, 3, 10), True)
    ((3, 3, 10), (3, 3, 10), (3, 10))
    """
    return *square_pair_shapes(operation, shape, check), shape[1:]


def eigh_shapes(operation: str, shape: Shape, check: bool, /) -> tuple[Shape, Shape]:
    """``[N, B...]`` and ``[N, N, B...]``.

    >>> eigh_shapes("eigh", (3, 3, 10), True)
    ((3, 10), (3, 3, 10))
    """
    size, batch = square_axes(operation, shape)
    return (size, *batch), shape


def eigh_range_shapes(operation: str, shape: Shape, params: EighRangeParams, /) -> tuple[Shape, Shape]:
    """``[K, B...]`` and ``[N, K, B...]``, K the number of eigenvalues wanted.

    >>> eigh_range_shapes("eigh", (3, 3, 10), EighRangeParams(1, 2, True))
    ((2, 10), (3, 2, 10))
    """
    size, batch = square_axes(operation, shape)
    count = params.last - params.first + 1
    return (count, *batch), (size, count, *batch)


def eigvalsh_shape(operation: str, shape: Shape, check: bool, /) -> Shape:
    """``[N, B...]``.

    >>> eigvalsh_shape("eigvalsh", (3, 3, 10), True)
    (3, 10)
    """
    return eigh_shapes(operation, shape, check)[0]


def _with_singular_values(dtype: DType, /) -> tuple[DType, DType, DType]:
    return dtype, dtype.component, dtype


def _twice(dtype: DType, /) -> tuple[DType, DType]:
    return dtype, dtype


def _component(dtype: DType, /) -> DType:
    return dtype.component


def _with_eigenvalues(dtype: DType, /) -> tuple[DType, DType]:
    return dtype.component, dtype


def _with_order(dtype: DType, /) -> tuple[DType, DType]:
    return dtype, I64


def _with_orders(dtype: DType, /) -> tuple[DType, DType, DType]:
    return dtype, I64, I64


def _twice_with_order(dtype: DType, /) -> tuple[DType, DType, DType]:
    return dtype, dtype, I64


def _complex(dtype: DType, /) -> DType:
    return paired(dtype.component)


def _complex_twice(dtype: DType, /) -> tuple[DType, DType]:
    return _complex(dtype), _complex(dtype)


SVD: Final = LinalgSpec("svd", result_dtype=_with_singular_values, result_shape=svd_shapes)
SVD_FULL: Final = LinalgSpec(
    "svd",
    kernel="svd_full",
    result_dtype=_with_singular_values,
    result_shape=svd_full_shapes,
)
SVDVALS: Final = LinalgSpec("svdvals", result_dtype=_component, result_shape=svdvals_shape)
QR: Final = LinalgSpec("qr", total=True, result_dtype=_twice, result_shape=qr_shapes)
QR_COMPLETE: Final = LinalgSpec(
    "qr",
    kernel="qr_complete",
    total=True,
    result_dtype=_twice,
    result_shape=qr_complete_shapes,
)
QR_PIVOTED: Final = LinalgSpec(
    "qr_pivoted",
    total=True,
    result_dtype=_twice_with_order,
    result_shape=qr_pivoted_shapes,
)
LU_FACTOR: Final = LinalgSpec(
    "lu_factor",
    total=True,
    result_dtype=_with_order,
    result_shape=lu_factor_shapes,
)
LU_COMPLETE: Final = LinalgSpec(
    "lu",
    kernel="lu_complete",
    total=True,
    result_dtype=_with_orders,
    result_shape=lu_complete_shapes,
)
LDL: Final = LinalgSpec("ldl", total=True, result_dtype=_twice_with_order, result_shape=ldl_shapes)
EIG: Final = LinalgSpec("eig", result_dtype=_complex_twice, result_shape=eigh_shapes)
EIGVALS: Final = LinalgSpec("eigvals", result_dtype=_complex, result_shape=eigvalsh_shape)
SCHUR: Final = LinalgSpec("schur", result_dtype=_twice, result_shape=square_pair_shapes)
HESSENBERG: Final = LinalgSpec("hessenberg", total=True, result_dtype=_twice, result_shape=square_pair_shapes)
EIGH: Final = LinalgSpec("eigh", result_dtype=_with_eigenvalues, result_shape=eigh_shapes)
EIGH_RANGE: Final = LinalgSpec(
    "eigh", kernel="eigh_range", result_dtype=_with_eigenvalues, result_shape=eigh_range_shapes
)
EIGVALSH: Final = LinalgSpec("eigvalsh", result_dtype=_component, result_shape=eigvalsh_shape)
CHOLESKY: Final = LinalgSpec("cholesky", result_shape=square_shape)
"""The params of most is ``check``: whether the elements are first checked to be finite."""
