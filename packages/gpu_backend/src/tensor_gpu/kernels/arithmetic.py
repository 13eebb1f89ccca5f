"""Powers: integers refuse negative exponents. The rest of arithmetic needs no look at values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tensor_core.dtypes import INTEGER
from tensor_gpu.device.executor import Executor
from tensor_gpu.kernels.elementwise import bind_step
from tensor_gpu.kernels.planning import Binder
from tensor_gpu.kernels.value_checks import refuser
from tensor_runtime.backends.shared.value_errors import negative_exponent
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel

_LARGEST: Final = 2**63 - 1


def bind_pow(executor: Executor, operands: tuple[Any, ...], result: Form, params: Any, /) -> Kernel:
    """A power.

    >>> from tensor_core import I64
    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> bench.run("pow", 2, bench.put([3, 10], I64))
    [8, 1024]
    >>> bench.run("pow", 2, bench.put([3, -1], I64))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tensor_core.errors.ArgumentError: pow: the exponent at index (1,) is -1, and integers have no negative powers; ...
    """
    kernel = bind_step(executor, "pow", operands, result, params)
    exponent = operands[1]
    if result.dtype not in INTEGER or result.size == 0:
        return kernel
    if not isinstance(exponent, Form):

        def by_number(a: Any, b: Any) -> Any:
            if b < 0:
                raise negative_exponent(None, b)
            return kernel(a, b)

        return by_number
    if exponent.dtype not in INTEGER:
        return kernel
    refuse = refuser(executor, exponent, "outside", (0, _LARGEST), negative_exponent)

    def power(a: Any, b: Any) -> Any:
        refuse(b)
        return kernel(a, b)

    return power


BINDERS: Final[Mapping[str, Binder]] = {"pow": bind_pow}
