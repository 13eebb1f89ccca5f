"""What functions of matrices accept and the shapes they give; no data."""

from __future__ import annotations

from typing import Final

from tensor_core.dtypes import I32, DType
from tensor_core.shapes import Shape
from tensor_linalg.specs.linalg_spec import LinalgSpec
from tensor_linalg.specs.shapes import number_shape, square_axes, square_shape


def slogdet_shapes(operation: str, shape: Shape, check: bool, /) -> tuple[Shape, Shape]:
    """``[B...]`` twice.

    >>> slogdet_shapes("slogdet", (3, 3, 10), True)
    ((10,), (10,))
    """
    batch = square_axes(operation, shape)[1]
    return batch, batch


def with_status_shapes(operation: str, shape: Shape, check: bool, /) -> tuple[Shape, Shape]:
    """``[N, N, B...]`` and ``[B...]``.

    >>> with_status_shapes("sqrtm", (3, 3, 10), True)
    ((3, 3, 10), (10,))
    """
    return shape, square_axes(operation, shape)[1]


def _with_logarithms(dtype: DType, /) -> tuple[DType, DType]:
    return dtype, dtype.component


def _with_status(dtype: DType, /) -> tuple[DType, DType]:
    return dtype, I32


DET: Final = LinalgSpec("det", total=True, result_shape=number_shape)
SLOGDET: Final = LinalgSpec(
    "slogdet",
    total=True,
    result_dtype=_with_logarithms,
    result_shape=slogdet_shapes,
)
EXPM: Final = LinalgSpec("expm", total=True, result_shape=square_shape)
SQRTM_ITERATED: Final = LinalgSpec(
    "sqrtm",
    kernel="sqrtm_iterated",
    total=True,
    result_dtype=_with_status,
    result_shape=with_status_shapes,
)
"""The params of each is ``check``: whether the elements are first checked to be finite."""
