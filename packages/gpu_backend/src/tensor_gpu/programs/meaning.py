"""What programs mean, told by kernels of the CPU backend on memory of a simulated device."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from tensor_core.dtypes import DType
from tensor_gpu.device.program import HostMemory
from tensor_runtime.backends.registry import registry
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import CPU
from tensor_runtime.protocols import Kernel


class Elements(NamedTuple):
    """Elements in memory, as arguments of a launch describe them."""

    address: int
    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # elements

    def of(self, memory: HostMemory, /) -> Any:
        """The NumPy array."""
        return memory.view(self.address, self.dtype, self.shape, self.strides)


def compute(
    memory: HostMemory,
    operation: str,
    params: Any,
    target: Elements,
    operands: Sequence[Elements | complex],
    arguments: Sequence[Any] = (),
) -> None:
    """Write what a kernel of the CPU backend computes of elements in a device's memory.

    Args:
        memory: of the device.
        operation: the name of the kernel.
        params: its parameters, or None.
        target: where the result goes.
        operands: elements, or Python numbers.
        arguments: those that the kernel takes at run time, after the operands.

    >>> import numpy as np
    >>> from tensor_core import F64
    >>> from tensor_gpu.sim.memory import SimulatedMemory
    >>> memory = SimulatedMemory(0, 1 << 20)
    >>> x, y = (Elements(memory.allocate(24), F64, (3,), (1,)) for _ in range(2))
    >>> x.of(memory)[...] = [1.0, 2.0, 3.0]
    >>> compute(memory, "add", None, y, (x, 0.5))
    >>> y.of(memory).tolist()
    [1.5, 2.5, 3.5]
    """
    host = registry.backend("cpu")
    forms: list[Form | type] = []
    arrays: list[Any] = []
    for operand in operands:
        if isinstance(operand, Elements):
            borrowed = host.borrow(operand.of(memory), None)  # type: ignore[attr-defined]
            array, form = borrowed
            arrays.append(array)
            forms.append(form)
        else:
            arrays.append(operand)
            forms.append(type(operand))
    result = form_of(target.dtype, target.shape, CPU)
    found = _kernel(operation, tuple(forms), result, params)(*arrays, *arguments)
    target.of(memory)[...] = host.lend(found, result)  # type: ignore[attr-defined]


@lru_cache(maxsize=4096)
def _kernel(operation: str, forms: tuple[Form | type, ...], result: Form, params: Any) -> Kernel:
    return registry.backend("cpu").bind(operation, forms, result, params)
