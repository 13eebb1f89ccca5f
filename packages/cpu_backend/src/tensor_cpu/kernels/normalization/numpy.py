"""Normalisation of activations: moments by the kernels of statistics, then one pass over the result."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod, sqrt
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tensor_cpu.kernel_table import Binder, bind
from tensor_cpu.storage import NUMPY_DTYPES, Array, empty
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_runtime.contracts.reduction import NormParams, ReduceParams, SpreadParams
from tensor_runtime.dispatch.dtype_rules import reduced, reduced_axes
from tensor_runtime.form import Form, form_of
from tensor_runtime.protocols import Kernel

if TYPE_CHECKING:
    from tensor_runtime.contracts.reduction import NormalizeParams


_SMALL: Final = 2.0**-30


def bind_layer_norm(operands: tuple[Form], result: Form, params: NormalizeParams, /) -> Kernel:
    """(x - mean) / sqrt(variance + epsilon); mean and variance are sums in F64.

    >>> from tensor_core.dtypes import F64
    >>> from tensor_runtime.contracts.reduction import NormalizeParams
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(F64, (2,), CPU)
    >>> bind_layer_norm((form,), form, NormalizeParams(-1, 0.0))(np.array([1.0, 3.0])).tolist()
    [-1.0, 1.0]
    """
    (form,) = operands
    axis, epsilon = params
    moments = _moments_form(form, result, axis)
    if not result.size:
        return lambda x: empty(result)
    mean = bind("mean", (form,), moments, ReduceParams(axis, True))
    spread = bind("var", (form,), moments, SpreadParams(axis, True, 0.0))
    dtype = NUMPY_DTYPES[result.dtype]
    tiny = dtype.type(2.0**-70 if dtype.itemsize == 4 else 2.0**-520)

    def normalised(x: Array) -> Array:
        variance = spread(x)
        factor = 1 / np.sqrt(variance + dtype.type(epsilon))
        beyond = np.isinf(variance)
        if beyond.any():  # squares of elements beyond the root of the range; those of small ones are within it
            small = np.multiply(x, tiny, out=empty(result), dtype=dtype)
            least = bind("var", (result,), moments, SpreadParams(axis, True, 0.0))(small)
            factor = np.where(beyond, tiny / np.sqrt(least), factor)
        out: Array = np.subtract(x, mean(x), out=empty(result), dtype=dtype)
        out *= factor
        return out

    return ignoring_fp_errors(normalised)


def bind_rms_norm(operands: tuple[Form], result: Form, params: NormalizeParams, /) -> Kernel:
    """x / sqrt(mean(x²) + epsilon), the root as the hypotenuse of the norm and of that of epsilon.

    >>> from tensor_core.dtypes import F64
    >>> from tensor_runtime.contracts.reduction import NormalizeParams
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(F64, (2,), CPU)
    >>> bind_rms_norm((form,), form, NormalizeParams(-1, 0.0))(np.array([1.0, 7.0])).tolist()
    [0.2, 1.4]
    """
    (form,) = operands
    axis, epsilon = params
    if not result.size:
        return lambda x: empty(result)
    moments = _moments_form(form, result, axis)
    norm = bind("norm", (form,), moments, NormParams(axis, True, 2.0))
    dtype = NUMPY_DTYPES[result.dtype]
    count = prod(form.shape[one] for one in reduced_axes("rms_norm", form.rank, axis))
    share, least = dtype.type(1 / sqrt(count)), dtype.type(sqrt(epsilon))

    def normalised(x: Array) -> Array:
        roots = np.hypot(norm(x) * share, least)
        if np.isinf(roots).any():  # of elements near the end of the range the norm overflows, but not its share
            reduced_norm = bind("norm", (result,), moments, NormParams(axis, True, 2.0))
            small = np.multiply(x, _SMALL, out=empty(result), dtype=dtype)
            roots = np.hypot(reduced_norm(small) * share, least * _SMALL) / _SMALL
        out: Array = np.divide(x, roots, out=empty(result), dtype=dtype)
        return out

    return ignoring_fp_errors(normalised)


def _moments_form(form: Form, result: Form, axis: Any) -> Form:
    return form_of(result.dtype, reduced("normalize", form.shape, (axis, True)), result.placement)


BINDERS: Final[Mapping[str, Binder]] = {"layer_norm": bind_layer_norm, "rms_norm": bind_rms_norm}
