"""Operations whose operands are given up, so that their memory may be used: kernels ``NAME_overwriting``; no data."""

from __future__ import annotations

from typing import Final

from tensor_core.dtypes import FLOATING
from tensor_core.shapes import Shape
from tensor_linalg.specs.decompositions import CHOLESKY, EIGH, LU_FACTOR, QR, SVD
from tensor_linalg.specs.linalg_spec import LinalgSpec
from tensor_linalg.specs.solving import INV, SOLVE
from tensor_runtime.backends.kernel_facts import KernelFacts
from tensor_runtime.primitives.strict import StrictSpec


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
LU_FACTOR_OVERWRITING: Final = _overwriting(LU_FACTOR, total=True)
QR_OVERWRITING: Final = _overwriting(QR, total=True)
SOLVE_OVERWRITING: Final = _overwriting(SOLVE)
SVD_OVERWRITING: Final = _overwriting(SVD)
"""The params of each is ``check``: whether the elements are first checked to be finite."""


def _solution(operation: str, a: Shape, b: Shape, params: object, /) -> Shape:
    return b


TRIANGULAR_SOLVE_OVERWRITING: Final = StrictSpec(
    "triangular_solve",
    kernel="triangular_solve_overwriting",
    accepts=FLOATING,
    result_shape=_solution,
    takes_params=True,
    facts=KernelFacts(effect="writes", given_up=True),
)
"""Operands of one dtype, [N, N, B...] and [N, M, B...] of one batch shape; params as for the primitive."""
