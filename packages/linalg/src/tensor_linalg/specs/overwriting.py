"""Operations whose operands are given up, so that their memory may be used: kernels ``NAME_overwriting``; no data."""

from __future__ import annotations

from typing import Final

from tensor_linalg.specs.decompositions import CHOLESKY, EIGH, QR, SVD
from tensor_linalg.specs.linalg_spec import LinalgSpec
from tensor_linalg.specs.solving import INV, SOLVE


def _overwriting(spec: LinalgSpec, *, total: bool = False) -> LinalgSpec:
    return LinalgSpec(
        spec.name,
        kernel=f"{spec.kernel}_overwriting",
        total=total,
        writes=True,
        result_dtype=spec.result_dtype,
        result_shape=spec.result_shape,
    )


CHOLESKY_OVERWRITING: Final = _overwriting(CHOLESKY)
EIGH_OVERWRITING: Final = _overwriting(EIGH)
INV_OVERWRITING: Final = _overwriting(INV)
QR_OVERWRITING: Final = _overwriting(QR, total=True)
SOLVE_OVERWRITING: Final = _overwriting(SOLVE)
SVD_OVERWRITING: Final = _overwriting(SVD)
"""The params of each is ``check``: whether the elements are first checked to be finite."""
