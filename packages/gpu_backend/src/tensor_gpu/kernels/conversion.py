"""Casts: to integers, values that those do not hold are refused, or become others; the host waits where they may be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from tensor_core.dtypes import DType
from tensor_gpu.device.arrays import DeviceArray
from tensor_gpu.device.executor import Executor
from tensor_gpu.kernels.elementwise import bind_step
from tensor_gpu.kernels.planning import Binder
from tensor_gpu.kernels.value_checks import Bounds, refuser
from tensor_runtime.backends.kernel_facts import facts_of
from tensor_runtime.backends.shared.value_errors import cast_out_of_range
from tensor_runtime.contracts.views import ConvertParams
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel


def bounds_of(source: DType, target: DType, /) -> Bounds:
    """The smallest and the largest value of a type of which an integer type holds the integer part.

    >>> from tensor_core import F64, I32, I64
    >>> bounds_of(I64, I32), bounds_of(F64, I32)
    ((-2147483648, 2147483647), (-2147483648.9999995, 2147483647.9999998))
    """
    end = 2 ** (8 * target.itemsize - 1)
    if source.kind == "int":
        return -end, end - 1
    real = np.dtype(source.component.numpy_name).type
    # Either there are numbers between -end - 1 and -end, or rounding gives -end for both.
    low = np.nextafter(real(-end - 1), real(0)) if real(-end - 1) != real(-end) else real(-end)
    return float(low), float(np.nextafter(real(end), real(0)))


def bind_cast(executor: Executor, operands: tuple[Form], result: Form, params: ConvertParams, /) -> Kernel:
    """Any dtype from any other.

    >>> from tensor_core import I32
    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x, form = bench.put([-1.9, 1e300]), bench.form((2,), I32)
    >>> bench.run("cast", x, result=form, params=ConvertParams("saturate"))
    [-1, 2147483647]
    >>> bench.run("cast", x, result=form, params=ConvertParams("error"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tensor_core.errors.CastRangeError: cast: element (1,) is 1e+300, out of range for I32; accepted: -2147483648 to ...
    """
    (form,) = operands
    policy = ConvertParams("wrap" if params.overflow == "error" else params.overflow)
    kernel = bind_step(executor, "cast", operands, result, policy)
    refuses = facts_of("cast").refuses
    assert refuses is not None
    if refuses("cast", operands, result, params) is None or result.size == 0:
        return kernel
    bounds = bounds_of(form.dtype, result.dtype)
    refuse = refuser(
        executor, form, "outside", bounds, lambda index, value: cast_out_of_range(index, value.real, result.dtype)
    )

    def cast(array: DeviceArray) -> DeviceArray:
        refuse(array)
        made: DeviceArray = kernel(array)
        return made

    return cast


BINDERS: Final[Mapping[str, Binder]] = {"cast": bind_cast}
