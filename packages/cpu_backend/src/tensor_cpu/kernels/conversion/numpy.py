"""Kernels that change the dtype, bit for bit as ``tensor_core.scalar_conversion.cast_scalar`` says.

A conversion that cannot lose an integer is NumPy's ``astype``. One to a smaller integer type goes block by block, so
that range checks need no array of the operand's size: a block whose extremes fit is converted at once, and only
a block that holds an offending value is looked at closely.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from tensor_core.dtypes import I32, I64, DType
from tensor_core.errors import CastRangeError
from tensor_core.shapes import unravel_index
from tensor_cpu.kernel_table import Binder
from tensor_cpu.storage import NUMPY_DTYPES, Array, empty
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_runtime.backends.shared.value_errors import cast_out_of_range
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel

BLOCK: Final = 1 << 15  # elements per block: its temporaries stay in the cache

_BITS: Final[dict[DType, int]] = {I32: 32, I64: 64}

Mend = Callable[[Array, DType], Array]
"""From a block that does not fit to integers of the target."""


def bind_convert(form: Form, result: Form, overflow: str, /) -> Kernel:
    """Checked conversion; the runtime has refused every pair that could lose values."""
    return _bind_astype(result)


def bind_cast(form: Form, result: Form, overflow: str, /) -> Kernel:
    """Explicit conversion of any pair; ``overflow`` concerns integer targets only.

    The kernel raises ``CastRangeError`` for the first value out of range, in column-major order, when ``overflow``
    is "error".

    >>> from tensor_core.dtypes import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> kernel = bind_cast(form_of(F64, (2,), CPU), form_of(I32, (2,), CPU), "saturate")
    >>> kernel(np.array([-1.9, 1e300])).tolist()
    [-1, 2147483647]
    """
    narrowing = form.dtype.kind in ("float", "complex") or (form.dtype is I64 and result.dtype is I32)
    if result.dtype in _BITS and narrowing:
        return ignoring_fp_errors(_bind_integer(form.dtype, result, overflow))
    if form.dtype.kind == "complex" and result.dtype.kind == "float":
        target = NUMPY_DTYPES[result.dtype]
        return ignoring_fp_errors(lambda x: x.real.astype(target, order="C"))
    return _bind_astype(result)


def _bind_astype(result: Form) -> Kernel:
    target = NUMPY_DTYPES[result.dtype]
    return ignoring_fp_errors(lambda x: x.astype(target, order="C"))


def _bind_integer(source: DType, result: Form, overflow: str) -> Callable[[Array], Array]:
    target = result.dtype
    low, end = _interval(source, target)
    mend: Mend | None = {"error": None, "saturate": _saturated, "wrap": _wrapped}[overflow]

    def converted(x: Array) -> Array:
        out = empty(result)
        if result.size == 0:
            return out
        real = x.real if source.kind == "complex" else x
        position = 0
        with np.nditer(
            [real, out],
            flags=["external_loop", "buffered"],
            op_flags=[["readonly"], ["writeonly"]],
            order="C",
            buffersize=BLOCK,
        ) as blocks:
            for block, written in blocks:
                # NaN survives min and max, and fails both comparisons.
                if low <= block.min() and block.max() < end:
                    written[...] = block.astype(out.dtype)
                elif mend is None:
                    raise _out_of_range(block, position, low, end, result)
                else:
                    written[...] = mend(block, target)
                position += block.size
        return out

    return converted


def _interval(source: DType, target: DType) -> tuple[Any, Any]:
    """Values v with low <= v < end have an integer part that the target holds; both are values of the source's type."""
    bits = _BITS[target]
    kind = NUMPY_DTYPES[source.component].type
    low, end = -(2 ** (bits - 1)), 2 ** (bits - 1)
    if source is I64 or bits == 64 or source.component.itemsize == 4:
        return kind(low), kind(end)  # nothing lies between low - 1 and low
    return np.nextafter(kind(low - 1), kind(0)), kind(end)


def _saturated(block: Array, target: DType) -> Array:
    """The nearest integer of the target; NaN gives 0."""
    dtype, (low, end) = NUMPY_DTYPES[target], (-(2 ** (_BITS[target] - 1)), 2 ** (_BITS[target] - 1))
    if block.dtype.kind == "i":
        return block.clip(low, end - 1).astype(dtype)
    above, below = block >= end, block < low
    integers: Array = np.where(above | below | np.isnan(block), 0, block).astype(dtype)
    integers[above] = end - 1
    integers[below] = low
    return integers


def _wrapped(block: Array, target: DType) -> Array:
    """Modulo 2ⁿ after truncation; NaN and infinities give 0."""
    dtype, bits = NUMPY_DTYPES[target], _BITS[target]
    if block.dtype.kind == "i":
        return block.astype(dtype)  # two's complement
    wide = np.trunc(np.where(np.isfinite(block), block, 0).astype(np.float64))
    # Every step is exact: scaling by a power of 2, the difference (fmod would take far longer), and the shift of what
    # lies in [2^(n-1), 2^n) or its mirror image.
    rest = wide - np.trunc(wide * 0.5**bits) * 2.0**bits
    rest[rest >= 2.0 ** (bits - 1)] -= 2.0**bits
    rest[rest < -(2.0 ** (bits - 1))] += 2.0**bits
    return rest.astype(dtype)


def _out_of_range(block: Array, position: int, low: Any, end: Any, result: Form) -> CastRangeError:
    first = int(np.argmin((low <= block) & (block < end)))
    index = unravel_index(position + first, result.shape, order="F")
    return cast_out_of_range(index, block[first].item(), result.dtype)


BINDERS: Final[Mapping[str, Binder]] = {
    "convert": lambda operands, result, params: bind_convert(operands[0], result, *params),
    "cast": lambda operands, result, params: bind_cast(operands[0], result, *params),
}
