"""Which matrices of a batch operations have no result for: kernels ``NAME_status``; no data."""

from __future__ import annotations

from typing import Final

from tensor_core.dtypes import I32, DType
from tensor_core.shapes import Shape
from tensor_linalg.specs.linalg_spec import LinalgSpec
from tensor_linalg.specs.shapes import broadcast_batches, number_shape
from tensor_linalg.specs.solving import solve_shape


def solve_status_shape(operation: str, a: Shape, b: Shape, /) -> Shape:
    """``[B...]``, the batch shapes broadcast.

    >>> solve_status_shape("solve", (3, 3, 1, 10), (3, 2, 5, 1))
    (5, 10)
    """
    solve_shape(operation, a, b, False)
    return broadcast_batches(operation, a[2:], b[2:])


def _status(dtype: DType, /) -> DType:
    return I32


CHOLESKY_STATUS: Final = LinalgSpec(
    "cholesky",
    kernel="cholesky_status",
    takes_all=True,
    result_dtype=_status,
    result_shape=number_shape,
    takes_params=False,
)
INV_STATUS: Final = LinalgSpec(
    "inv", kernel="inv_status", takes_all=True, result_dtype=_status, result_shape=number_shape, takes_params=False
)
SOLVE_STATUS: Final = LinalgSpec(
    "solve",
    kernel="solve_status",
    takes_all=True,
    result_dtype=_status,
    result_shape=solve_status_shape,
    takes_params=False,
    binary=True,
)
