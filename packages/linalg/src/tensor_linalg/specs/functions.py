"""What functions of matrices accept and the shapes they give; no data."""

from __future__ import annotations

from typing import Final

from tensor_core.dtypes import FLOATING
from tensor_linalg.specs.linalg_spec import LinalgSpec
from tensor_linalg.specs.shapes import square_axes
from tensor_runtime.form import Shape


def det_shape(operation: str, shape: Shape, check: bool, /) -> Shape:
    """``[B...]``.

    >>> det_shape("det", (3, 3, 10), True)
    (10,)
    """
    return square_axes(operation, shape)[1]


DET: Final = LinalgSpec("det", total=True, accepts=FLOATING, result_shape=det_shape, takes_params=True)
"""The params of each is ``check``: whether the elements are first checked to be finite."""
