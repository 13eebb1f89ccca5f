"""Native kernels of ``layer_norm`` and ``rms_norm`` along one axis, or several that lie together (csrc/lines).

Lines are summed in F64 while they are in the cache. Where squares leave its range, NumPy's kernels compute all of the
result.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from tensor_cpu.kernel_table import NativeBinder
from tensor_cpu.kernels.normalization import numpy
from tensor_cpu.kernels.scan.native import after_copy, lines_of
from tensor_cpu.system.extension import LIBRARY
from tensor_runtime.dispatch.dtype_rules import reduced_axes
from tensor_runtime.form import Form, form_of
from tensor_runtime.protocols import Kernel, Operand

if TYPE_CHECKING:
    from tensor_runtime.contracts.reduction import NormalizeParams

TAKES: Final = "floating types, along one axis or axes that lie together"


def normalization_binder(name: str, /) -> NativeBinder:
    """What binds one of the two kernels.

    >>> import numpy as np
    >>> from tensor_core.dtypes import F64
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(F64, (2,), CPU)
    >>> kernel = normalization_binder("rms_norm")((form,), form, (-1, 0.0))
    >>> kernel(np.array([1.0, 7.0])).round(15).tolist()
    [0.2, 1.4]
    """

    def bind(operands: tuple[Operand, ...], result: Any, params: NormalizeParams, /) -> Kernel | None:
        (form,) = operands
        assert isinstance(form, Form)
        axis, epsilon = params
        axes = reduced_axes(name, form.rank, axis)
        lines = lines_of(form.shape, axes) if axes and form.size else None
        if lines is None or result.dtype is not form.dtype:
            return None
        compact = form_of(form.dtype, form.shape, form.placement)
        fallback = numpy.BINDERS[name]((compact,), result, params)
        shape = result.shape[::-1]
        return after_copy(
            form, LIBRARY.bind_normalization(name, form.dtype.name, lines, shape, float(epsilon), fallback)
        )

    return bind


BINDERS: Final[Mapping[str, NativeBinder]] = {name: normalization_binder(name) for name in ("layer_norm", "rms_norm")}
