"""``round``, whose three steps to decimals are one kernel where there are many elements and the backend fuses."""

from __future__ import annotations

from typing import Final

from tensor_core.dtypes import F32, F64
from tensor_runtime.backends.error_translation import naming
from tensor_runtime.dispatch.out import Out
from tensor_runtime.fusion.fuse import fuse
from tensor_runtime.ops import rounding
from tensor_runtime.ops.arithmetic import divide, multiply
from tensor_runtime.static_types.results import same_dtype_out
from tensor_runtime.tensors.tensor import Tensor

_LEAST_FUSED: Final = 1 << 11
"""Elements from which on one kernel and what fusing costs, two microseconds, take less time than three."""


@same_dtype_out
def round(a: Tensor, /, decimals: int = 0, out: Out = None) -> Tensor:
    """The nearest number of so many decimals, of two the even one; of complex operands, of each part.

    Args:
        a: any dtype.
        decimals: of the result; with 0, the nearest whole number. Below 0, the nearest multiple of a power of ten.
            As NumPy's: the element is scaled by the power of ten, rounded, and scaled back. Integers are scaled in F64,
            so that beyond 2**53 the last digits are F64's.
        out: where the result is written; see ``tensor_runtime.add``.

    Raises:
        CastRangeError: an integer's nearest multiple is beyond its dtype.
        DTypeError: Bool with decimals below 0.

    >>> round(tensor([0.5, 1.5, -2.6]))
    Tensor(F64, (3,), column-major, cpu)
      0.0   2.0  -3.0
    >>> round(tensor([0.125, 1.26]), 2).tolist(), round(tensor([125, 1260]), -2).tolist()
    ([0.12, 1.26], [100, 1300])
    """
    if type(decimals) is int and decimals and isinstance(a, Tensor):
        form = a._form
        if form.size >= _LEAST_FUSED and form.dtype in (F32, F64):
            return _fused(a, decimals, out)
    return rounding.round(a, decimals, out)


@naming("fuse", "multiply", "divide", own="round")
def _fused(a: Tensor, decimals: int, out: Out) -> Tensor:
    to = _finer if decimals > 0 else _coarser
    found: Tensor = to(a, rounding.power_of_ten(abs(decimals)), out=out)
    return found


@fuse
def _finer(a: Tensor, scale: float) -> Tensor:
    return divide(rounding.round(multiply(a, scale)), scale)


@fuse
def _coarser(a: Tensor, scale: float) -> Tensor:
    return multiply(rounding.round(divide(a, scale)), scale)
