"""Powers: integers refuse negative exponents. The rest of arithmetic needs no look at values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tensor_gpu.device.executor import Executor
from tensor_gpu.kernels.planning import Binder
from tensor_gpu.kernels.refusing import Refusal, bind_refusing
from tensor_runtime.backends.shared.value_errors import negative_exponent
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel

_NEGATIVE: Final = Refusal("outside", (0, 2**63 - 1), lambda exponent: exponent < 0, negative_exponent)


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
    return bind_refusing(executor, "pow", "pow", operands, result, params, _NEGATIVE)


BINDERS: Final[Mapping[str, Binder]] = {"pow": bind_pow}
